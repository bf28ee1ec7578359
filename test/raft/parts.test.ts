/** The parts that have a life of their own: configurations, the log, the window. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertConfiguration,
  type Configuration,
  encodeConfiguration,
  isJoint,
  isVoter,
  membersOf,
  votersOf,
} from "../../src/raft/index.js";
import { RaftLog } from "../../src/raft/log.js";
import { InflightWindow } from "../../src/raft/progress/inflight.js";
import { addressesOf, joint, members, NO_MEMBERS } from "./cluster/configurations.js";
import { entry, log } from "./cluster/solo.js";

const JOINT = joint([1, 2, 3], [1, 4, 5], [6]);

describe("a configuration", () => {
  it("knows who decides and who only listens, each once", () => {
    expect(votersOf(JOINT)).toEqual([1, 2, 3, 4, 5]);
    expect(membersOf(JOINT)).toEqual([1, 2, 3, 4, 5, 6]);
    expect([isVoter(JOINT, 5), isVoter(JOINT, 6)]).toEqual([true, false]);
    expect([isJoint(JOINT), isJoint(members([1]))]).toEqual([true, false]);
  });

  it.each<[string, Configuration]>([
    ["with a voter twice", members([1, 1])],
    ["with an impossible id", members([0])],
    ["with an id beyond 32 bits", members([2 ** 32])],
    ["with a learner that votes", members([1], [1])],
    ["that ends in nobody", joint([], [1])],
    ["with more members than there may be", members(Array.from({ length: 16 }, (_, at) => at + 1))],
    ["with an address of a stranger", { ...members([1]), addresses: addressesOf([2]) }],
    [
      "with addresses in disorder",
      { ...members([1, 2]), addresses: addressesOf([1, 2]).reverse() },
    ],
    ["with an address that cannot be", { ...members([1]), addresses: [{ id: 1, address: "a\n" }] }],
  ])("%s is none", (_, configuration) => {
    expect(() => assertConfiguration(configuration)).toThrow(/configuration/);
    expect(() => encodeConfiguration(configuration)).toThrow(/configuration/);
  });

  it("may be without members, and a member on its way from voter to learner", () => {
    expect(() => assertConfiguration(NO_MEMBERS)).not.toThrow();
    expect(() => assertConfiguration(joint([1, 2], [1, 2, 3], [3]))).not.toThrow();
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

  it("goes on behind its base when its beginning goes, and behind a snapshot when all goes", () => {
    const held = new RaftLog(0, 0, log(1, 1, 2, 3));
    held.compactTo(3);
    expect([held.baseIndex, held.baseTerm, held.lastIndex, held.lastTerm]).toEqual([3, 2, 4, 3]);
    expect(held.slice(4, 4).length).toBe(1);
    held.reset(9, 5);
    expect([held.baseIndex, held.lastIndex, held.lastTerm]).toEqual([9, 9, 5]);
    held.append(entry(10, 5));
    expect(held.term(9)).toBe(5);
    expect(() => held.reset(9, 5)).toThrow(/reset to 9/);
    expect(() => held.compactTo(8)).toThrow(/compaction to 8/);
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
        window.add(last, bytes, turn);
      }
      expect([window.messages, window.roomBytes]).toEqual([2, 30]);
      expect(window.oldestSentMs).toBe(turn);
      expect(window.acknowledge(last - 2)).toBe(false);
      expect(window.acknowledge(last - 1)).toBe(true);
      expect([window.messages, window.roomBytes]).toEqual([1, 70]);
      window.acknowledge(last);
      expect([window.messages, window.roomBytes]).toEqual([0, 100]);
    }
  });

  it("has no room for bytes while it has none for a message", () => {
    const window = new InflightWindow(1, 100);
    window.add(1, 10, 0);
    expect(window.roomBytes).toBe(0);
    expect(() => window.add(2, 10, 0)).toThrow(/already in flight/);
    window.clear();
    expect(window.roomBytes).toBe(100);
  });
});
