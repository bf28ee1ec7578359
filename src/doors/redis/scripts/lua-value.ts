/**
 * Values of Lua as scripts of Redis have them. A text is a string with one character for each byte.
 * What an implementation of Lua decides otherwise on another machine (the order of texts, numbers that
 * are not finite, lists with holes) is refused here and never guessed.
 */

export type LuaValue =
  | undefined
  | boolean
  | number
  | string
  | LuaTable
  | LuaFunction
  | Library
  | Unknown;

export type LuaFunction = (args: readonly LuaValue[]) => readonly LuaValue[];

/** A part of the door's Lua that has names, such as `redis`. */
export class Library {
  readonly members: ReadonlyMap<string, LuaFunction>;

  constructor(members: Readonly<Record<string, LuaFunction>>) {
    this.members = new Map(Object.entries(members));
  }
}

/** The script is not answered; the message says why. Nothing has been done. */
export class NotServed extends Error {
  override readonly name = "NotServed";
}

/** The script asks for something that a guess of the keys does not say. */
export class NeedsLook extends Error {
  override readonly name = "NeedsLook";
}

/** The script uses a key of which nothing is known yet. */
export class NeedsKey extends Error {
  override readonly name = "NeedsKey";
  readonly key: string;

  constructor(key: string) {
    super();
    this.key = key;
  }
}

/** What a command of Redis answers with an error. */
export class RedisError extends Error {
  override readonly name = "RedisError";
  readonly code: string;

  constructor(message: string, code = "ERR") {
    super(message);
    this.code = code;
  }
}

/** The script works in another database than the one whose keys were imagined. */
export class OtherDatabase extends Error {
  override readonly name = "OtherDatabase";
  readonly database: number;

  constructor(database: number) {
    super();
    this.database = database;
  }
}

/** A value that is not known: what a script does with it fails. */
export class Unknown {
  readonly #why: () => Error;

  constructor(why: () => Error) {
    this.#why = why;
  }

  use(): never {
    throw this.#why();
  }
}

/** The fencing token of the lock that the call takes or has: known once that is done. */
export class FencingToken extends Unknown {
  constructor() {
    super(() => new NotServed("it uses a fencing token otherwise than as its answer"));
  }
}

export class LuaTable {
  readonly items: LuaValue[];
  readonly fields = new Map<string, LuaValue>();
  /** Items came after it was made, so that `pairs` has no order that is known. */
  isGrown = false;

  constructor(items: readonly LuaValue[] = []) {
    this.items = [...items];
  }

  get length(): number {
    if (this.items.includes(undefined)) throw new NotServed("a list with nil in it has no length");
    return this.items.length;
  }

  get(at: LuaValue): LuaValue {
    if (typeof at === "number") return this.items[at - 1];
    if (typeof at === "string") return this.fields.get(at);
    throw new NotServed("a table is indexed by numbers and texts only");
  }

  set(at: LuaValue, value: LuaValue): void {
    if (value === undefined) throw new NotServed("an entry of a table is set to nil");
    if (typeof at === "string") {
      this.fields.set(at, value);
    } else if (typeof at === "number" && this.items[at - 1] !== undefined) {
      this.items[at - 1] = value;
    } else {
      if (at !== this.length + 1) throw new NotServed("a list is filled in its order only");
      this.items.push(value);
      this.isGrown = true;
    }
  }
}

export function tableWith(name: string, value: LuaValue): LuaTable {
  const table = new LuaTable();
  table.fields.set(name, value);
  return table;
}

export function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

export function isEqual(left: LuaValue, right: LuaValue): boolean {
  if (left instanceof Unknown) return left.use();
  if (right instanceof Unknown) return right.use();
  return left === right;
}

export function typeName(value: LuaValue): string {
  if (value === undefined) return "nil";
  if (value instanceof Unknown) return value.use();
  if (value instanceof LuaTable || value instanceof Library) return "table";
  return typeof value;
}

/** As C reads them; what else C reads as a number is refused below. */
const BLANKS = "[ \\t\\n\\v\\f\\r]*";
const DECIMAL = new RegExp(
  `^${BLANKS}([-+]?)((?:\\d+\\.?\\d*|\\.\\d+)(?:e[-+]?\\d+)?)${BLANKS}$`,
  "i",
);
const HEXADECIMAL = new RegExp(`^${BLANKS}([-+]?)(0x[0-9a-f]{1,12})${BLANKS}$`, "i");
const OTHER_NUMBER = /^[\s]*[-+]?(?:0x|inf|nan)/i;

/** What `tonumber` makes of it. */
export function numberOf(value: LuaValue): number | undefined {
  if (value instanceof Unknown) return value.use();
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  const [, sign, digits] = DECIMAL.exec(value) ?? HEXADECIMAL.exec(value) ?? [];
  if (digits !== undefined) return finite(sign === "-" ? -Number(digits) : Number(digits));
  if (OTHER_NUMBER.test(value)) throw new NotServed("a number that not every Lua reads alike");
  return undefined;
}

export function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new NotServed("a number that is not finite");
}

/** Fourteen digits, as Lua shows a number. */
const SHOWN_DIGITS = 14;
const SHOWN_MAX = 1e14;
const SHOWN_MIN = 1e-4;

/** A text or a number as a text; `undefined`: it is neither. */
export function textOf(value: LuaValue): string | undefined {
  if (value instanceof Unknown) return value.use();
  if (typeof value === "string") return value;
  if (typeof value !== "number") return undefined;
  const size = Math.abs(value);
  if (size >= SHOWN_MAX || (size < SHOWN_MIN && size > 0) || Object.is(value, -0)) {
    throw new NotServed("a number that is not shown as its digits");
  }
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(SHOWN_DIGITS)));
}
