/**
 * What holders of one key may do, in every order: holds are granted under growing tokens and end,
 * and anyone who ever held the key may write at any time, even long after. With it comes the
 * plainest judge of who is too late: one that remembers every claim that ever passed.
 */
import fc from "fast-check";
import type { Claim } from "../../src/fence/index.js";

export interface WrittenClaim {
  readonly claim: Claim;
  /** Whether its hold has not ended: it must pass. */
  readonly isLive: boolean;
}

type Move =
  | { readonly does: "grant"; readonly wish: Wish }
  | { readonly does: "end"; readonly which: number }
  | { readonly does: "write"; readonly which: number };

type Wish = { readonly mode: "exclusive" | "shared" } | { readonly slots: readonly number[] };

interface Hold {
  readonly claim: Claim;
  isLive: boolean;
}

const SLOTS = 3;
const lockWish = fc.constantFrom<Wish>({ mode: "exclusive" }, { mode: "shared" });
const slotsWish = fc
  .uniqueArray(fc.nat(SLOTS - 1), { minLength: 1, maxLength: SLOTS })
  .map((slots): Wish => ({ slots }));

/** `kinds`: a key that is always a lock, always a semaphore, or changes while nobody holds it. */
export function claimHistories(kinds: "lock" | "semaphore" | "both"): fc.Arbitrary<WrittenClaim[]> {
  const wish = { lock: lockWish, semaphore: slotsWish, both: fc.oneof(lockWish, slotsWish) }[kinds];
  const move = fc.oneof(
    fc.record({ does: fc.constant("grant" as const), wish }),
    fc.record({ does: fc.constant("end" as const), which: fc.nat() }),
    fc.record({ does: fc.constant("write" as const), which: fc.nat() }),
    fc.record({ does: fc.constant("write" as const), which: fc.nat() }),
  );
  return fc.array(move, { minLength: 4, maxLength: 40 }).map(play);
}

/** What is granted only once nothing in its way is held, as a lock table would. */
function play(moves: readonly Move[]): WrittenClaim[] {
  const holds: Hold[] = [];
  const written: WrittenClaim[] = [];
  // As large as real ones: beyond what 32 bits, or a printed double, can hold.
  let token = 3_710_851_743_744_000;
  for (const move of moves) {
    if (move.does === "grant") {
      token += 1;
      const claim = claimFor(move.wish, token);
      if (holds.some((hold) => hold.isLive && areAtOdds(hold.claim, claim))) continue;
      holds.push({ claim, isLive: true });
      continue;
    }
    const hold = holds[move.which % Math.max(1, holds.length)];
    if (hold === undefined) continue;
    if (move.does === "end") hold.isLive = false;
    else written.push({ claim: hold.claim, isLive: hold.isLive });
  }
  return written;
}

function claimFor(wish: Wish, token: number): Claim {
  return "mode" in wish
    ? { token, mode: wish.mode }
    : { token, mode: "permits", slots: [...wish.slots] };
}

function areAtOdds(one: Claim, other: Claim): boolean {
  const modes = `${one.mode} ${other.mode}`;
  if (modes === "shared shared") return false;
  if (modes !== "permits permits") return true;
  return one.slots?.some((slot) => other.slots?.includes(slot)) === true;
}

/** For each claim in turn whether it must pass. */
export function verdicts(history: readonly WrittenClaim[]): boolean[] {
  const passed: Claim[] = [];
  return history.map(({ claim }) => {
    const isLate = passed.some((other) => other.token > claim.token && areAtOdds(other, claim));
    if (!isLate) passed.push(claim);
    return !isLate;
  });
}
