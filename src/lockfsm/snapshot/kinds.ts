/**
 * The kinds of values in the records of a snapshot. Each writes its values and reads them within
 * their bounds; `record-schema.ts` declares which values each record has, and in which order. Times
 * and tokens are written as differences from the snapshot's own, which takes fewer bytes.
 */
import {
  type EndReason,
  isValidIdentityName,
  isValidSessionName,
  type TextRule,
  Writer,
} from "../../protocol/index.js";
import type { FieldReader } from "./field-reader.js";
import type { Moment } from "./format.js";

/** Reads a `T`, and writes it from what the table has: mostly a `T` too. */
export interface RecordKind<T, Of = T> {
  /**
   * @param name what the value is called in the message of a refusal
   */
  read(from: FieldReader, name: string): T;
  write(to: RecordWriter, of: Of): void;
}

/** A field that the object of the table does not have under its name, or not as a value. */
export interface Part<T, Of> {
  /** Reads it, and writes what `partOf` returns. */
  readonly kind: RecordKind<T, never>;
  partOf(of: Of): unknown;
}

export function part<T, V, Of extends object>(
  kind: RecordKind<T, V>,
  partOf: (of: Of) => V,
): Part<T, Of> {
  return { kind, partOf };
}

/** Each field is a part of the object, or has the kind of what it has under that name. */
type FieldsOf<Of, F> = {
  readonly [N in keyof F]: F[N] extends Part<unknown, Of>
    ? F[N]
    : N extends keyof Of
      ? RecordKind<unknown, Of[N]>
      : never;
};
/** What is read of those fields. */
export type ReadOf<F> = {
  readonly [N in keyof F]: F[N] extends Part<infer T, never>
    ? T
    : F[N] extends { read(from: FieldReader, name: string): infer T }
      ? T
      : never;
};

/** Fields one after the other, which are written from an `Of`. */
export function record<Of extends object>() {
  return <F extends object>(fields: F & FieldsOf<Of, F>): RecordKind<ReadOf<F>, Of> => {
    const all = Object.entries<RecordKind<unknown> | Part<unknown, Of>>(
      fields as Record<string, never>,
    );
    const parts = all.map(([name, field]) => {
      return "partOf" in field
        ? { name, kind: field.kind as RecordKind<unknown>, partOf: field.partOf }
        : { name, kind: field, partOf: undefined };
    });
    // An object that is filled name by name becomes a hash table of V8; a copy of this one does not.
    const empty = Object.fromEntries(parts.map(({ name }) => [name, undefined as unknown]));
    return {
      read(from) {
        const values = { ...empty };
        for (const { name, kind } of parts) values[name] = kind.read(from, name);
        return values as ReadOf<F>;
      },
      write(to, of) {
        const values = of as Readonly<Record<string, unknown>>;
        for (const { name, kind, partOf } of parts) {
          kind.write(to, partOf === undefined ? values[name] : partOf(of));
        }
      },
    };
  };
}

/** Where records are written, with the moment that their values refer to. */
export class RecordWriter extends Writer {
  readonly moment: Moment;

  constructor(moment: Moment, initialBytes?: number) {
    super(initialBytes);
    this.moment = moment;
  }
}

const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const writeUint = (to: RecordWriter, value: number): void => to.uint(value);

/** An integer of `least` … `most`. */
export function number(least = 0, most = SAFE_MAX): RecordKind<number> {
  return { read: (from, name) => from.within(least, most, name), write: writeUint };
}

/** A number that is less than one of the snapshot's, plus `more`, and at least `least`. */
export function numberBelow(of: keyof Moment, least = 0, more = 0): RecordKind<number> {
  return {
    read: (from, name) => from.within(least, from.moment[of] + more - 1, name),
    write: writeUint,
  };
}

/** A number and a constant, so that it can be negative. */
export function offset(by: number, kind: RecordKind<number>): RecordKind<number> {
  return {
    read: (from, name) => kind.read(from, name) - by,
    write: (to, value) => kind.write(to, value + by),
  };
}

export const flag: RecordKind<boolean> = {
  read: (from, name) => from.within(0, 1, name) === 1,
  write: (to, value) => to.uint(value ? 1 : 0),
};

/** A time no later than the snapshot's. */
export const stamp: RecordKind<number> = {
  read: (from, name) => from.moment.stamp - from.within(0, from.moment.stamp, name),
  write: (to, value) => to.uint(to.moment.stamp - value),
};

/** A token that was given before. */
export const token: RecordKind<number> = {
  read: (from, name) =>
    from.moment.nextToken - from.within(1, from.moment.nextToken - 1, `${name} back`),
  write: (to, value) => to.uint(to.moment.nextToken - value),
};

export function text(rule?: TextRule): RecordKind<string> {
  return {
    read: (from) => (rule === undefined ? from.string() : from.textUnder(rule)),
    write: (to, value) => to.string(value),
  };
}

/** Text of that form. */
export const textLike = (form: RegExp): RecordKind<string> =>
  text((value) => (form.test(value) ? undefined : `${value} is not a digest`));

/**
 * The name of a session, or of an owner, which may be named after the session that handed its hold
 * over.
 */
export const sessionName = text(isValidSessionName);
/** The name of the identity that ordered something; "": none did. */
export const orderer = text((name) => (name === "" ? undefined : isValidIdentityName(name)));

export const endReason: RecordKind<EndReason> = {
  read: (from) => from.endReason(),
  write: writeUint,
};

/** One of some names, by its index. */
export function oneOf<T extends string>(names: readonly T[]): RecordKind<T> {
  return {
    read: (from, name) => names[from.within(0, names.length - 1, name)] as T,
    write: (to, value) => to.uint(names.indexOf(value)),
  };
}

export function optional<T, Of>(
  kind: RecordKind<T, Of>,
): RecordKind<T | undefined, Of | undefined> {
  return {
    read: (from, name) => (flag.read(from, name) ? kind.read(from, name) : undefined),
    write(to, value) {
      flag.write(to, value !== undefined);
      if (value !== undefined) kind.write(to, value);
    },
  };
}

/** At most `countMax` values, and at least `countMin`. */
export function list<T, Of>(
  kind: RecordKind<T, Of>,
  countMax: number,
  countMin = 0,
): RecordKind<readonly T[], readonly Of[]> {
  return {
    read(from, name) {
      const values: T[] = [];
      for (let left = from.within(countMin, countMax, name); left > 0; left -= 1) {
        values.push(kind.read(from, name));
      }
      return values;
    },
    write(to, values) {
      to.uint(values.length);
      for (const value of values) kind.write(to, value);
    },
  };
}

/**
 * For fields of which most have their usual value: which ones do not, and their values. `undefined`
 * stands for all usual values, also when they are written from an object.
 */
export function sparse<Of extends object>() {
  return <F extends { readonly [N in keyof F]: RecordKind<unknown, never> }>(
    fields: F & FieldsOf<Of, F>,
    usual: Readonly<Of>,
  ): RecordKind<ReadOf<F> | undefined, Of | undefined> => {
    const all = Object.entries<RecordKind<unknown>>(fields as Record<string, never>).map(
      ([name, kind]) => ({ name, kind, usual: usual[name as keyof Of] as unknown }),
    );
    const copied = Object.fromEntries(Object.entries(usual));
    return {
      read(from, what) {
        const present = from.within(0, 2 ** all.length - 1, what);
        if (present === 0) return undefined;
        const values: Record<string, unknown> = { ...copied };
        for (let at = 0; present >>> at !== 0; at += 1) {
          if ((present & (1 << at)) === 0) continue;
          const { name, kind, usual: other } = all[at] as (typeof all)[number];
          values[name] = kind.read(from, name);
          if (values[name] === other) from.fail(`${name} is given its usual value`);
        }
        return values as ReadOf<F>;
      },
      write(to, of) {
        const values = (of ?? usual) as Readonly<Record<string, unknown>>;
        let present = 0;
        for (let at = 0; at < all.length; at += 1) {
          const { name, usual: other } = all[at] as (typeof all)[number];
          if (values[name] !== other) present |= 1 << at;
        }
        to.uint(present);
        for (let at = 0; present >>> at !== 0; at += 1) {
          if ((present & (1 << at)) === 0) continue;
          const { name, kind } = all[at] as (typeof all)[number];
          kind.write(to, values[name]);
        }
      },
    };
  };
}
