/**
 * Runs a lock script over keys that are imagined or were looked at. What it would change is noted by
 * those keys and done afterwards, as one command that fails unless the keys are so; so a script that is
 * not answered to its end has done nothing.
 *
 * It must never do anything otherwise than Lua in Redis does: what is not certain is `NotServed`. Each
 * run has a bounded number of steps and bytes.
 */
import type { Expression, Statement } from "./lua-tree.js";
import {
  finite,
  isEqual,
  isTrue,
  Library,
  type LuaFunction,
  LuaTable,
  type LuaValue,
  NotServed,
  numberOf,
  RedisError,
  tableWith,
  textOf,
  typeName,
  Unknown,
} from "./lua-value.js";

/** Statements and expressions. Scripts of known clients take up to 900 with sixteen keys. */
const STEPS_MAX = 3_000;
/** Blocks, expressions and called functions within one another. */
const DEPTH_MAX = 200;
/** The limit on all texts that are made in one run. */
const BYTES_MAX = 64 << 10;

export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** What `redis.call` answers; an error of Redis is thrown as `RedisError`. */
  readonly command: (words: readonly string[]) => LuaValue;
  /** Two texts were compared and are equal. */
  readonly onEqual: (text: string) => void;
}

const LIBRARIES: readonly (readonly [string, LuaValue])[] = [
  ["string", new Library({ len: one((text) => stringOf(text).length), sub: substring })],
  ["table", new Library({ insert, unpack })],
  ["math", new Library({ max: most(Math.max), min: most(Math.min) })],
  ["tonumber", one(numberOf)],
  ["tostring", one(shownAs)],
  ["type", one(typeName)],
  ["unpack", unpack],
];

/** Names that a script may use without making them, and what is in those that have names. */
export const GLOBAL_NAMES: ReadonlyMap<string, readonly string[] | undefined> = new Map([
  ["KEYS", undefined],
  ["ARGV", undefined],
  ["redis", ["call", "pcall", "replicate_commands", "status_reply", "error_reply"]],
  ...LIBRARIES.map(([name, value]) => {
    const names = value instanceof Library ? [...value.members.keys()] : undefined;
    return [name, names] as const;
  }),
]);

/** What the script returns. */
export function interpret(statements: readonly Statement[], call: ScriptCall): LuaValue {
  return new Run(call).all(statements);
}

type Returned = readonly LuaValue[] | undefined;

class Run {
  readonly #globals: ReadonlyMap<string, LuaValue>;
  readonly #call: ScriptCall;
  #steps = 0;
  #depth = 0;
  #bytes = 0;

  constructor(call: ScriptCall) {
    this.#call = call;
    this.#globals = new Map<string, LuaValue>([
      ["KEYS", new LuaTable(call.keys)],
      ["ARGV", new LuaTable(call.args)],
      ["redis", this.#redis()],
      ...LIBRARIES,
    ]);
  }

  all(statements: readonly Statement[]): LuaValue {
    return this.#block(statements, new Scope(undefined))?.[0];
  }

  #redis(): Library {
    return new Library({
      call: (args) => [this.#command(args)],
      pcall: (args) => {
        try {
          return [this.#command(args)];
        } catch (error) {
          if (!(error instanceof RedisError)) throw error;
          return [tableWith("err", `${error.code} ${error.message}`)];
        }
      },
      replicate_commands: () => [true],
      status_reply: ([text]) => [tableWith("ok", onlyText(text))],
      error_reply: ([text]) => [tableWith("err", errorText(onlyText(text)))],
    });
  }

  #command(args: readonly LuaValue[]): LuaValue {
    const words = args.map((arg) => {
      const text = textOf(arg);
      if (text === undefined)
        throw new NotServed("redis.call with what is neither text nor number");
      return text;
    });
    if (words.length === 0) throw new NotServed("redis.call without a command");
    return this.#call.command(words);
  }

  #step(): void {
    this.#steps += 1;
    if (this.#steps > STEPS_MAX) throw new NotServed("it is too long");
  }

  #deeper<T>(run: () => T): T {
    this.#step();
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new NotServed("it is nested too deep");
    const result = run();
    this.#depth -= 1;
    return result;
  }

  #block(statements: readonly Statement[], outer: Scope): Returned {
    return this.#deeper(() => {
      let scope = new Scope(outer);
      for (const statement of statements) {
        // What a function has captured stays as it is when a name is declared again.
        if (declaredBy(statement).some((name) => scope.has(name))) scope = new Scope(scope);
        const returned = this.#statement(statement, scope);
        if (returned !== undefined) return returned;
      }
      return undefined;
    });
  }

  #statement(statement: Statement, scope: Scope): Returned {
    this.#step();
    switch (statement.kind) {
      case "local": {
        const values = this.#several(statement.values, scope);
        for (const [at, name] of statement.names.entries()) scope.declare(name, values[at]);
        return undefined;
      }
      case "assign":
        scope.assign(statement.name, this.#value(statement.value, scope));
        return undefined;
      case "put":
        this.#put(statement, scope);
        return undefined;
      case "call":
        this.#values(statement.call, scope);
        return undefined;
      case "if": {
        const taken = statement.cases.find(({ when }) => isTrue(this.#value(when, scope)));
        return this.#block(taken?.body ?? statement.otherwise, scope);
      }
      case "count":
        return this.#count(statement, scope);
      case "each":
        return this.#each(statement, scope);
      case "function":
        scope.declare(statement.name, this.#function(statement, scope));
        return undefined;
      case "block":
        return this.#block(statement.body, scope);
      case "return":
        return statement.value === undefined ? [] : this.#values(statement.value, scope);
    }
  }

  #put({ table, at, value }: Statement & { kind: "put" }, scope: Scope): void {
    const target = this.#value(table, scope);
    const place = this.#value(at, scope);
    const put = this.#value(value, scope);
    if (!(target instanceof LuaTable)) throw new NotServed("it writes into what is not a table");
    target.set(place, put);
  }

  #function({ parameters, body }: Statement & { kind: "function" }, outer: Scope): LuaFunction {
    return (args) => {
      const scope = new Scope(outer);
      for (const [at, name] of parameters.entries()) scope.declare(name, args[at]);
      return this.#block(body, scope) ?? [];
    };
  }

  #count({ name, from, to, step, body }: Statement & { kind: "count" }, scope: Scope): Returned {
    const first = arithmetic(this.#value(from, scope));
    const last = arithmetic(this.#value(to, scope));
    const by = step === undefined ? 1 : arithmetic(this.#value(step, scope));
    if (by === 0) throw new NotServed("it counts by nothing");
    for (let at = first; by > 0 ? at <= last : at >= last; at += by) {
      const inner = new Scope(scope);
      inner.declare(name, at);
      const returned = this.#block(body, inner);
      if (returned !== undefined) return returned;
    }
    return undefined;
  }

  #each(
    { index, item, list, isOrdered, body }: Statement & { kind: "each" },
    scope: Scope,
  ): Returned {
    const table = this.#value(list, scope);
    if (!(table instanceof LuaTable)) throw new NotServed("it goes over what is not a table");
    if (!isOrdered && (table.isGrown || table.fields.size > 0 || table.items.includes(undefined))) {
      throw new NotServed("pairs goes over a table in an order that is not known");
    }
    for (let at = 1; table.items[at - 1] !== undefined; at++) {
      const inner = new Scope(scope);
      inner.declare(index, at);
      inner.declare(item, table.items[at - 1]);
      const returned = this.#block(body, inner);
      if (returned !== undefined) return returned;
    }
    return undefined;
  }

  /** The values of a list of expressions, of which the last may have several. */
  #several(expressions: readonly Expression[], scope: Scope): LuaValue[] {
    return expressions.flatMap((expression, at) =>
      at === expressions.length - 1
        ? this.#values(expression, scope)
        : [this.#value(expression, scope)],
    );
  }

  #value(expression: Expression, scope: Scope): LuaValue {
    return this.#values(expression, scope)[0];
  }

  #values(expression: Expression, scope: Scope): readonly LuaValue[] {
    return this.#deeper(() => {
      if (expression.kind === "call") return this.#callOf(expression, scope);
      return [this.#single(expression, scope)];
    });
  }

  #single(expression: Exclude<Expression, { kind: "call" }>, scope: Scope): LuaValue {
    switch (expression.kind) {
      case "constant":
        return expression.value ?? undefined;
      case "name":
        return this.#named(expression.name, scope);
      case "index":
        return indexed(this.#value(expression.of, scope), this.#value(expression.at, scope));
      case "table":
        return this.#table(expression, scope);
      case "unary":
        return unary(expression.sign, this.#value(expression.of, scope));
      case "binary":
        return this.#binary(expression, scope);
      case "single":
        return this.#value(expression.of, scope);
    }
  }

  #named(name: string, scope: Scope): LuaValue {
    const found = scope.find(name);
    if (found !== undefined) return found.value;
    if (this.#globals.has(name)) return this.#globals.get(name);
    throw new NotServed(`it uses ${name}`);
  }

  #table({ fields }: Expression & { kind: "table" }, scope: Scope): LuaTable {
    const table = new LuaTable();
    for (const [at, { name, value }] of fields.entries()) {
      if (name !== undefined) {
        const put = this.#value(value, scope);
        if (put !== undefined) table.fields.set(name, put);
      } else if (at === fields.length - 1) {
        table.items.push(...this.#values(value, scope));
      } else {
        table.items.push(this.#value(value, scope));
      }
    }
    return table;
  }

  #binary({ sign, left, right }: Expression & { kind: "binary" }, scope: Scope): LuaValue {
    const first = this.#value(left, scope);
    if (sign === "and") return isTrue(first) ? this.#value(right, scope) : first;
    if (sign === "or") return isTrue(first) ? first : this.#value(right, scope);
    const second = this.#value(right, scope);
    if (sign === "==") return this.#isEqual(first, second);
    if (sign === "~=") return !this.#isEqual(first, second);
    if (sign === "..") return this.#joined(first, second);
    return compute(sign, first, second);
  }

  #isEqual(left: LuaValue, right: LuaValue): boolean {
    const areEqual = isEqual(left, right);
    if (areEqual && typeof left === "string") this.#call.onEqual(left);
    return areEqual;
  }

  #joined(left: LuaValue, right: LuaValue): string {
    const text = stringOf(left) + stringOf(right);
    this.#bytes += text.length;
    if (this.#bytes > BYTES_MAX) throw new NotServed("it makes long texts");
    return text;
  }

  #callOf({ callee, args }: Expression & { kind: "call" }, scope: Scope): readonly LuaValue[] {
    const called = this.#value(callee, scope);
    const values = this.#several(args, scope);
    if (typeof called !== "function") throw new NotServed("it calls what is not a function");
    return called(values);
  }
}

function one(value: (of: LuaValue) => LuaValue): LuaFunction {
  return (args) => {
    if (args.length !== 1) throw new NotServed("a function has more or fewer arguments than one");
    return [value(args[0])];
  };
}

function most(of: (...numbers: readonly number[]) => number): LuaFunction {
  return (args) => {
    if (args.length === 0) throw new NotServed("it asks for the largest of nothing");
    return [of(...args.map(arithmetic))];
  };
}

/** A text of one word is not the code of an error, so that Redis puts one before it. */
function errorText(text: string): string {
  const error = text.startsWith("-") ? text.slice(1) : text;
  return error.includes(" ") ? error : `ERR ${error}`;
}

function onlyText(value: LuaValue): string {
  if (value instanceof Unknown) return value.use();
  if (typeof value !== "string") throw new NotServed("a reply is made of what is not a text");
  return value;
}

function stringOf(value: LuaValue): string {
  const text = textOf(value);
  if (text === undefined) throw new NotServed("it uses as a text what is none");
  return text;
}

function shownAs(value: LuaValue): string {
  if (value === undefined) return "nil";
  return typeof value === "boolean" ? String(value) : stringOf(value);
}

function arithmetic(value: LuaValue): number {
  const number = numberOf(value);
  if (number === undefined) throw new NotServed("it counts with what is not a number");
  return number;
}

function substring([text, from, to]: readonly LuaValue[]): readonly LuaValue[] {
  const of = stringOf(text);
  const start = arithmetic(from);
  const end = to === undefined ? -1 : arithmetic(to);
  if (!(Number.isSafeInteger(start) && Number.isSafeInteger(end))) {
    throw new NotServed("a part of a text begins or ends between two characters");
  }
  const first = Math.max(1, start < 0 ? of.length + start + 1 : start);
  const last = Math.min(of.length, end < 0 ? of.length + end + 1 : end);
  return [first > last ? "" : of.slice(first - 1, last)];
}

function insert(args: readonly LuaValue[]): readonly LuaValue[] {
  const [table, value] = args;
  if (!(table instanceof LuaTable) || args.length !== 2) {
    throw new NotServed("table.insert is answered with a table and a value");
  }
  table.set(table.length + 1, value);
  return [];
}

function unpack([table, ...more]: readonly LuaValue[]): readonly LuaValue[] {
  if (!(table instanceof LuaTable) || more.length > 0) {
    throw new NotServed("unpack is answered with a table only");
  }
  return table.items.slice(0, table.length);
}

function indexed(of: LuaValue, at: LuaValue): LuaValue {
  if (of instanceof LuaTable) return of.get(at);
  if (of instanceof Library && typeof at === "string") {
    const member = of.members.get(at);
    if (member !== undefined) return member;
    throw new NotServed(`it uses ${at}`);
  }
  throw new NotServed("it looks into what is not a table");
}

function unary(sign: string, of: LuaValue): LuaValue {
  if (sign === "not") return !isTrue(of);
  if (sign === "-") return finite(-arithmetic(of));
  if (of instanceof LuaTable) return of.length;
  if (of instanceof Unknown) return of.use();
  if (typeof of === "string") return of.length;
  throw new NotServed("it asks for the length of what has none");
}

function compute(sign: string, left: LuaValue, right: LuaValue): LuaValue {
  if ("<=>=".includes(sign)) return isInOrder(sign, left, right);
  const [one, other] = [arithmetic(left), arithmetic(right)];
  switch (sign) {
    case "+":
      return finite(one + other);
    case "-":
      return finite(one - other);
    case "*":
      return finite(one * other);
    case "/":
      return finite(one / other);
    default:
      return finite(one - Math.floor(one / other) * other);
  }
}

function isInOrder(sign: string, left: LuaValue, right: LuaValue): boolean {
  if (left instanceof Unknown) return left.use();
  if (right instanceof Unknown) return right.use();
  // The order of texts depends on the language of the machine.
  if (typeof left !== "number" || typeof right !== "number") {
    throw new NotServed("it compares by size what is not a number");
  }
  if (sign === "<") return left < right;
  if (sign === ">") return left > right;
  return sign === "<=" ? left <= right : left >= right;
}

/** The local names that a statement declares. */
function declaredBy(statement: Statement): readonly string[] {
  if (statement.kind === "local") return statement.names;
  return statement.kind === "function" ? [statement.name] : [];
}

class Scope {
  readonly #outer: Scope | undefined;
  readonly #values = new Map<string, { value: LuaValue }>();

  constructor(outer: Scope | undefined) {
    this.#outer = outer;
  }

  find(name: string): { value: LuaValue } | undefined {
    return this.#values.get(name) ?? this.#outer?.find(name);
  }

  /** Whether it was declared here, and not farther out. */
  has(name: string): boolean {
    return this.#values.has(name);
  }

  declare(name: string, value: LuaValue): void {
    this.#values.set(name, { value });
  }

  /** Scripts of Redis cannot make global names. */
  assign(name: string, value: LuaValue): void {
    const found = this.find(name);
    if (found === undefined) throw new NotServed(`it makes a global name, ${name}`);
    found.value = value;
  }
}
