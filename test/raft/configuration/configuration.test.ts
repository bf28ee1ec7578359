/**
 * Configurations: which are valid and who votes in them, their bytes, and which one is in force
 * while the log grows and is cut.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationHistory } from "../../../src/raft/configuration/configuration-history.js";
import {
  assertConfiguration,
  type Configuration,
  decodeConfiguration,
  type Entry,
  encodeConfiguration,
  isJoint,
  isSameConfiguration,
  isVoter,
  membersOf,
  votersOf,
} from "../../../src/raft/index.js";
import { addressesOf, joint, members, NO_MEMBERS } from "../cluster/configurations.js";

const JOINT = joint([1, 2, 3], [1, 4, 5], [6]);

const ids = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 32 - 1 }), {
  minLength: 1,
  maxLength: 15,
});
const host = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."abzAZ059._-"), minLength: 1, maxLength: 249 }),
  fc
    .ipV6()
    .filter((text) => !/[^0-9a-fA-F:.]/.test(text))
    .map((text) => `[${text}]`),
);
const address = fc
  .tuple(host, fc.integer({ min: 1, max: 65_535 }))
  .map(([name, port]) => `${name}:${port}`);

/** Voters, learners, and outgoing voters of whom some stay, some are demoted and some leave. */
const configurations: fc.Arbitrary<Configuration> = fc
  .tuple(ids, ids, fc.nat({ max: 14 }), fc.boolean(), fc.infiniteStream(address))
  .map(([pool, others, learnerCount, isJoint, texts]) => {
    const voterCount = Math.max(1, pool.length - learnerCount);
    const voters = pool.slice(0, voterCount);
    const learners = pool.slice(voterCount);
    const outgoing = isJoint ? [...new Set([...others, ...pool])].slice(0, 15) : [];
    const everybody = [...new Set([...voters, ...outgoing, ...learners])].sort((a, b) => a - b);
    const addresses = everybody.map((id) => ({ id, address: texts.next().value }));
    return { voters, outgoing, learners, addresses };
  });

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

describe("an encoded configuration", () => {
  it("decodes to what it was, wherever in a buffer it lies", () => {
    fc.assert(
      fc.property(configurations, fc.nat({ max: 9 }), (configuration, offset) => {
        const bytes = encodeConfiguration(configuration);
        const buffer = new Uint8Array(bytes.length + 20).fill(0xff);
        buffer.set(bytes, offset);
        expect(decodeConfiguration(buffer.subarray(offset, offset + bytes.length))).toEqual(
          configuration,
        );
      }),
    );
  });

  it("has one form: what decodes at all encodes to the same bytes", () => {
    const damage = fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }), cut: fc.nat({ max: 3 }) });
    fc.assert(
      fc.property(configurations, damage, (configuration, { at, byte, cut }) => {
        const bytes = encodeConfiguration(configuration);
        bytes[at % bytes.length] = byte;
        const damaged = bytes.subarray(0, bytes.length - cut);
        const decoded = decodeConfiguration(damaged);
        if (decoded !== undefined) expect(encodeConfiguration(decoded)).toEqual(damaged.slice());
      }),
    );
  });

  it("never throws on bytes that somebody else made up", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        for (const version of [bytes[0] ?? 0, 1]) {
          if (bytes.length > 0) bytes[0] = version;
          const decoded = decodeConfiguration(bytes);
          if (decoded !== undefined) expect(encodeConfiguration(decoded)).toEqual(bytes);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["nothing", () => new Uint8Array(0)],
    ["a header that is cut", () => encodeConfiguration(members([1])).subarray(0, 4)],
    ["an address that is cut", () => encodeConfiguration(members([1])).subarray(0, -1)],
    ["bytes after its end", () => Uint8Array.of(...encodeConfiguration(members([1])), 0)],
    ["another version", () => encodeConfiguration(members([1])).fill(2, 0, 1)],
    ["a member twice", () => Uint8Array.of(1, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1)],
    ["node 0", () => Uint8Array.of(1, 1, 0, 0, 0, 0, 0, 0, 0)],
    ["a learner that votes", () => Uint8Array.of(1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1)],
    ["outgoing voters and no others", () => Uint8Array.of(1, 0, 1, 0, 0, 0, 0, 0, 1)],
    ["a stranger's address", () => Uint8Array.of(1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 65)],
    ["an empty address", () => Uint8Array.of(1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0)],
    ["a line break", () => Uint8Array.of(1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 10)],
  ])("is not decoded from %s", (_, bytes) => {
    expect(decodeConfiguration(bytes())).toBeUndefined();
  });

  it("is not made of what is none", () => {
    const sixteen = Array.from({ length: 16 }, (_, at) => at + 1);
    expect(() => encodeConfiguration(members(sixteen))).toThrow(/more than 15 members/);
    const { addresses } = members([1, 2]);
    const disordered = { ...members([1, 2]), addresses: addresses.toReversed() };
    expect(() => encodeConfiguration(disordered)).toThrow(/address of node 1 after node 2/);
  });

  it("may have a voter on its way to being a learner, and nobody at all", () => {
    const demoting = joint([1, 2], [1, 2, 3], [3]);
    expect(decodeConfiguration(encodeConfiguration(demoting))).toEqual(demoting);
    const empty = { voters: [], outgoing: [], learners: [], addresses: [] };
    expect(decodeConfiguration(encodeConfiguration(empty))).toEqual(empty);
  });
});

describe("two configurations", () => {
  it("are the same when every row is, addresses included", () => {
    const one = joint([1, 2], [1], [3]);
    expect(isSameConfiguration(one, structuredClone(one))).toBe(true);
    const moved = [{ id: 1, address: "elsewhere:1" }, ...one.addresses.slice(1)];
    for (const change of [{ voters: [2, 1] }, { outgoing: [] }, { learners: [] }]) {
      expect(isSameConfiguration(one, { ...one, ...change })).toBe(false);
    }
    expect(isSameConfiguration(one, { ...one, addresses: moved })).toBe(false);
    expect(isSameConfiguration(one, { ...one, addresses: [] })).toBe(false);
  });
});

describe("the configuration that counts", () => {
  const carrying = (index: number, configuration: Configuration): Entry => {
    return { index, term: 1, kind: "configuration", data: encodeConfiguration(configuration) };
  };
  const [first, second, third] = [members([1]), joint([1, 2], [1]), members([1, 2])];

  function three(): ConfigurationHistory {
    const history = new ConfigurationHistory(4, first);
    history.append(carrying(7, second));
    history.append(carrying(9, third));
    return history;
  }

  it("rule 9: is the one appended last, and the one before when that is cut", () => {
    const history = three();
    expect([history.effective, history.effectiveIndex]).toEqual([third, 9]);
    history.truncate(10);
    expect(history.effective).toEqual(third);
    history.truncate(8);
    expect([history.effective, history.effectiveIndex]).toEqual([second, 7]);
    history.truncate(5);
    expect([history.effective, history.effectiveIndex]).toEqual([first, 4]);
    expect(() => history.truncate(4)).toThrow(/no configuration before entry 4/);
  });

  it("is known for every entry since the beginning, wherever the log was cut", () => {
    const history = three();
    const known = () => [7, 8, 9, 10].map((index) => history.at(index));
    expect(known()).toEqual([second, second, third, third]);
    expect(history.at(6)).toBe(first);
    history.compactTo(8);
    expect(known()).toEqual([second, second, third, third]);
    expect(() => history.at(6)).toThrow(/no configuration is known for entry 6/);
    history.compactTo(20);
    expect(history.at(20)).toEqual(third);
  });

  it("is the snapshot's where a snapshot replaced the log", () => {
    const history = three();
    history.reset(30, first);
    expect([history.effective, history.effectiveIndex]).toEqual([first, 30]);
    expect(() => history.append(carrying(30, second))).toThrow(/30 after 30/);
  });

  it("counts what is still open", () => {
    expect([4, 6, 7, 8, 9].map((index) => three().countAfter(index))).toEqual([2, 2, 1, 1, 0]);
  });
});
