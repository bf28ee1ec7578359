/**
 * Reads the part of Lua in which lock scripts are written into a tree: locals, assignments, calls, `if`,
 * `for`, `return`, local functions. `undefined`: something else, or too deep.
 */
import { readTokens, type Token } from "./lua-tokens.js";

/** Statements and expressions within one another. */
const DEPTH_MAX = 48;

export type Expression =
  | { readonly kind: "constant"; readonly value: string | number | boolean | null }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "index"; readonly of: Expression; readonly at: Expression }
  | { readonly kind: "call"; readonly callee: Expression; readonly args: readonly Expression[] }
  | { readonly kind: "unary"; readonly sign: "not" | "-" | "#"; readonly of: Expression }
  | {
      readonly kind: "binary";
      readonly sign: string;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "table"; readonly fields: readonly TableField[] }
  /** In parentheses: of several values the first. */
  | { readonly kind: "single"; readonly of: Expression };

export interface TableField {
  /** `undefined`: the next item of a list. */
  readonly name: string | undefined;
  readonly value: Expression;
}

export interface Condition {
  readonly when: Expression;
  readonly body: readonly Statement[];
}

export type Statement =
  | {
      readonly kind: "local";
      readonly names: readonly string[];
      readonly values: readonly Expression[];
    }
  | { readonly kind: "assign"; readonly name: string; readonly value: Expression }
  | {
      readonly kind: "put";
      readonly table: Expression;
      readonly at: Expression;
      readonly value: Expression;
    }
  | { readonly kind: "call"; readonly call: Expression }
  | {
      readonly kind: "if";
      readonly cases: readonly Condition[];
      readonly otherwise: readonly Statement[];
    }
  | {
      readonly kind: "count";
      readonly name: string;
      readonly from: Expression;
      readonly to: Expression;
      /** `undefined`: 1. */
      readonly step: Expression | undefined;
      readonly body: readonly Statement[];
    }
  | {
      readonly kind: "each";
      readonly index: string;
      readonly item: string;
      readonly list: Expression;
      /** By `ipairs`, and not by `pairs`. */
      readonly isOrdered: boolean;
      readonly body: readonly Statement[];
    }
  | {
      readonly kind: "function";
      readonly name: string;
      readonly parameters: readonly string[];
      readonly body: readonly Statement[];
    }
  | { readonly kind: "block"; readonly body: readonly Statement[] }
  | { readonly kind: "return"; readonly value: Expression | undefined };

/** From the loosest to the tightest. `..` is read from the left, which gives the same text. */
const BINARY_LEVELS: readonly (readonly string[])[] = [
  ["or"],
  ["and"],
  ["<", ">", "<=", ">=", "~=", "=="],
  [".."],
  ["+", "-"],
  ["*", "/", "%"],
];

export function readScript(text: string): readonly Statement[] | undefined {
  const tokens = readTokens(text);
  if (tokens === undefined) return undefined;
  try {
    return new TreeReader(tokens).readAll();
  } catch (error) {
    if (error instanceof NotRead) return undefined;
    throw error;
  }
}

/** The script is not of the part of Lua that is read here. */
class NotRead extends Error {}

class TreeReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  readAll(): readonly Statement[] {
    const statements = this.#block();
    if (this.#at < this.#tokens.length) throw new NotRead();
    return statements;
  }

  #block(): readonly Statement[] {
    return this.#deeper(() => {
      const statements: Statement[] = [];
      for (;;) {
        while (this.#take(";"));
        if (this.#at === this.#tokens.length || this.#isBlockEnd()) return statements;
        const statement = this.#statement();
        statements.push(statement);
        if (statement.kind !== "return") continue;
        while (this.#take(";"));
        return statements;
      }
    });
  }

  #isBlockEnd(): boolean {
    return this.#is("end") || this.#is("else") || this.#is("elseif");
  }

  #statement(): Statement {
    if (this.#take("return")) return this.#return();
    if (this.#take("if")) return this.#if();
    if (this.#take("for")) return this.#for();
    if (this.#take("local")) return this.#take("function") ? this.#function() : this.#local();
    if (this.#take("do")) {
      const body = this.#block();
      this.#expect("end");
      return { kind: "block", body };
    }
    return this.#callOrAssignment();
  }

  #return(): Statement {
    const isBare = this.#at === this.#tokens.length || this.#isBlockEnd() || this.#is(";");
    return { kind: "return", value: isBare ? undefined : this.#expression() };
  }

  #if(): Statement {
    const cases: Condition[] = [];
    do {
      const when = this.#expression();
      this.#expect("then");
      cases.push({ when, body: this.#block() });
    } while (this.#take("elseif"));
    const otherwise = this.#take("else") ? this.#block() : [];
    this.#expect("end");
    return { kind: "if", cases, otherwise };
  }

  #for(): Statement {
    const name = this.#name();
    if (this.#take("=")) {
      const from = this.#expression();
      this.#expect(",");
      const to = this.#expression();
      const step = this.#take(",") ? this.#expression() : undefined;
      return { kind: "count", name, from, to, step, body: this.#loopBody() };
    }
    this.#expect(",");
    const item = this.#name();
    this.#expect("in");
    const isOrdered = this.#take("ipairs");
    if (!isOrdered && !this.#take("pairs")) throw new NotRead();
    this.#expect("(");
    const list = this.#expression();
    this.#expect(")");
    return { kind: "each", index: name, item, list, isOrdered, body: this.#loopBody() };
  }

  #loopBody(): readonly Statement[] {
    this.#expect("do");
    const body = this.#block();
    this.#expect("end");
    return body;
  }

  #function(): Statement {
    const name = this.#name();
    this.#expect("(");
    const parameters = this.#is(")") ? [] : this.#names();
    this.#expect(")");
    const body = this.#block();
    this.#expect("end");
    return { kind: "function", name, parameters, body };
  }

  #local(): Statement {
    const names = this.#names();
    const values = this.#take("=") ? this.#expressions() : [];
    return { kind: "local", names, values };
  }

  #callOrAssignment(): Statement {
    const target = this.#suffixed();
    if (!this.#take("=")) {
      if (target.kind !== "call") throw new NotRead();
      return { kind: "call", call: target };
    }
    const value = this.#expression();
    if (target.kind === "name") return { kind: "assign", name: target.name, value };
    if (target.kind === "index") return { kind: "put", table: target.of, at: target.at, value };
    throw new NotRead();
  }

  #expressions(): readonly Expression[] {
    const expressions = [this.#expression()];
    while (this.#take(",")) expressions.push(this.#expression());
    return expressions;
  }

  #names(): readonly string[] {
    const names = [this.#name()];
    while (this.#take(",")) names.push(this.#name());
    return names;
  }

  #expression(level = 0): Expression {
    const signs = BINARY_LEVELS[level];
    if (signs === undefined) return this.#unary();
    return this.#deeper(() => {
      let left = this.#expression(level + 1);
      for (;;) {
        const sign = signs.find((each) => this.#take(each));
        if (sign === undefined) return left;
        left = { kind: "binary", sign, left, right: this.#expression(level + 1) };
      }
    });
  }

  #unary(): Expression {
    for (const sign of ["not", "-", "#"] as const) {
      if (!this.#take(sign)) continue;
      return this.#deeper(() => {
        const of = this.#unary();
        if (sign === "-" && of.kind === "constant" && typeof of.value === "number") {
          return { kind: "constant", value: -of.value };
        }
        return { kind: "unary", sign, of };
      });
    }
    return this.#suffixed();
  }

  #suffixed(): Expression {
    let expression = this.#primary();
    for (;;) {
      if (this.#take(".")) {
        const name = this.#name();
        expression = { kind: "index", of: expression, at: { kind: "constant", value: name } };
      } else if (this.#take("[")) {
        const at = this.#expression();
        this.#expect("]");
        expression = { kind: "index", of: expression, at };
      } else if (this.#take("(")) {
        const args = this.#is(")") ? [] : this.#expressions();
        this.#expect(")");
        expression = { kind: "call", callee: expression, args };
      } else {
        return expression;
      }
    }
  }

  #primary(): Expression {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new NotRead();
    this.#at += 1;
    if (token.kind === "number") return { kind: "constant", value: token.number };
    if (token.kind === "string") return { kind: "constant", value: token.text };
    if (token.kind === "name") return { kind: "name", name: token.text };
    if (token.text === "true") return { kind: "constant", value: true };
    if (token.text === "false") return { kind: "constant", value: false };
    if (token.text === "nil") return { kind: "constant", value: null };
    if (token.text === "(") {
      const of = this.#expression();
      this.#expect(")");
      return of.kind === "call" ? { kind: "single", of } : of;
    }
    if (token.text === "{") return this.#table();
    throw new NotRead();
  }

  #table(): Expression {
    const fields: TableField[] = [];
    while (!this.#take("}")) {
      fields.push(this.#field());
      if (this.#take(",") || this.#take(";")) continue;
      this.#expect("}");
      break;
    }
    return { kind: "table", fields };
  }

  #field(): TableField {
    const [first, second] = [this.#tokens[this.#at], this.#tokens[this.#at + 1]];
    if (first?.kind === "name" && second?.kind === "sign" && second.text === "=") {
      this.#at += 2;
      return { name: first.text, value: this.#expression() };
    }
    return { name: undefined, value: this.#expression() };
  }

  #name(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "name") throw new NotRead();
    this.#at += 1;
    return token.text;
  }

  #is(text: string): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && token.kind !== "number" && token.kind !== "string"
      ? token.text === text
      : false;
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new NotRead();
  }

  #deeper<T>(read: () => T): T {
    this.#depth += 1;
    // An expression enters every level of its signs.
    if (this.#depth > DEPTH_MAX * BINARY_LEVELS.length) throw new NotRead();
    const result = read();
    this.#depth -= 1;
    return result;
  }
}
