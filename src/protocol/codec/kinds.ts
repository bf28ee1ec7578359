/**
 * The kinds of values that requests are made of. Each knows how it is read and written, and says in
 * `form` what it allows, as data: from that come the tables of the document and the random requests
 * of the tests. `schema.ts` says which request has which values, and in which order.
 *
 * A value that breaks the form throws; one that is not allowed is noted in `reader.problem`, and
 * reading goes on after it (`request-reader.ts`). The texts of both are part of the protocol.
 */
import { type AcquireOptions, type Item, WAIT_FOREVER } from "../commands.js";
import { ITEMS_MAX, KEY_BYTES_MAX, REVISION_NUMBER_MAX, WAIT_MS_MAX } from "../limits.js";
import type { Revision } from "../questions.js";
import { isValidTableKey } from "../text-rules.js";
import { writeDigits, writeItems, writeNumbers, writeOptions } from "./request-parts.js";
import type { RequestReader } from "./request-reader.js";
import type { Writer } from "./writer.js";

type TextRule = (text: string) => string | undefined;

/** What a kind of value allows. */
export type Form =
  | { readonly type: "number"; readonly least: number; readonly most: number }
  | { readonly type: "boolean" }
  | { readonly type: "text"; readonly bytesMax: number; readonly rule: TextRule }
  | { readonly type: "digits"; readonly bytes: number }
  | { readonly type: "numbers"; readonly countMax: number }
  /** One of `names`; on the wire its place among them, from 0. */
  | { readonly type: "choice"; readonly names: readonly string[] }
  /** `of`, or nil on the wire, which stands for `absent`. */
  | { readonly type: "optional"; readonly of: Form; readonly absent: unknown }
  /** The only one that has two positions, `index` and `number`; index 0 stands for `undefined`. */
  | { readonly type: "revision"; readonly numberMax: number }
  | { readonly type: "items"; readonly countMax: number }
  | { readonly type: "options" };

export interface Kind<T> {
  readonly form: Form;
  /** @param name of the field, for the reason of a refusal */
  read(reader: RequestReader, name: string): T;
  write(writer: Writer, value: T): void;
}

/** Unsigned integers of `least` … `most`. */
export function uint(least = 0, most = Number.MAX_SAFE_INTEGER): Kind<number> {
  return {
    form: { type: "number", least, most },
    read: (reader, name) => reader.uintWithin(least, most, name),
    write: (writer, value) => writer.uint(value),
  };
}

export const boolean: Kind<boolean> = {
  form: { type: "boolean" },
  read: (reader) => reader.bool(),
  write: (writer, value) => writer.bool(value),
};

export function text(bytesMax: number, rule: TextRule): Kind<string> {
  return {
    form: { type: "text", bytesMax, rule },
    read: (reader, name) => reader.textUnder(bytesMax, rule, name),
    write: (writer, value) => writer.string(value),
  };
}

/** A key that the table may have. */
export const key: Kind<string> = text(KEY_BYTES_MAX, isValidTableKey);

/** So many bytes; in a request twice as many lower-case hex digits. */
export function digits(bytes: number): Kind<string> {
  return {
    form: { type: "digits", bytes },
    read: (reader, name) => reader.digits(bytes, name),
    write: (writer, value) => writeDigits(writer, value, bytes),
  };
}

/** @param what they are called when there are too many */
export function numbers(countMax: number, what: string): Kind<readonly number[]> {
  return {
    form: { type: "numbers", countMax },
    read: (reader) => reader.numbers(countMax, what),
    write: writeNumbers,
  };
}

/** One of some names; on the wire its number, which are those from 0 on. */
export function choice<T extends string>(numberOf: Readonly<Record<T, number>>): Kind<T> {
  const names = Object.keys(numberOf) as T[];
  return {
    form: { type: "choice", names },
    read: (reader, name) => names[reader.uintWithin(0, names.length - 1, name)] ?? (names[0] as T),
    write: (writer, value) => writer.uint(numberOf[value]),
  };
}

/** @param absent what nil stands for */
function orNil<T, A>(kind: Kind<T>, absent: A): Kind<T | A> {
  return {
    form: { type: "optional", of: kind.form, absent },
    read: (reader, name) => (reader.takeNil() ? absent : kind.read(reader, name)),
    write: (writer, value) => (value === absent ? writer.nil() : kind.write(writer, value as T)),
  };
}

export const optional = <T>(kind: Kind<T>): Kind<T | undefined> => orNil(kind, undefined);

export const wait: Kind<number> = orNil(uint(0, WAIT_MS_MAX), WAIT_FOREVER);

export const revision: Kind<Revision | undefined> = {
  form: { type: "revision", numberMax: REVISION_NUMBER_MAX },
  read(reader) {
    const index = reader.uint();
    const number = reader.uintWithin(0, REVISION_NUMBER_MAX, "number");
    if (index === 0 && number > 0) reader.refuse("a number without an index");
    return index === 0 ? undefined : { index, number };
  },
  write(writer, value) {
    writer.uint(value?.index ?? 0);
    writer.uint(value?.number ?? 0);
  },
};

/** Of acquires only, hence read and written by hand. */
export const items: Kind<readonly Item[]> = {
  form: { type: "items", countMax: ITEMS_MAX },
  read: (reader) => reader.items(),
  write: writeItems,
};

/** Of acquires only, hence read and written by hand. `undefined`: all have their defaults. */
export const options: Kind<AcquireOptions | undefined> = {
  form: { type: "options" },
  read: (reader) => reader.options(),
  write: (writer, value) =>
    value === undefined ? writer.mapHeader(0) : writeOptions(writer, value),
};
