/** The rule of fencing, asked of every kind of gate: what a plain judge says, it must say. */
import fc from "fast-check";
import { expect } from "vitest";
import { type Claim, HoldfastError } from "../../src/fence/index.js";
import { claimHistories, verdicts, type WrittenClaim } from "./claim-history.js";

const permits = (token: number, ...slots: number[]): WrittenClaim => {
  return { claim: { token, mode: "permits", slots }, isLive: false };
};

/** Refused in one of its slots, it must leave nothing in the other. */
const LATE_IN_ONE_SLOT = [permits(3, 2), permits(2, 0, 2), permits(1, 0)];

/** Resolves if the claim is let through to the resource, else rejects with `STALE_TOKEN`. */
export type Admit = (resource: string, claim: Claim) => Promise<void>;

export async function expectTheRule(
  admit: Admit,
  kinds: "lock" | "semaphore" | "both",
  numRuns: number,
): Promise<void> {
  let runs = 0;
  const property = fc.asyncProperty(claimHistories(kinds), async (history) => {
    runs += 1;
    const resource = `${kinds}/${runs}`;
    const found: boolean[] = [];
    for (const { claim } of history) found.push(await passes(admit, resource, claim));
    expect(found).toEqual(verdicts(history));
  });
  const examples: [WrittenClaim[]][] = kinds === "lock" ? [] : [[LATE_IN_ONE_SLOT]];
  await fc.assert(property, { numRuns, examples });
}

/** Each claim in a transaction of its own, which is rolled back when the claim is refused. */
export function inTransactions(
  admit: Admit,
  query: (text: string) => Promise<unknown>,
  begin = "begin",
): Admit {
  return async (resource, claim) => {
    await query(begin);
    try {
      await admit(resource, claim);
      await query("commit");
    } catch (error) {
      await query("rollback");
      throw error;
    }
  };
}

export async function passes(admit: Admit, resource: string, claim: Claim): Promise<boolean> {
  try {
    await admit(resource, claim);
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "STALE_TOKEN") throw error;
    return false;
  }
}
