/**
 * SQL and its values. Values never become part of the text: they are passed as parameters. Names of
 * tables and columns cannot be parameters, so they are quoted by the rules of the dialect.
 */

export const SQL_DIALECTS = ["postgresql", "mysql", "sqlite"] as const;
export type SqlDialect = (typeof SQL_DIALECTS)[number];

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

/** For computed values: `` sql`n - ${1}` ``. Each interpolated value becomes a parameter. */
export function sql(texts: TemplateStringsArray, ...values: readonly unknown[]): SqlExpression {
  return new SqlExpression([...texts], values);
}

/** A statement that is being built. */
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
    if (value === undefined) throw new TypeError("undefined is not a value of SQL; use null");
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

/**
 * Quotes one name and doubles quotes in it. Throws `TypeError` for a name that no database accepts.
 */
export function quoteName(dialect: SqlDialect, name: string): string {
  if (typeof name !== "string" || name === "" || name.includes("\0")) {
    throw new TypeError(`${JSON.stringify(name)} is not a name of a table or column`);
  }
  const quote = dialect === "mysql" ? "`" : '"';
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

/** A table, optionally in a schema: `stock` or `shop.stock`. */
export function quoteTable(dialect: SqlDialect, table: string): string {
  return table
    .split(".")
    .map((part) => quoteName(dialect, part))
    .join(".");
}
