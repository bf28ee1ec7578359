/** The rule of fencing, asked of every kind of gate: what a plain judge says, it must say. */
import fc from "fast-check";
import { expect } from "vitest";
import { type Claim, HoldfastError } from "../../src/fence/index.js";
import { claimHistories, verdicts } from "./claim-history.js";

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
  await fc.assert(property, { numRuns });
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
