/**
 * What a row of the table of options says. The key of a row is the name of the option in programs,
 * units last; `flag` is its name for people, who write the unit with the value. A row always refers
 * to other options by their names for programs.
 */
import { switched, type ValueKind } from "./kinds.js";

/** Who connects to an address, and so what has to be known before it may be open to others. */
export type Listener = "clients" | "peers" | "scrapers";

export interface Row<Value> extends Further<Value> {
  readonly kind: ValueKind<Value>;
  /** For help and reference: no capital, no full stop. */
  readonly words: string;
}

/** Without `isRequired` and a default it may have no value, or one that follows from others. */
export interface Further<Value> {
  readonly isRequired?: true;
  readonly defaultValue?: Value;
  /** Its name as a flag, a variable and the key of a file; default: the key of the row. */
  readonly flag?: string;
  /** Shown instead of the default; "" shows none. */
  readonly defaultText?: string;
  /** It may be given only with all of these. */
  readonly needs?: { readonly options: readonly string[]; readonly because: string };
  readonly excludes?: { readonly option: string; readonly because: string };
  readonly atMost?: readonly Bound[];
  readonly listensFor?: Listener;
  /** A field of `tuning` in programs, where a test may go beyond what people can sensibly want. */
  readonly isTuning?: true;
  /** Not for people: it has no flag. */
  readonly isInternal?: true;
}

/** A value must be at most the value of another option, or half of it. */
export interface Bound {
  readonly option: string;
  readonly isHalf?: true;
  readonly because?: string;
}

export function row<Value, const More extends Further<NoInfer<Value>> = object>(
  kind: ValueKind<Value>,
  words: string,
  further?: More,
): Row<Value> & More {
  return { kind, words, ...(further as More) };
}

/** Off unless it is turned on. */
export function toggle<const More extends Further<boolean> = object>(
  words: string,
  further?: More,
) {
  return row(switched, words, { ...(further as More), defaultValue: false });
}

/** Tuning with a flag. */
export function tuning<const More extends Further<number> = object>(
  kind: ValueKind<number>,
  words: string,
  defaultValue: number,
  further?: More,
) {
  return row(kind, words, { ...(further as More), defaultValue, isTuning: true });
}

/** Tuning of programs, such as tests. */
export function internal(
  kind: ValueKind<number>,
  defaultValue: number,
  atMost: readonly Bound[] = [],
) {
  return tuning(kind, "", defaultValue, { atMost, isInternal: true });
}
