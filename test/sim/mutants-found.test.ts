/** A few of the seeded bugs, each with the seed that is known to find it; `npm run sim` has them all. */
import { afterAll, describe, expect, test } from "vitest";
import { MUTANTS } from "./mutants/catalogue.js";
import { findMutant, SoundRuns } from "./mutants/find-mutant.js";

/** From every part of the sources, and cheap: the run ends where the bug shows. */
const NAMES = [
  "acknowledged-before-durable",
  "read-before-first-commit",
  "leader-without-quorum-goes-on",
  "members-counted-from-commit",
  "segment-name-not-synced",
  "stamps-in-the-log-forgotten",
  "shared-barger",
  "upgrade-keeps-its-token",
  "slot-given-twice",
  "theft-not-told",
  "time-begins-at-zero",
  "queued-acknowledged-as-read",
  "signal-not-aborted",
  "watch-begins-anew",
  "frame-used-again-too-early",
  "hand-over-by-pre-vote",
];
const TIMEOUT_MS = 600_000;

const sound = new SoundRuns();
afterAll(() => sound.close());

describe("the checks find", () => {
  test.each(NAMES)(
    "%s by the seed that found it before",
    async (name) => {
      const mutant = MUTANTS.find((candidate) => candidate.name === name);
      if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
      expect(mutant.seeds.length).toBeGreaterThan(0);
      const { found } = await findMutant(mutant, sound, mutant.seeds);
      expect(found).toBe(true);
    },
    TIMEOUT_MS,
  );
});
