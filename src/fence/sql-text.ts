/**
 * SQL with its values beside it. Values never become text: they travel as parameters. Names of
 * tables and columns cannot, so they are quoted by the rules of the dialect.
 */

export type SqlDialect = "postgresql" | "mysql" | "sqlite";

/** One statement and its parameters, as drivers take them. */
export interface SqlStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A piece of SQL with values in it, made by `sql`. */
export class SqlExpression {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.texts = texts;
    this.values = values;
  }
}

/** For computed values: `` sql`n - ${1}` ``. What is interpolated becomes a parameter. */
export function sql(texts: TemplateStringsArray, ...values: readonly unknown[]): SqlExpression {
  return new SqlExpression([...texts], values);
}

/** A statement that is being written. */
export class SqlText {
  readonly #dialect: SqlDialect;
  #text = "";
  readonly #values: unknown[] = [];

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect;
  }

  /** Text that is part of this package, or a quoted name. */
  raw(text: string): this {
    this.#text += text;
    return this;
  }

  name(name: string): this {
    return this.raw(quoteName(this.#dialect, name));
  }

  value(value: unknown): this {
    if (value === undefined) throw new TypeError("undefined is no value of SQL; say null");
    if (value instanceof SqlExpression) return this.#expression(value);
    this.#values.push(value);
    return this.raw(this.#dialect === "postgresql" ? `$${this.#values.length}` : "?");
  }

  statement(): SqlStatement {
    return { text: this.#text, values: this.#values };
  }

  #expression({ texts, values }: SqlExpression): this {
    texts.forEach((text, index) => {
      this.raw(text);
      if (index < values.length) this.value(values[index]);
    });
    return this;
  }
}

/** Quotes one name; a quote in it is doubled. Throws `TypeError` for what no database can have. */
export function quoteName(dialect: SqlDialect, name: string): string {
  if (typeof name !== "string" || name === "" || name.includes("\0")) {
    throw new TypeError(`${JSON.stringify(name)} is no name of a table or column`);
  }
  const quote = dialect === "mysql" ? "`" : '"';
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

/** A table, perhaps in a schema: `stock` or `shop.stock`. */
export function quoteTable(dialect: SqlDialect, table: string): string {
  return table
    .split(".")
    .map((part) => quoteName(dialect, part))
    .join(".");
}
