/**
 * Follows a script through one imagined situation: what its calls answer and how comparisons come out
 * is said by a `Situation`, which notes what the script would do. Arguments and keys stay symbols, so
 * one walk stands for every call in that situation. Nothing is executed, and a script that does what no
 * situation foresees is `NotUnderstood`.
 *
 * The number of keys and the position in a loop over them are symbols too: a script cannot act
 * differently for the third key or for five keys without being refused.
 */
import type { Expression, Statement } from "./lua-tree.js";

/** Statements and expressions of all walks of one script; those of known clients take up to 10,066. */
const STEPS_MAX = 20_000;
/** Calls of functions in one walk. */
const CALLS_MAX = 16;
/** Blocks and expressions within one another, those of called functions included. */
const DEPTH_MAX = 200;
/** A symbol with all its parts: what is built of itself again and again would grow without bounds. */
const SYMBOL_SIZE_MAX = 32;
const TEXT_LENGTH_MAX = 1_000;

export class NotUnderstood extends Error {}

/** A script whose walks have a bounded length together, however many situations there are. */
export class Script {
  readonly statements: readonly Statement[];
  #stepsLeft = STEPS_MAX;

  constructor(statements: readonly Statement[]) {
    this.statements = statements;
  }

  step(): void {
    if (this.#stepsLeft === 0) throw new NotUnderstood();
    this.#stepsLeft -= 1;
  }
}

export type Value =
  | { readonly kind: "constant"; readonly value: string | number | boolean | null }
  | { readonly kind: "table"; readonly items: Value[]; readonly fields: ReadonlyMap<string, Value> }
  | { readonly kind: "key"; readonly at: number }
  /** `each`: the argument at the place of the key. `isNumber`: it went through `tonumber`. */
  | {
      readonly kind: "argument";
      readonly at: number | "last";
      readonly each: boolean;
      readonly isNumber: boolean;
    }
  /** The position of a key in a loop over all of them. */
  | { readonly kind: "position"; readonly at: number }
  | {
      readonly kind: "symbol";
      readonly name: string;
      readonly parts: readonly Value[];
      readonly size: number;
    }
  | { readonly kind: "function"; readonly call: (args: readonly Value[]) => Value };

export interface Situation {
  readonly keyCount: number;
  /** A loop whose length only the call knows may be walked once, with a symbol for its place. */
  readonly knowsPlaces: boolean;
  /** What a command of Redis answers; its name is in upper case. */
  call(command: string, args: readonly Value[]): Value;
  /** Whether two values, at least one of them no constant, are equal. */
  equals(left: Value, right: Value): boolean;
  less(left: Value, right: Value): boolean;
  /** Whether the call is certain to have the argument. */
  isGiven(argument: Value): boolean;
}

export const NIL: Value = { kind: "constant", value: null };
export const FALSE: Value = { kind: "constant", value: false };
const TRUE: Value = { kind: "constant", value: true };
export const OK: Value = field("ok", { kind: "constant", value: "OK" });

export function constant(value: string | number | boolean | null): Value {
  return { kind: "constant", value };
}

export function symbol(name: string, ...parts: Value[]): Value {
  let size = 1;
  for (const part of parts) size += part.kind === "symbol" ? part.size : 1;
  if (size > SYMBOL_SIZE_MAX) throw new NotUnderstood();
  return { kind: "symbol", name, parts, size };
}

export function list(items: Value[]): Value {
  return { kind: "table", items, fields: new Map() };
}

function field(name: string, value: Value): Value {
  return { kind: "table", items: [], fields: new Map([[name, value]]) };
}

/** The same constants and symbols; tables and functions are never the same. */
export function isSame(left: Value, right: Value): boolean {
  switch (left.kind) {
    case "constant":
      return right.kind === "constant" && left.value === right.value;
    case "key":
    case "position":
      return right.kind === left.kind && left.at === right.at;
    case "argument":
      return (
        right.kind === "argument" &&
        left.at === right.at &&
        left.each === right.each &&
        left.isNumber === right.isNumber
      );
    case "symbol":
      return (
        right.kind === "symbol" &&
        left.name === right.name &&
        left.parts.length === right.parts.length &&
        left.parts.every((part, at) => isSame(part, right.parts[at] ?? NIL))
      );
    case "table":
    case "function":
      return false;
  }
}

/** What the script returns in the situation. */
export function walk(script: Script, situation: Situation): Value {
  return new Walk(script, situation).run();
}

class Walk {
  readonly #script: Script;
  readonly #situation: Situation;
  #calls = 0;
  #depth = 0;

  constructor(script: Script, situation: Situation) {
    this.#script = script;
    this.#situation = situation;
  }

  run(): Value {
    return this.#block(this.#script.statements, new Scope(undefined)) ?? NIL;
  }

  /** What it returns; `undefined`: it does not. */
  #block(statements: readonly Statement[], outer: Scope): Value | undefined {
    this.#enter();
    let scope = new Scope(outer);
    let returned: Value | undefined;
    for (const statement of statements) {
      // What a function has captured stays as it is when a name is declared again.
      if (declaredBy(statement).some((name) => scope.has(name))) scope = new Scope(scope);
      returned = this.#statement(statement, scope);
      if (returned !== undefined) break;
    }
    this.#depth -= 1;
    return returned;
  }

  #enter(): void {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new NotUnderstood();
  }

  #statement(statement: Statement, scope: Scope): Value | undefined {
    this.#script.step();
    switch (statement.kind) {
      case "local": {
        const values = statement.values.map((value) => this.#evaluate(value, scope));
        for (const [at, name] of statement.names.entries()) this.#declare(scope, name, values[at]);
        return undefined;
      }
      case "assign":
        scope.assign(statement.name, this.#evaluate(statement.value, scope));
        return undefined;
      case "put":
        this.#put(statement, scope);
        return undefined;
      case "call":
        this.#evaluate(statement.call, scope);
        return undefined;
      case "if": {
        const taken = statement.cases.find(({ when }) => this.#isTrue(this.#evaluate(when, scope)));
        return this.#block(taken?.body ?? statement.otherwise, scope);
      }
      case "count":
        return this.#count(statement, scope);
      case "each":
        return this.#each(statement, scope);
      case "function":
        this.#declareFunction(statement, scope);
        return undefined;
      case "block":
        return this.#block(statement.body, scope);
      case "return":
        return statement.value === undefined ? NIL : this.#evaluate(statement.value, scope);
    }
  }

  #declare(scope: Scope, name: string, value: Value = NIL): void {
    this.#script.step();
    scope.declare(name, value);
  }

  /** `t[#t + 1] = value` */
  #put({ table, at, value }: Statement & { kind: "put" }, scope: Scope): void {
    const target = this.#evaluate(table, scope);
    const place = this.#evaluate(at, scope);
    if (target.kind !== "table" || target.fields.size > 0) throw new NotUnderstood();
    if (place.kind !== "constant" || place.value !== target.items.length + 1) {
      throw new NotUnderstood();
    }
    target.items.push(this.#evaluate(value, scope));
  }

  #declareFunction(
    { name, parameters, body }: Statement & { kind: "function" },
    scope: Scope,
  ): void {
    const call = (args: readonly Value[]): Value => {
      this.#calls += 1;
      if (this.#calls > CALLS_MAX) throw new NotUnderstood();
      const inner = new Scope(scope);
      for (const [at, parameter] of parameters.entries()) {
        this.#declare(inner, parameter, args[at]);
      }
      return this.#block(body, inner) ?? NIL;
    };
    scope.declare(name, { kind: "function", call });
  }

  #count({ name, from, to, body }: Statement & { kind: "count" }, scope: Scope): Value | undefined {
    const first = this.#evaluate(from, scope);
    const last = this.#evaluate(to, scope);
    if (isSame(last, KEY_COUNT) && isSame(first, constant(1))) {
      return this.#overKeys((at) => {
        const inner = new Scope(scope);
        inner.declare(name, { kind: "position", at });
        return this.#block(body, inner);
      });
    }
    if (last.kind === "constant" || !this.#situation.knowsPlaces) throw new NotUnderstood();
    const inner = new Scope(scope);
    inner.declare(name, symbol("place", first, last));
    if (this.#block(body, inner) !== undefined) throw new NotUnderstood();
    return undefined;
  }

  #each(
    { index, item, list: over, body }: Statement & { kind: "each" },
    scope: Scope,
  ): Value | undefined {
    const elements = this.#evaluate(over, scope);
    if (!isSame(elements, KEYS)) throw new NotUnderstood();
    return this.#overKeys((at) => {
      const inner = new Scope(scope);
      inner.declare(index, { kind: "position", at });
      inner.declare(item, { kind: "key", at });
      return this.#block(body, inner);
    });
  }

  #overKeys(body: (at: number) => Value | undefined): Value | undefined {
    for (let at = 1; at <= this.#situation.keyCount; at++) {
      const returned = body(at);
      if (returned !== undefined) return returned;
    }
    return undefined;
  }

  /** One value. */
  #evaluate(expression: Expression, scope: Scope): Value {
    const value = this.#evaluateAll(expression, scope);
    if (isSeveral(value)) throw new NotUnderstood();
    return value;
  }

  /** What `unpack` gives is several values. */
  #evaluateAll(expression: Expression, scope: Scope): Value {
    this.#script.step();
    this.#enter();
    const value = this.#valueOf(expression, scope);
    this.#depth -= 1;
    return value;
  }

  #valueOf(expression: Expression, scope: Scope): Value {
    switch (expression.kind) {
      case "constant":
        return constant(expression.value);
      case "name":
        return scope.find(expression.name) ?? global(expression.name);
      case "index":
        return this.#index(
          this.#evaluate(expression.of, scope),
          this.#evaluate(expression.at, scope),
        );
      case "table":
        return this.#table(expression, scope);
      case "unary":
        return this.#unary(expression, scope);
      case "binary":
        return this.#binary(expression, scope);
      case "call":
        return this.#call(expression, scope);
      case "single":
        return this.#evaluate(expression.of, scope);
    }
  }

  #index(of: Value, at: Value): Value {
    if (isSame(of, KEYS)) {
      if (at.kind === "position") return { kind: "key", at: at.at };
      if (at.kind !== "constant") throw new NotUnderstood();
      // With several keys there is no first one: all are alike.
      if (at.value !== 1 || this.#situation.keyCount !== 1) throw new NotUnderstood();
      return { kind: "key", at: 1 };
    }
    if (isSame(of, ARGUMENTS)) return argumentAt(at, this.#situation.keyCount);
    if (of.kind === "table") {
      if (at.kind === "position") return of.items[at.at - 1] ?? NIL;
      if (at.kind !== "constant") throw new NotUnderstood();
      if (typeof at.value === "number") return of.items[at.value - 1] ?? NIL;
      return of.fields.get(String(at.value)) ?? NIL;
    }
    if (of.kind === "symbol" && of.name === "library" && at.kind === "constant") {
      return symbol("library", ...of.parts, at);
    }
    throw new NotUnderstood();
  }

  #table({ fields }: Expression & { kind: "table" }, scope: Scope): Value {
    const items: Value[] = [];
    const named = new Map<string, Value>();
    for (const { name, value } of fields) {
      const evaluated = this.#evaluate(value, scope);
      if (name === undefined) items.push(evaluated);
      else named.set(name, evaluated);
    }
    return { kind: "table", items, fields: named };
  }

  #unary({ sign, of }: Expression & { kind: "unary" }, scope: Scope): Value {
    const value = this.#evaluate(of, scope);
    if (sign === "not") return constant(!this.#isTrue(value));
    if (sign === "-") throw new NotUnderstood();
    if (isSame(value, KEYS)) return KEY_COUNT;
    if (isSame(value, ARGUMENTS)) return ARGUMENT_COUNT;
    if (value.kind === "table") return constant(value.items.length);
    return symbol("#", value);
  }

  #binary({ sign, left, right }: Expression & { kind: "binary" }, scope: Scope): Value {
    const first = this.#evaluate(left, scope);
    if (sign === "and") return this.#isTrue(first) ? this.#evaluate(right, scope) : first;
    if (sign === "or") return this.#isTrue(first) ? first : this.#evaluate(right, scope);
    const second = this.#evaluate(right, scope);
    switch (sign) {
      case "==":
        return constant(this.#isEqual(first, second));
      case "~=":
        return constant(!this.#isEqual(first, second));
      case "<":
        return constant(this.#isLess(first, second));
      case ">":
        return constant(this.#isLess(second, first));
      case "<=":
        return constant(!this.#isLess(second, first));
      case ">=":
        return constant(!this.#isLess(first, second));
      default:
        return compute(sign, first, second);
    }
  }

  #isTrue(value: Value): boolean {
    if (value.kind === "constant") return value.value !== null && value.value !== false;
    if (value.kind === "argument" && !this.#situation.isGiven(value)) throw new NotUnderstood();
    return true;
  }

  #isEqual(left: Value, right: Value): boolean {
    if (left.kind === "constant" && right.kind === "constant") return left.value === right.value;
    if (left.kind === "table" || right.kind === "table") return left === right;
    return this.#situation.equals(left, right);
  }

  #isLess(left: Value, right: Value): boolean {
    if (left.kind === "constant" && right.kind === "constant") {
      if (typeof left.value !== "number" || typeof right.value !== "number") {
        throw new NotUnderstood();
      }
      return left.value < right.value;
    }
    return this.#situation.less(left, right);
  }

  #call({ callee, args }: Expression & { kind: "call" }, scope: Scope): Value {
    const called = this.#evaluate(callee, scope);
    const values = args.flatMap((arg, at) => {
      if (at < args.length - 1) return [this.#evaluate(arg, scope)];
      const value = this.#evaluateAll(arg, scope);
      return isSeveral(value) ? value.parts : [value];
    });
    if (called.kind === "function") return called.call(values);
    if (called.kind !== "symbol" || called.name !== "library") throw new NotUnderstood();
    const name = called.parts.map((part) => (part.kind === "constant" ? part.value : "")).join(".");
    return this.#library(name, values);
  }

  #library(name: string, args: readonly Value[]): Value {
    const [first, second, third] = args;
    switch (name) {
      case "redis.call":
      case "redis.pcall":
        if (first?.kind !== "constant" || typeof first.value !== "string")
          throw new NotUnderstood();
        return this.#situation.call(first.value.toUpperCase(), args.slice(1));
      case "redis.replicate_commands":
        return TRUE;
      case "redis.status_reply":
        return field("ok", constant(textOf(first)));
      case "redis.error_reply":
        return field("err", constant(errorOf(textOf(first))));
      case "tonumber":
        return numberOf(first);
      case "tostring":
        if (first?.kind !== "argument") throw new NotUnderstood();
        return { ...first, isNumber: false };
      case "type":
        return typeName(first);
      case "string.sub":
        return symbol("sub", first ?? NIL, second ?? NIL, third ?? NIL);
      case "table.insert":
        if (first?.kind !== "table" || second === undefined || third !== undefined) {
          throw new NotUnderstood();
        }
        first.items.push(second);
        return NIL;
      case "unpack":
      case "table.unpack":
        return symbol("several", ...this.#elements(first));
      default:
        throw new NotUnderstood();
    }
  }

  #elements(value: Value | undefined): readonly Value[] {
    if (value?.kind === "table") return value.items;
    if (value === undefined || !isSame(value, KEYS)) throw new NotUnderstood();
    return Array.from({ length: this.#situation.keyCount }, (_, at) => ({
      kind: "key",
      at: at + 1,
    }));
  }
}

function isSeveral(value: Value): value is Value & { readonly kind: "symbol" } {
  return value.kind === "symbol" && value.name === "several";
}

/** The local names that a statement declares. */
function declaredBy(statement: Statement): readonly string[] {
  if (statement.kind === "local") return statement.names;
  return statement.kind === "function" ? [statement.name] : [];
}

export const KEY_COUNT = symbol("keyCount");
const KEYS = symbol("keys");
const ARGUMENTS = symbol("arguments");
const ARGUMENT_COUNT = symbol("argumentCount");
const LIBRARIES = new Set(["redis", "string", "table", "tonumber", "tostring", "type", "unpack"]);

function global(name: string): Value {
  if (name === "KEYS") return KEYS;
  if (name === "ARGV") return ARGUMENTS;
  if (LIBRARIES.has(name)) return symbol("library", constant(name));
  throw new NotUnderstood();
}

function argumentAt(at: Value, keyCount: number): Value {
  const shape = { kind: "argument", each: false, isNumber: false } as const;
  if (at.kind === "constant" && typeof at.value === "number") return { ...shape, at: at.value };
  if (at.kind === "position") return { ...shape, at: at.at, each: keyCount > 1 };
  if (isSame(at, ARGUMENT_COUNT)) return { ...shape, at: "last" };
  throw new NotUnderstood();
}

function numberOf(value: Value | undefined): Value {
  if (value?.kind === "argument") return { ...value, isNumber: true };
  if (value?.kind === "symbol" || value?.kind === "position") return value;
  if (value?.kind === "constant" && typeof value.value === "number") return value;
  throw new NotUnderstood();
}

function textOf(value: Value | undefined): string {
  if (value?.kind !== "constant" || typeof value.value !== "string") throw new NotUnderstood();
  return value.value;
}

/** A text of one word is no code of an error, so that Redis puts one before it. */
function errorOf(text: string): string {
  const error = text.startsWith("-") ? text.slice(1) : text;
  return error.includes(" ") ? error : `ERR ${error}`;
}

function typeName(value: Value | undefined): Value {
  if (value?.kind === "table") return constant("table");
  if (value?.kind === "key" || (value?.kind === "argument" && !value.isNumber)) {
    return constant("string");
  }
  if (value?.kind !== "constant") throw new NotUnderstood();
  return constant(value.value === null ? "nil" : typeof value.value);
}

function compute(sign: string, left: Value, right: Value): Value {
  if (left.kind === "constant" && right.kind === "constant") {
    if (typeof left.value === "number" && typeof right.value === "number") {
      if (sign === "+") return constant(left.value + right.value);
      if (sign === "-") return constant(left.value - right.value);
      if (sign === "*") return constant(left.value * right.value);
    }
    if (sign === ".." && typeof left.value === "string" && typeof right.value === "string") {
      const text = left.value + right.value;
      if (text.length <= TEXT_LENGTH_MAX) return constant(text);
    }
    throw new NotUnderstood();
  }
  if (left.kind === "table" || right.kind === "table") throw new NotUnderstood();
  if (left.kind === "function" || right.kind === "function") throw new NotUnderstood();
  return symbol(sign, left, right);
}

class Scope {
  readonly #outer: Scope | undefined;
  readonly #values = new Map<string, Value>();

  constructor(outer: Scope | undefined) {
    this.#outer = outer;
  }

  find(name: string): Value | undefined {
    return this.#values.get(name) ?? this.#outer?.find(name);
  }

  /** Whether it was declared here, and not farther out. */
  has(name: string): boolean {
    return this.#values.has(name);
  }

  declare(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  /** Scripts of Redis cannot make global names. */
  assign(name: string, value: Value): void {
    if (this.#values.has(name)) this.#values.set(name, value);
    else if (this.#outer === undefined) throw new NotUnderstood();
    else this.#outer.assign(name, value);
  }
}
