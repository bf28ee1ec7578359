/**
 * What may be held together in one key: one exclusive hold, or any number of shared ones, or as
 * many permits as there are, each slot of them once (docs/internals/semantics.md, 4.3). All code
 * that judges locks by what was said, by a log or by what clients saw, decides by this, and by
 * nothing of `src`.
 */
export type Mode = "exclusive" | "shared" | "permits";

/** What somebody holds, or is to get, in one key. */
export interface Claim {
  readonly key: string;
  readonly mode: Mode;
  /** 0 of locks. */
  readonly permits: number;
  /** The slots of permits; `undefined`: not known. */
  readonly slots?: readonly number[] | undefined;
  /** How many permits there are, as was asked for. */
  readonly limit?: number | undefined;
}

export type Conflict<Holder> =
  | { readonly kind: "mode"; readonly holder: Holder; readonly theirs: Claim }
  | { readonly kind: "slot"; readonly holder: Holder; readonly slot: number }
  /** Only together there are more than may be; `holder`: the last of them. */
  | {
      readonly kind: "count";
      readonly holder: Holder | undefined;
      readonly held: number;
      readonly limit: number;
    };

/** Of two that ask for one key: whether the later one has to wait for the earlier one. */
export function excludeEachOther(one: Mode, other: Mode): boolean {
  return one !== "shared" || other !== "shared";
}

/**
 * Why `wanted` cannot be held together with what others hold in its key.
 *
 * @param limit how many permits there are, if that is known otherwise than by the claims
 */
export function conflictOf<Holder>(
  wanted: Claim,
  held: Iterable<readonly [holder: Holder, theirs: Claim]>,
  limit = Number.POSITIVE_INFINITY,
): Conflict<Holder> | undefined {
  let sum = wanted.permits;
  let most = Math.min(limit, wanted.limit ?? limit);
  let last: Holder | undefined;
  for (const [holder, theirs] of held) {
    if (wanted.mode !== "permits" || theirs.mode !== "permits") {
      if (excludeEachOther(wanted.mode, theirs.mode)) return { kind: "mode", holder, theirs };
      continue;
    }
    const slot = wanted.slots?.find((one) => theirs.slots?.includes(one));
    if (slot !== undefined) return { kind: "slot", holder, slot };
    sum += theirs.permits;
    most = Math.min(most, theirs.limit ?? most);
    last = holder;
  }
  return sum > most ? { kind: "count", holder: last, held: sum, limit: most } : undefined;
}

/** What is wrong with the slots that were given for permits, no matter who holds the others. */
export function problemOfSlots({ permits, slots, limit }: Claim): string | undefined {
  if (slots === undefined) return undefined;
  if (slots.length !== permits) return `${permits} permits have ${slots.length} slots`;
  const beyond = slots.find((slot) => slot < 0 || slot >= (limit ?? Number.POSITIVE_INFINITY));
  return beyond === undefined ? undefined : `there is no slot ${beyond} of ${limit}`;
}
