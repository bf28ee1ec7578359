/**
 * Describes positional arrays of msgpack. They grow at their end from version to version, so a
 * reader takes the positions that it knows, and its source decides what becomes of those after them:
 * a client passes them over, and a snapshot has none.
 */
import { type Codec, type Fields, namedCodecs } from "./codec.js";

/** What positions are read from. */
export interface PositionSource {
  uint(): number;
  arrayHeader(): number;
  /** The header of a list of at most `countMax`; how strictly, says the source. */
  listHeader(countMax: number): number;
  /** Fails unless the array being read, which has `count` positions, has enough. */
  need(count: number, least: number): void;
  /** What to do with `count` positions that are not known. */
  passOver(count: number): void;
}

/** What positions are written to. */
export interface PositionSink {
  uint(value: number): void;
  arrayHeader(count: number): void;
}

/** Some positions of an array, which have the fields of a `T`. */
export interface Positions<T, R, W> {
  /** The fewest that it can have. */
  readonly least: number;
  count(value: T): number;
  write(to: W, value: T): void;
  /**
   * Reads the positions from `taken` on of an array that has `count`, all of them, into the fields
   * of `value`.
   */
  read(from: R, count: number, taken: number, value: object): void;
}

type Values = Record<string, unknown>;

/**
 * One of several forms, the shortest first. A value has the longest whose last field it has, and an
 * array the longest for which it has enough positions.
 */
export function forms<T extends object, R extends PositionSource, W>(
  ...alternatives: readonly Partial<Fields<T, R, W>>[]
): Positions<T, R, W> {
  const all = alternatives.map((fields) => namedCodecs<R, W>(fields));
  const shortest = all[0] ?? [];
  const least = shortest.length;

  function formOf(value: Readonly<Values>) {
    for (let at = all.length - 1; at > 0; at -= 1) {
      const form = all[at] as typeof shortest;
      if (value[form.at(-1)?.name ?? ""] !== undefined) return form;
    }
    return shortest;
  }

  function formWithin(count: number) {
    for (let at = all.length - 1; at > 0; at -= 1) {
      const form = all[at] as typeof shortest;
      if (form.length <= count) return form;
    }
    return shortest;
  }

  return {
    least,
    count: (value) => formOf(value as Values).length,
    write(to, value) {
      const values = value as Readonly<Values>;
      for (const { name, codec } of formOf(values)) codec.write(to, values[name]);
    },
    read(from, count, taken, value) {
      from.need(count, taken + least);
      const form = formWithin(count - taken);
      for (const { name, codec } of form) {
        const field = codec.read(from, name);
        if (field !== undefined) (value as Values)[name] = field;
      }
      const unknown = count - taken - form.length;
      if (unknown > 0) from.passOver(unknown);
    },
  };
}

/** The one form of a `T`. */
export function fields<T extends object, R extends PositionSource, W>(
  all: Fields<T, R, W>,
): Positions<T, R, W> {
  return forms<T, R, W>(all as Partial<Fields<T, R, W>>);
}

/**
 * One position that says what follows it.
 * @param tag the name of its field
 * @param read reads it, and refuses what is not known
 * @param restOf what follows it
 */
export function tagged<T extends object, R extends PositionSource, W extends PositionSink>(
  tag: keyof T & string,
  read: (from: R) => number,
  restOf: (tag: number) => Positions<object, R, W>,
): Positions<T, R, W> {
  const tagOf = (value: T): number => value[tag] as number;
  return {
    least: 1,
    count: (value) => 1 + restOf(tagOf(value)).count(value),
    write(to, value) {
      to.uint(tagOf(value));
      restOf(tagOf(value)).write(to, value);
    },
    read(from, count, taken, value) {
      from.need(count, taken + 1);
      const number = read(from);
      (value as Values)[tag] = number;
      restOf(number).read(from, count, taken + 1, value);
    },
  };
}

/** Fields, and after them the positions of `rest`, which are fields of the same value. */
export function before<T extends object, R extends PositionSource, W>(
  head: Partial<Fields<T, R, W>>,
  rest: Positions<T, R, W>,
): Positions<T, R, W> {
  const all = namedCodecs<R, W>(head);
  const least = all.length + rest.least;
  return {
    least,
    count: (value) => all.length + rest.count(value),
    write(to, value) {
      for (const { name, codec } of all) codec.write(to, (value as Values)[name]);
      rest.write(to, value);
    },
    read(from, count, taken, value) {
      from.need(count, taken + least);
      for (const { name, codec } of all) (value as Values)[name] = codec.read(from, name);
      rest.read(from, count, taken + all.length, value);
    },
  };
}

/** Positions that belong to an object of their own, which is the field `name`. */
export function within<T extends object, R, W>(
  name: keyof T & string,
  of: Positions<object, R, W>,
): Positions<T, R, W> {
  return {
    least: of.least,
    count: (value) => of.count(value[name] as object),
    write: (to, value) => of.write(to, value[name] as object),
    read(from, count, taken, value) {
      const inner = {};
      of.read(from, count - taken, 0, inner);
      (value as Values)[name] = inner;
    },
  };
}

/** An array of its own with these positions. */
export function array<T extends object, R extends PositionSource, W extends PositionSink>(
  of: Positions<T, R, W>,
): Codec<T, R, W> {
  return {
    read(from) {
      const value = {};
      of.read(from, from.arrayHeader(), 0, value);
      return value as T;
    },
    write(to, value) {
      to.arrayHeader(of.count(value));
      of.write(to, value);
    },
  };
}

/** An array of at most `countMax` values. */
export function list<T, R extends PositionSource, W extends PositionSink>(
  of: Codec<T, R, W>,
  countMax: number,
): Codec<readonly T[], R, W> {
  return {
    read(from, name) {
      const values: T[] = [];
      for (let left = from.listHeader(countMax); left > 0; left -= 1)
        values.push(of.read(from, name));
      return values;
    },
    write(to, values) {
      to.arrayHeader(values.length);
      for (const value of values) of.write(to, value);
    },
  };
}
