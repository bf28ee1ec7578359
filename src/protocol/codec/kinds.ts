/**
 * The kinds of values in requests. Each kind reads and writes its values and describes in `form`,
 * as data, which ones are allowed; the tables of the document and the random requests of the tests
 * are made from that. `schema.ts` declares which values each request has, and in which order.
 *
 * A value of the wrong form throws. A value that is not allowed is recorded in `reader.problem`,
 * and reading continues after it (`request-reader.ts`). The messages for both are part of the
 * protocol.
 */
import { type AcquireTerms, type ActStep, type Item, WAIT_FOREVER } from "../commands.js";
import {
  ACT_VALUES_BYTES_MAX,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  LEASE_TTL_MS_MAX,
  OWNER_BYTES,
  REVISION_NUMBER_MAX,
  VALUE_BYTES_MAX,
  WAIT_MS_MAX,
} from "../limits.js";
import type { Revision } from "../questions.js";
import { isValidTableKey, isValidValue, type TextRule } from "../text-rules.js";
import { utf8Length } from "../utf8.js";
import type { RequestReader } from "./request-reader.js";
import { writeDigits, writeItems, writeNumbers, writeOptions } from "./request-writer.js";
import type { Writer } from "./writer.js";

/** The values that a kind allows. */
export type Form =
  | { readonly type: "number"; readonly least: number; readonly most: number }
  | { readonly type: "boolean" }
  | { readonly type: "text"; readonly bytesMax: number; readonly rule: TextRule }
  | { readonly type: "digits"; readonly bytes: number }
  | { readonly type: "numbers"; readonly countMax: number }
  /** One of `names`; on the wire its index among them, from 0. */
  | { readonly type: "choice"; readonly names: readonly string[] }
  /** A value of `of`, or nil on the wire, which means `absent`. */
  | { readonly type: "optional"; readonly of: Form; readonly absent: unknown }
  /** The only form with two positions, `index` and `number`; index 0 means `undefined`. */
  | { readonly type: "revision"; readonly numberMax: number }
  | { readonly type: "items"; readonly countMax: number }
  /** 1 … `countMax` keys, none twice. */
  | { readonly type: "keys"; readonly countMax: number }
  | { readonly type: "options" }
  /** 1 … `countMax` steps of an act, no key twice. */
  | { readonly type: "steps"; readonly countMax: number };

export interface FieldKind<T> {
  readonly form: Form;
  /**
   * @param name the field's name, for the reason of a refusal
   */
  read(reader: RequestReader, name: string): T;
  write(writer: Writer, value: T): void;
}

/** Unsigned integers of `least` … `most`. */
export function uint(least = 0, most = Number.MAX_SAFE_INTEGER): FieldKind<number> {
  return {
    form: { type: "number", least, most },
    read: (reader, name) => reader.uintWithin(least, most, name),
    write: (writer, value) => writer.uint(value),
  };
}

export const boolean: FieldKind<boolean> = {
  form: { type: "boolean" },
  read: (reader) => reader.bool(),
  write: (writer, value) => writer.bool(value),
};

export function text(bytesMax: number, rule: TextRule): FieldKind<string> {
  return {
    form: { type: "text", bytesMax, rule },
    read: (reader, name) => reader.textUnder(bytesMax, rule, name),
    write: (writer, value) => writer.string(value),
  };
}

/** A key that the table may have. */
export const key: FieldKind<string> = text(KEY_BYTES_MAX, isValidTableKey);

/** A fixed number of bytes; in a request twice as many lower-case hex digits. */
export function digits(bytes: number): FieldKind<string> {
  return {
    form: { type: "digits", bytes },
    read: (reader, name) => reader.digits(bytes, name),
    write: (writer, value) => writeDigits(writer, value, bytes),
  };
}

/**
 * @param what the name of the numbers, for the refusal of too many
 */
export function numbers(countMax: number, what: string): FieldKind<readonly number[]> {
  return {
    form: { type: "numbers", countMax },
    read: (reader) => reader.numbers(countMax, what),
    write: writeNumbers,
  };
}

/** One of some names; on the wire its number. The numbers must be 0, 1, …. */
export function choice<T extends string>(numberOf: Readonly<Record<T, number>>): FieldKind<T> {
  const names = Object.keys(numberOf) as T[];
  return {
    form: { type: "choice", names },
    read: (reader, name) => names[reader.uintWithin(0, names.length - 1, name)] ?? (names[0] as T),
    write: (writer, value) => writer.uint(numberOf[value]),
  };
}

/**
 * @param absent the value that nil means
 */
function orNil<T, A>(kind: FieldKind<T>, absent: A): FieldKind<T | A> {
  return {
    form: { type: "optional", of: kind.form, absent },
    read: (reader, name) => (reader.takeNil() ? absent : kind.read(reader, name)),
    write: (writer, value) => (value === absent ? writer.nil() : kind.write(writer, value as T)),
  };
}

export const optional = <T>(kind: FieldKind<T>): FieldKind<T | undefined> => orNil(kind, undefined);

export const wait: FieldKind<number> = orNil(uint(0, WAIT_MS_MAX), WAIT_FOREVER);

export const revision: FieldKind<Revision | undefined> = {
  form: { type: "revision", numberMax: REVISION_NUMBER_MAX },
  read(reader) {
    const index = reader.uint();
    const number = reader.uintWithin(0, REVISION_NUMBER_MAX, "number");
    const isPlace = index > 0 || number === REVISION_NUMBER_MAX;
    if (!isPlace && number > 0) reader.refuse("a number without an index");
    return isPlace ? { index, number } : undefined;
  },
  write(writer, value) {
    writer.uint(value?.index ?? 0);
    writer.uint(value?.number ?? 0);
  },
};

export const keys: FieldKind<readonly string[]> = {
  form: { type: "keys", countMax: ITEMS_MAX },
  read: (reader, name) => reader.keys(name),
  write: (writer, value) => {
    writer.arrayHeader(value.length);
    for (const one of value) writer.string(one);
  },
};

/** Only in acquires and takes, and therefore read and written by hand. */
export const items: FieldKind<readonly Item[]> = {
  form: { type: "items", countMax: ITEMS_MAX },
  read: (reader) => reader.items(),
  write: writeItems,
};

const STEP_VALUES = 5;
/** What a step of an act is made of, in the order of the wire. */
export const STEP_KINDS: { readonly [N in keyof ActStep]-?: FieldKind<ActStep[N]> } = {
  owner: digits(OWNER_BYTES),
  key,
  before: optional(text(VALUE_BYTES_MAX, isValidValue)),
  after: optional(text(VALUE_BYTES_MAX, isValidValue)),
  ttlMs: optional(uint(0, LEASE_TTL_MS_MAX)),
};

export const steps: FieldKind<readonly ActStep[]> = {
  form: { type: "steps", countMax: ITEMS_MAX },
  read(reader) {
    const count = reader.arrayHeader();
    if (count === 0) reader.refuse("no steps");
    if (count > ITEMS_MAX) reader.refuse(`${count} steps, at most ${ITEMS_MAX}`);
    const read: ActStep[] = [];
    for (let i = 0; i < count; i++) {
      const step = readStep(reader);
      if (i >= ITEMS_MAX) continue;
      if (read.some((other) => other.key === step.key)) reader.refuse("a key occurs twice");
      read.push(step);
    }
    const bytes = valueBytesOf(read);
    if (bytes > ACT_VALUES_BYTES_MAX) {
      reader.refuse(`values of ${bytes} bytes, at most ${ACT_VALUES_BYTES_MAX}`);
    }
    return read;
  },
  write(writer, value) {
    writer.arrayHeader(value.length);
    for (const step of value) {
      writer.arrayHeader(STEP_VALUES);
      STEP_KINDS.owner.write(writer, step.owner);
      STEP_KINDS.key.write(writer, step.key);
      STEP_KINDS.before.write(writer, step.before);
      STEP_KINDS.after.write(writer, step.after);
      STEP_KINDS.ttlMs.write(writer, step.ttlMs);
    }
  },
};

/** The bytes of all values of an act. */
export function valueBytesOf(all: readonly Pick<ActStep, "before" | "after">[]): number {
  return all.reduce(
    (sum, { before = "", after = "" }) => sum + utf8Length(before) + utf8Length(after),
    0,
  );
}

function readStep(reader: RequestReader): ActStep {
  const start = reader.at;
  if (reader.arrayHeader() !== STEP_VALUES) reader.fail("a step has five values", start);
  const owner = STEP_KINDS.owner.read(reader, "owner");
  const stepKey = STEP_KINDS.key.read(reader, "key");
  const before = STEP_KINDS.before.read(reader, "before");
  const after = STEP_KINDS.after.read(reader, "after");
  const ttlMs = STEP_KINDS.ttlMs.read(reader, "ttlMs");
  if (after === undefined && ttlMs !== undefined) reader.refuse("a time of what is not held");
  if (before === undefined && after !== undefined && ttlMs === undefined) {
    reader.refuse("a lease without a time");
  }
  return { owner, key: stepKey, before, after, ttlMs };
}

/**
 * Only in acquires and takes, and therefore read and written by hand. `undefined` if all have their defaults.
 */
export const options: FieldKind<AcquireTerms | undefined> = {
  form: { type: "options" },
  read: (reader) => reader.options(),
  write: (writer, value) =>
    value === undefined ? writer.mapHeader(0) : writeOptions(writer, value),
};
