/**
 * What a row of the table of options says. The key of a row is the name of the option in programs,
 * units last; `flag` is its name for people, who write the unit with the value. All names of other
 * options in a row are those of programs.
 */
import type { ValueKind } from "./kinds.js";

/** "open": without a value it has none, or one that follows from others. */
export type Presence = "required" | "settled" | "open";

/** Who connects to an address, and so what has to be known before it may be open to others. */
export type Listener = "clients" | "peers" | "scrapers";

export interface Row<Value> extends Further {
  readonly kind: ValueKind<Value>;
  /** For help and reference: no capital, no full stop. */
  readonly words: string;
  readonly presence: Presence;
  readonly defaultValue: Value | undefined;
}

export interface Further {
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

/** A value must be at most that of another option, or half of it. */
export interface Bound {
  readonly option: string;
  readonly isHalf?: true;
  readonly because?: string;
}

export function required<Value, const More extends Further = object>(
  kind: ValueKind<Value>,
  words: string,
  further?: More,
): Row<Value> & { readonly presence: "required" } & More {
  return { kind, words, presence: "required", defaultValue: undefined, ...(further as More) };
}

export function open<Value, const More extends Further = object>(
  kind: ValueKind<Value>,
  words: string,
  further?: More,
): Row<Value> & { readonly presence: "open" } & More {
  return { kind, words, presence: "open", defaultValue: undefined, ...(further as More) };
}

export function settled<Value, const More extends Further = object>(
  kind: ValueKind<Value>,
  words: string,
  defaultValue: NoInfer<Value>,
  further?: More,
): Row<Value> & { readonly presence: "settled" } & More {
  return { kind, words, presence: "settled", defaultValue, ...(further as More) };
}

/** Tuning with a flag. */
export function tuning<const More extends Further = object>(
  kind: ValueKind<number>,
  words: string,
  defaultValue: number,
  further?: More,
): Row<number> & { readonly presence: "settled"; readonly isTuning: true } & More {
  return { ...settled(kind, words, defaultValue, further), isTuning: true };
}

/** Tuning of programs, such as tests. */
export function internal(
  kind: ValueKind<number>,
  defaultValue: number,
  atMost: readonly Bound[] = [],
): Row<number> & {
  readonly presence: "settled";
  readonly isTuning: true;
  readonly isInternal: true;
} {
  const marks = { isTuning: true, isInternal: true } as const;
  return { ...settled(kind, "", defaultValue, { atMost }), ...marks };
}
