/** No message from a peer or client makes a node throw, whatever its role. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Configuration, Entry, Input, Message } from "../../src/raft/index.js";
import { TERM_JUMP_MAX } from "../../src/raft/messages/message-check.js";
import { configurationEntry, joint, members } from "./cluster/configurations.js";
import { append, ballot, entry, log, Solo } from "./cluster/solo.js";

const count = fc.oneof(
  fc.nat({ max: 12 }),
  fc.constantFrom(-1, 0.5, Number.NaN, 2 ** 53, Number.MAX_SAFE_INTEGER, 2 ** 52 + 1, 2 ** 24),
);

const foreignEntry: fc.Arbitrary<Entry> = fc.record({
  index: count,
  term: count,
  kind: fc.constantFrom("command", "noop", "configuration", "unheard-of" as "noop"),
  data: fc.constant(new Uint8Array(3)),
});

const CONFIGURATIONS = [members([1, 2]), joint([2, 3], [1, 2, 3]), members([2], [1]), members([7])];

/** Entries that at least follow each other, configurations among them. */
const entryRun = fc
  .record({
    first: fc.nat({ max: 12 }),
    terms: fc.array(fc.nat({ max: 12 }), { maxLength: 6 }),
    configurations: fc.array(fc.option(fc.constantFrom(...CONFIGURATIONS)), { maxLength: 6 }),
  })
  .map(({ first, terms, configurations }) =>
    terms
      .sort((a, b) => a - b)
      .map((term, at) => {
        const configuration = configurations[at] ?? undefined;
        return configuration === undefined
          ? entry(first + at, term)
          : configurationEntry(first + at, term, configuration);
      }),
  );

const ids = fc.array(fc.constantFrom(1, 2, 3, 4, 0, -1, 2 ** 32, 0.5), { maxLength: 4 });

const foreignConfiguration: fc.Arbitrary<Configuration> = fc.oneof(
  fc.constantFrom(...CONFIGURATIONS),
  fc.record({
    voters: ids,
    outgoing: ids,
    learners: ids,
    addresses: fc.array(
      fc.record({ id: fc.constantFrom(1, 2, 3, 9), address: fc.string({ maxLength: 300 }) }),
      { maxLength: 3 },
    ),
  }),
);

/** What arrives besides messages: snapshots of a peer, wishes of a client. */
const request: fc.Arbitrary<Input> = fc.oneof(
  fc.record({
    type: fc.constant("snapshotReceived" as const),
    from: fc.constantFrom(2, 3, 9, 1, 0),
    term: count,
    epoch: fc.constantFrom(20, 7, -1),
    snapshot: fc.record({
      index: count,
      term: count,
      checksum: fc.constant("00".repeat(32)),
      configuration: foreignConfiguration,
    }),
  }),
  fc.record({
    type: fc.constant("changeMembership" as const),
    id: fc.nat(),
    target: foreignConfiguration,
  }),
  fc.record({
    type: fc.constant("transferLeadership" as const),
    id: fc.nat(),
    target: fc.constantFrom(0, 1, 2, 3, 9, -1),
  }),
  fc.record({ type: fc.constant("readIndex" as const), id: fc.nat() }),
  fc.record({
    type: fc.constant("commitInterest" as const),
    peer: fc.constantFrom(1, 2, 9),
    isInterested: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("snapshotFailed" as const),
    peer: fc.constantFrom(1, 2, 9),
    epoch: fc.constantFrom(20, 0, 7),
  }),
);

const message: fc.Arbitrary<Message> = fc
  .record({
    type: fc.constantFrom(
      "preVote",
      "vote",
      "preVoteReply",
      "voteReply",
      "append",
      "append",
      "appendReply",
      "heartbeat",
      "heartbeatReply",
      "timeoutNow",
      "unheard-of",
    ),
    from: fc.constantFrom(2, 3, 9, 1, 0),
    to: fc.constantFrom(1, 1, 1, 2),
    term: count,
    epoch: fc.constantFrom(20, 30, 7, -1),
    lastLogIndex: count,
    lastLogTerm: count,
    granted: fc.boolean(),
    isTransfer: fc.boolean(),
    prevLogIndex: count,
    prevLogTerm: count,
    commitIndex: count,
    entries: fc.oneof(entryRun, fc.array(foreignEntry, { maxLength: 4 })),
    success: fc.boolean(),
    needsSnapshot: fc.boolean(),
    matchIndex: count,
    rejectedIndex: count,
    hintIndex: count,
    hintTerm: count,
    round: count,
  })
  .map((fields) => {
    // Half of the appends fit together, so that they get past the first look.
    const [first] = fields.entries;
    if (fields.type !== "append" || first === undefined) return fields as unknown as Message;
    return { ...fields, prevLogIndex: first.index - 1 } as unknown as Message;
  });

describe("a node", () => {
  it.each(["follower", "preCandidate", "candidate", "leader"])(
    "as %s survives any message and any request",
    (role) => {
      const arriving = fc.oneof(
        {
          weight: 3,
          arbitrary: message.map((each) => ({ type: "message", message: each }) as const),
        },
        { weight: 1, arbitrary: request },
      );
      fc.assert(
        fc.property(fc.array(arriving, { minLength: 1, maxLength: 25 }), (inputs) => {
          const solo = as(role);
          for (const input of inputs) {
            const { write, applyTo, restore } = solo.turn(input);
            if (write !== undefined) solo.persisted(write.seq);
            if (restore === undefined) solo.turn({ type: "applied", index: applyTo });
            solo.after(7);
          }
        }),
        { numRuns: 300 },
      );
    },
  );

  function as(role: string): Solo {
    const solo = new Solo({ entries: log(1, 2, 2, 4), term: 4 });
    if (role === "leader") solo.becomeLeader();
    else if (role !== "follower") solo.after(150);
    if (role === "candidate") solo.receive(ballot("preVoteReply", 3, 5));
    expect(solo.raft.role).toBe(role);
    return solo;
  }

  it("does not take an impossible append for a leader's", () => {
    const solo = new Solo({ entries: log(1, 1), term: 1 });
    for (const impossible of [
      append(2, 5, 2, 1, [entry(4, 5)]),
      append(2, 5, 2, 1, [entry(3, 6)]),
      append(2, 5, 2, 4, [entry(3, 3)]),
      append(2, 5, 0, 3, []),
      append(1, 5, 2, 1, []),
      { ...append(2, 5, 2, 1, []), to: 2 },
      append(2, 2 ** 53 - 1, 2, 1, []),
    ]) {
      const effects = solo.receive(impossible);
      expect([effects.write, effects.sendNow, effects.sendAfter]).toEqual([undefined, [], []]);
      expect([solo.raft.term, solo.raft.leader]).toEqual([1, 0]);
    }
  });

  it("takes up any term of its leader while it has not heard of its cluster yet", () => {
    const blank = new Solo({ configuration: members([]), peers: [2] });
    blank.receive(append(2, 3 * TERM_JUMP_MAX, 0, 0, []));
    expect(blank.raft.term).toBe(3 * TERM_JUMP_MAX);
    blank.receive(append(2, 5 * TERM_JUMP_MAX, 0, 0, []));
    expect(blank.raft.term).toBe(3 * TERM_JUMP_MAX);
  });

  it("does not take up a term that no election can have reached, whatever message brings it", () => {
    const far = 4 + TERM_JUMP_MAX + 1;
    const snapshot = (term: number): Input => ({
      ...{ type: "snapshotReceived", from: 2, term, epoch: 20 },
      snapshot: {
        ...{ index: 9, term: 4, checksum: "00".repeat(32) },
        configuration: members([1, 2, 3]),
      },
    });
    const messages = (term: number): Message[] => [
      ballot("voteReply", 2, term, false),
      ballot("preVoteReply", 2, term, false),
      append(2, term, 4, 4, []),
      append(2, term, 4, 4, [entry(5, term)]),
      { type: "heartbeat", from: 2, to: 1, term, epoch: 20, commitIndex: 0, round: 1 },
      { type: "heartbeatReply", from: 2, to: 1, term, epoch: 20, round: 1 },
      ...(["vote", "preVote"] as const).map(
        (type): Message => ({
          ...{ type, from: 2, to: 1, term, epoch: 20, lastLogIndex: 9, lastLogTerm: 4 },
          isTransfer: true,
        }),
      ),
    ];
    for (const role of ["follower", "preCandidate", "candidate", "leader"]) {
      for (const message of [...messages(far + 1), ...messages(2 ** 52)]) {
        const solo = as(role);
        const { term } = solo.raft;
        const { write, sendNow } = solo.receive(message);
        expect([write, sendNow, solo.raft.term, solo.raft.role]).toEqual([
          undefined,
          [],
          term,
          role,
        ]);
      }
      for (const term of [far + 1, 2 ** 52]) {
        const solo = as(role);
        const before = solo.raft.term;
        solo.turn(snapshot(term));
        expect([solo.raft.term, solo.raft.snapshotIndex]).toEqual([before, 0]);
      }
    }
    const behind = as("follower");
    behind.receive(append(2, 4 + TERM_JUMP_MAX, 4, 4, []));
    expect(behind.raft.term).toBe(4 + TERM_JUMP_MAX);
  });

  it("ignores a second leader of one term", () => {
    const solo = new Solo({ entries: log(1), term: 1 });
    solo.receive(append(2, 5, 1, 1, [entry(2, 5)]));
    const effects = solo.receive(append(3, 5, 1, 1, [entry(2, 5)]));
    expect([effects.write, effects.sendAfter, solo.raft.leader]).toEqual([undefined, [], 2]);
  });

  it("carries entries of kinds it does not know", () => {
    const solo = new Solo({ entries: log(1), term: 1 });
    const unknown = { ...entry(2, 2), kind: "unheard-of" as "noop" };
    const { write } = solo.receive(append(2, 2, 1, 1, [unknown], 2));
    expect(write?.entries).toEqual([unknown]);
    expect(solo.raft.commitIndex).toBe(2);
  });
});
