/**
 * Majorities and configurations compared with brute force: every set of nodes that could agree
 * is enumerated, and must agree with the arithmetic.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ballotOutcome,
  type Configuration,
  decodeConfiguration,
  encodeConfiguration,
  isJoint,
  isSameConfiguration,
  isVoter,
  membersOf,
  type NodeId,
  quorumSize,
  quorumValue,
  votersOf,
} from "../../../src/raft/index.js";
import { joint, members, NO_MEMBERS } from "../cluster/configurations.js";

const IDS: readonly NodeId[] = [1, 2, 3, 4, 5, 6, 7];

const voterSet = (minLength: number) => fc.subarray([...IDS], { minLength });

/** Plain and joint, with learners among the nodes that do not vote in the new half. */
const configuration: fc.Arbitrary<Configuration> = fc
  .tuple(voterSet(1), fc.oneof(fc.constant<NodeId[]>([]), voterSet(1)), voterSet(0))
  .map(([voters, outgoing, others]) => {
    const learners = others.filter((id) => !voters.includes(id));
    return outgoing.length === 0 ? members(voters, learners) : joint(voters, outgoing, learners);
  });

function subsetsOf<Item>(items: readonly Item[]): Item[][] {
  let subsets: Item[][] = [[]];
  for (const item of items) subsets = subsets.flatMap((subset) => [subset, [...subset, item]]);
  return subsets;
}

/** More than half of `voters` are among `agreeing`; without voters nobody has to be asked. */
function isMajority(voters: readonly NodeId[], agreeing: readonly NodeId[]): boolean {
  const count = voters.filter((id) => agreeing.includes(id)).length;
  return voters.length === 0 || count * 2 > voters.length;
}

function decides({ voters, outgoing }: Configuration, agreeing: readonly NodeId[]): boolean {
  return isMajority(voters, agreeing) && isMajority(outgoing, agreeing);
}

const SUBSETS = subsetsOf(IDS);

describe("a majority", () => {
  it("is the least number of which any two sets have a member in common", () => {
    for (let count = 1; count <= 9; count += 1) {
      const size = quorumSize(count);
      expect(2 * size).toBeGreaterThan(count);
      expect(2 * (size - 1)).toBeLessThanOrEqual(count);
    }
  });

  it("has reached the largest value that some deciding set has reached as a whole", () => {
    fc.assert(
      fc.property(
        configuration,
        fc.array(fc.nat({ max: 6 }), { minLength: 7, maxLength: 7 }),
        (each, values) => {
          const reachedBy = (id: NodeId) => values[id - 1] ?? 0;
          const best = SUBSETS.filter((subset) => decides(each, subset)).map((subset) =>
            Math.min(...subset.filter((id) => isVoter(each, id)).map(reachedBy)),
          );
          expect(quorumValue(each, reachedBy)).toBe(Math.max(...best));
        },
      ),
    );
  });

  it("takes what lies before every value for reached by nobody", () => {
    const heard = (id: NodeId) => (id === 1 ? 5 : Number.NEGATIVE_INFINITY);
    expect(quorumValue(members([1, 2, 3]), heard)).toBe(Number.NEGATIVE_INFINITY);
    expect(quorumValue(joint([1], [2, 3]), heard)).toBe(Number.NEGATIVE_INFINITY);
    expect(quorumValue(members([1]), heard)).toBe(5);
  });
});

describe("ballots", () => {
  /** What follows from every way in which those who are silent may yet vote. */
  function foreseen(
    each: Configuration,
    granted: readonly NodeId[],
    silent: readonly NodeId[],
  ): ReturnType<typeof ballotOutcome> {
    if (decides(each, granted)) return "won";
    const canWin = subsetsOf(silent).some((late) => decides(each, [...granted, ...late]));
    return canWin ? "pending" : "lost";
  }

  it("are won, lost or open exactly as every possible end says", () => {
    const ballot = fc.constantFrom(true, false, undefined);
    fc.assert(
      fc.property(
        configuration,
        fc.array(ballot, { minLength: 7, maxLength: 7 }),
        (each, ballots) => {
          const granted = IDS.filter((id) => ballots[id - 1] === true);
          const silent = IDS.filter((id) => ballots[id - 1] === undefined);
          const outcome = ballotOutcome(each, (id) => ballots[id - 1]);
          expect(outcome).toBe(foreseen(each, granted, silent));
        },
      ),
    );
  });
});

describe("a change of voters", () => {
  it("has no moment at which two sets decide without a common member", () => {
    fc.assert(
      fc.property(voterSet(1), voterSet(1), (before, after) => {
        const middle = joint(after, before);
        // Old and new may contradict each other; the joint configuration contradicts neither.
        const deciding = SUBSETS.filter((subset) => decides(middle, subset));
        for (const plain of [members(before), members(after)]) {
          for (const subset of SUBSETS) {
            if (!decides(plain, subset)) continue;
            expect(deciding.every((other) => other.some((id) => subset.includes(id)))).toBe(true);
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe("a configuration", () => {
  it("counts everybody once, voters of either half first among those who receive", () => {
    fc.assert(
      fc.property(configuration, (each) => {
        const { voters, outgoing, learners } = each;
        const deciding = IDS.filter((id) => voters.includes(id) || outgoing.includes(id));
        expect([...votersOf(each)].sort()).toEqual(deciding);
        expect(IDS.filter((id) => isVoter(each, id))).toEqual(deciding);
        const receiving = IDS.filter((id) => deciding.includes(id) || learners.includes(id));
        expect([...membersOf(each)].sort()).toEqual(receiving);
        expect(isJoint(each)).toBe(outgoing.length > 0);
      }),
    );
  });

  it("is the same after it was written and read, and differs from every other", () => {
    fc.assert(
      fc.property(configuration, configuration, (left, right) => {
        const bytes = encodeConfiguration(left);
        expect(decodeConfiguration(bytes)).toEqual(left);
        const isSame = JSON.stringify(left) === JSON.stringify(right);
        expect(isSameConfiguration(left, right)).toBe(isSame);
        expect(Buffer.from(encodeConfiguration(right)).equals(bytes)).toBe(isSame);
      }),
    );
    expect(decodeConfiguration(encodeConfiguration(NO_MEMBERS))).toEqual(NO_MEMBERS);
  });

  it("is read from what was written and from nothing else", () => {
    fc.assert(
      fc.property(configuration, fc.nat(), fc.nat({ max: 255 }), (each, at, byte) => {
        const bytes = encodeConfiguration(each);
        expect(decodeConfiguration(bytes.subarray(0, at % bytes.length))).toBeUndefined();
        const damaged = bytes.slice();
        damaged[at % bytes.length] = byte;
        const read = decodeConfiguration(damaged);
        // Whatever it says now is said by these bytes and no others.
        if (read !== undefined) expect(encodeConfiguration(read)).toEqual(damaged);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const read = decodeConfiguration(bytes);
        if (read !== undefined) expect(encodeConfiguration(read)).toEqual(bytes);
      }),
    );
  });
});
