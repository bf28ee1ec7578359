/**
 * A follower under every leader that keeps to the Raft paper: appends of any size, from any
 * matching or missing place, in any order, repeated, empty or not, from one leader after
 * another. Another version may send what this leader never would.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/raft/index.js";
import { append, entry, Solo } from "./cluster/solo.js";

interface Reign {
  /** The log of the leader of this term; its last entry is of the term itself. */
  readonly entries: readonly Entry[];
  readonly term: number;
  readonly commitIndex: number;
}

/**
 * Each leader cuts its predecessor's log after what is committed, adds entries, and commits some.
 */
const reigns: fc.Arbitrary<readonly Reign[]> = fc
  .array(
    fc.record({
      kept: fc.nat({ max: 6 }),
      added: fc.integer({ min: 1, max: 4 }),
      committed: fc.nat({ max: 8 }),
    }),
    { minLength: 2, maxLength: 5 },
  )
  .map((draws) => {
    const made: Reign[] = [];
    let entries: Entry[] = [];
    let commitIndex = 0;
    for (const [at, { kept, added, committed }] of draws.entries()) {
      const term = at + 1;
      entries = entries.slice(0, Math.max(commitIndex, Math.min(kept, entries.length)));
      for (let count = 0; count < added; count += 1) entries.push(entry(entries.length + 1, term));
      commitIndex = Math.max(commitIndex, Math.min(committed, entries.length));
      made.push({ entries: [...entries], term, commitIndex });
    }
    return made;
  });

const sending = fc.record({
  reign: fc.nat({ max: 100 }),
  prev: fc.nat({ max: 100 }),
  count: fc.nat({ max: 6 }),
  told: fc.nat({ max: 100 }),
});

describe("a follower", () => {
  it("rules 2 and 3: commits nothing but its leader's entries, in whatever order", () => {
    fc.assert(
      fc.property(reigns, fc.array(sending, { minLength: 1, maxLength: 30 }), (leaders, sent) => {
        const solo = new Solo();
        let latest = 0;
        for (const { reign, prev, count, told } of sent) {
          // Terms rise; a message of an earlier leader comes late now and then.
          const at = reign % 4 === 0 ? reign % leaders.length : latest;
          const leader = leaders[at] as Reign;
          if (reign % 7 === 0) latest = Math.min(latest + 1, leaders.length - 1);
          const { entries, term, commitIndex } = leader;
          const prevLogIndex = prev % (entries.length + 1);
          const prevLogTerm = entries[prevLogIndex - 1]?.term ?? 0;
          const part = entries.slice(prevLogIndex, prevLogIndex + count);
          const commit = commitIndex === 0 ? 0 : told % (commitIndex + 1);
          const before = solo.raft.commitIndex;
          const { write } = solo.receive(
            append(2 + at, term, prevLogIndex, prevLogTerm, part, commit),
          );
          if (write !== undefined) solo.persisted(write.seq);
          const { raft } = solo;
          expect(raft.commitIndex).toBeGreaterThanOrEqual(before);
          for (const held of raft.entries(1, raft.commitIndex)) {
            expect(held).toEqual(leaders.at(-1)?.entries[held.index - 1]);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("rule 3: keeps everything that one leader gave it, however its appends come again", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
        fc.array(sending, { maxLength: 20 }),
        (unsorted, sent) => {
          const terms = unsorted.sort((a, b) => a - b);
          const entries = terms.map((term, at) => entry(at + 1, term));
          const solo = new Solo();
          solo.receive(append(2, 3, 0, 0, entries));
          for (const { prev, count } of sent) {
            const prevLogIndex = prev % (entries.length + 1);
            const prevLogTerm = entries[prevLogIndex - 1]?.term ?? 0;
            const part = entries.slice(prevLogIndex, prevLogIndex + count);
            const { write } = solo.receive(append(2, 3, prevLogIndex, prevLogTerm, part));
            expect(write).toBeUndefined();
          }
          expect(solo.raft.entries(1, solo.raft.lastIndex)).toEqual(entries);
        },
      ),
    );
  });
});
