/** The parts that have a life of their own: majorities, configurations, the log, the window. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertConfiguration,
  ballotOutcome,
  type Configuration,
  isJoint,
  isVoter,
  membersOf,
  quorumSize,
  quorumValue,
  votersOf,
} from "../../src/raft/index.js";
import { InflightWindow } from "../../src/raft/inflight.js";
import { RaftLog } from "../../src/raft/log.js";
import { entry, log } from "./solo.js";

const plain = (...voters: number[]): Configuration => ({ voters, outgoing: [], learners: [] });
const JOINT: Configuration = { voters: [1, 2, 3], outgoing: [1, 4, 5], learners: [6] };

describe("a majority", () => {
  it("is more than half", () => {
    expect([1, 2, 3, 4, 5, 6, 7].map(quorumSize)).toEqual([1, 2, 2, 3, 3, 4, 4]);
  });

  it("has reached the value that the sorted list has at its place", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 7 }), (values) => {
        const configuration = plain(...values.map((_, at) => at + 1));
        const sorted = [...values].sort((a, b) => b - a);
        const reached = quorumValue(configuration, (id) => values[id - 1] ?? 0);
        expect(reached).toBe(sorted[quorumSize(values.length) - 1]);
      }),
    );
  });

  it("must be had in both halves while the configuration is joint", () => {
    const reached = new Map([
      [1, 9],
      [2, 9],
      [3, 9],
      [4, 3],
      [5, 5],
      [6, 100],
    ]);
    expect(quorumValue(JOINT, (id) => reached.get(id) ?? 0)).toBe(5);
    const outcome = (granted: number[], refused: number[]) =>
      ballotOutcome(JOINT, (id) =>
        granted.includes(id) ? true : refused.includes(id) ? false : undefined,
      );
    expect(outcome([1, 2, 3], [])).toBe("pending");
    expect(outcome([1, 2, 4], [])).toBe("won");
    expect(outcome([1, 2, 3, 6], [4, 5])).toBe("lost");
    expect(outcome([], [2, 3])).toBe("lost");
  });
});

describe("a configuration", () => {
  it("knows who decides and who only listens, each once", () => {
    expect(votersOf(JOINT)).toEqual([1, 2, 3, 4, 5]);
    expect(membersOf(JOINT)).toEqual([1, 2, 3, 4, 5, 6]);
    expect([isVoter(JOINT, 5), isVoter(JOINT, 6)]).toEqual([true, false]);
    expect([isJoint(JOINT), isJoint(plain(1))]).toEqual([true, false]);
  });

  it.each([
    ["without voters", plain()],
    ["with a voter twice", plain(1, 1)],
    ["with an impossible id", plain(0)],
    ["with a learner that votes", { voters: [1], outgoing: [], learners: [1] }],
  ])("%s is none", (_, configuration) => {
    expect(() => assertConfiguration(configuration)).toThrow();
  });
});

describe("the log", () => {
  it("finds the last entry of a term not above another by bisection", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 12 }),
        fc.nat({ max: 14 }),
        fc.nat({ max: 7 }),
        (unsorted, index, term) => {
          const terms = unsorted.sort((a, b) => a - b);
          const found = new RaftLog(0, 0, log(...terms)).lastIndexWithTermUpTo(index, term);
          let expected = 0;
          for (const [at, each] of terms.entries()) {
            if (at + 1 <= index && each <= term) expected = at + 1;
          }
          expect(found).toBe(expected);
        },
      ),
    );
  });

  it("hands the same slice to everybody, and a new one after a truncation", () => {
    const held = new RaftLog(0, 0, log(1, 1, 1));
    const slice = held.slice(2, 3);
    expect(held.slice(2, 3)).toBe(slice);
    held.truncate(3);
    held.append(entry(3, 2));
    expect(held.slice(2, 3).map(({ term }) => term)).toEqual([1, 2]);
    expect(slice.map(({ term }) => term)).toEqual([1, 1]);
    expect(held.slice(4, 3)).toEqual([]);
  });

  it("knows what it does not hold", () => {
    const held = new RaftLog(5, 2, [entry(6, 3)]);
    expect([held.matches(5, 2), held.matches(6, 3)]).toEqual([true, true]);
    expect([held.matches(4, 2), held.matches(7, 3), held.matches(6, 2)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(() => held.entry(5)).toThrow(/no entry 5/);
    expect(() => held.truncate(5)).toThrow(/truncation at 5/);
    expect(() => held.slice(5, 6)).toThrow(/slice/);
  });
});

describe("the window", () => {
  it("keeps count of messages and bytes through any number of turns of its ring", () => {
    const window = new InflightWindow(3, 100);
    let last = 0;
    for (let turn = 0; turn < 10; turn += 1) {
      for (const bytes of [40, 30]) {
        last += 1;
        window.add(last, bytes);
      }
      expect([window.messages, window.roomBytes]).toEqual([2, 30]);
      window.acknowledge(last - 1);
      expect([window.messages, window.roomBytes]).toEqual([1, 70]);
      window.acknowledge(last);
      expect([window.messages, window.roomBytes]).toEqual([0, 100]);
    }
  });

  it("has no room for bytes while it has none for a message", () => {
    const window = new InflightWindow(1, 100);
    window.add(1, 10);
    expect(window.roomBytes).toBe(0);
    expect(() => window.add(2, 10)).toThrow(/already in flight/);
    window.clear();
    expect(window.roomBytes).toBe(100);
  });
});
