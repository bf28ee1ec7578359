/**
 * The rules about members that were learned from bugs of other implementations (8, 9, 10), each
 * as a transcript.
 */
import { describe, expect, it } from "vitest";
import { type Configuration, encodeConfiguration, isJoint } from "../../../src/raft/index.js";
import { Cluster } from "../cluster/cluster.js";
import {
  configurationEntry,
  joint,
  members,
  NO_MEMBERS,
  target,
  textOf,
} from "../cluster/configurations.js";
import {
  accept,
  append,
  ballot,
  entry,
  heartbeat,
  log,
  ofType,
  Solo,
  voteRequest,
} from "../cluster/solo.js";

const change = (id: number, voters: number[], learners: number[] = []) =>
  ({ type: "changeMembership", id, target: target(voters, learners) }) as const;

/** Node 1 leads voters 1, 2, 3 and learner 4, which all answered just now. */
function leading(options: { commits?: boolean } = {}): Solo {
  const solo = new Solo({ learners: [4] });
  const won = solo.becomeLeader();
  solo.persisted(won.write?.seq ?? 0);
  if (options.commits === false) return solo;
  solo.receive(accept(2, 1, 1), accept(3, 1, 1), accept(4, 1, 1));
  expect(solo.raft.commitIndex).toBe(1);
  return solo;
}

describe("rule 8: one change at a time, none before an entry of the own term is committed", () => {
  it("refuses a change until the noop of the term is committed", () => {
    const solo = leading({ commits: false });
    expect(solo.turn(change(9, [1, 2, 3])).refused).toEqual([{ id: 9, reason: "notReady" }]);
    solo.receive(accept(2, 1, 1), accept(3, 1, 1), accept(4, 1, 1));
    expect(solo.turn(change(10, [1, 2, 3])).accepted).toEqual([{ id: 10, index: 2, term: 1 }]);
  });

  it("refuses a second change until the first is committed, joint and final", () => {
    const solo = leading();
    const { accepted, write } = solo.turn(change(9, [1, 2, 3, 4]), change(10, [1, 2]));
    expect(accepted).toEqual([{ id: 9, index: 2, term: 1 }]);
    expect(textOf(solo.raft.configuration)).toBe("1,2,3,4 / 1,2,3 / ");
    solo.persisted(write?.seq ?? 0);
    const ended = solo.receive(accept(2, 1, 2), accept(3, 1, 2));
    // The joint configuration is committed; the final one is appended in the same turn, not before.
    expect(ended.applyTo).toBe(2);
    expect(ended.write?.entries.map(({ index, kind }) => [index, kind])).toEqual([
      [3, "configuration"],
    ]);
    expect(textOf(solo.raft.configuration)).toBe("1,2,3,4 /  / ");
    expect(solo.turn(change(11, [1, 2, 3])).refused).toEqual([{ id: 11, reason: "notReady" }]);
    solo.persisted(ended.write?.seq ?? 0);
    solo.receive(accept(2, 1, 3), accept(3, 1, 3));
    expect(solo.turn(change(12, [1, 2, 3], [4])).accepted).toMatchObject([{ id: 12, index: 4 }]);
  });

  it("refuses a second change in the very turn in which the joint configuration is committed", () => {
    const solo = leading();
    const { write } = solo.turn(change(9, [1, 2, 3, 4]));
    solo.persisted(write?.seq ?? 0);
    const committing = [accept(2, 1, 2), accept(3, 1, 2)].map(
      (message) => ({ type: "message", message }) as const,
    );
    const ended = solo.turn(...committing, change(10, [1, 2]));
    expect(ended.applyTo).toBe(2);
    expect(ended.refused).toEqual([{ id: 10, reason: "notReady" }]);
    expect(textOf(solo.raft.configuration)).toBe("1,2,3,4 /  / ");
  });

  it("two leaders of 2015: neither change of one server is built upon the other", () => {
    // Ongaro, raft-dev, 10 July 2015: S1 adds a fifth server in term 1, S2 removes S1 in term 2,
    // and S1 comes back with a majority of its own five that never heard of S2's change.
    const cluster = new Cluster({ size: 4, spares: 1 });
    cluster.startAll();
    const first = cluster.electLeader().id;
    cluster.advance(50);
    cluster.change(first, [1, 2, 3, 4], [5]);
    cluster.advance(50);
    const rest = [1, 2, 3, 4].filter((id) => id !== first);
    for (const id of rest) {
      cluster.block(first, id);
      cluster.block(id, first);
      cluster.block(5, id);
      cluster.block(id, 5);
    }
    cluster.change(first, [1, 2, 3, 4, 5]);
    cluster.settle();
    for (const id of [first, 5]) expect(isJoint(cluster.raft(id).configuration)).toBe(true);
    cluster.drift(250);
    // The second leader may not even begin before an entry of its own term is committed …
    const second = electAmong(cluster, rest);
    const early = cluster.change(second, rest);
    expect(cluster.node(second).refused).toContainEqual({ id: early, reason: "notReady" });
    cluster.advance(50);
    // … and by then all who could elect the first one again have newer logs than it.
    const late = rest.find((id) => id !== second) as number;
    cluster.change(second, rest);
    cluster.settle();
    expect(textOf(cluster.raft(second).configuration)).toBe(textOf(members(rest)));
    // The first one, its fifth server and one of the others: three of the five it believes in.
    cluster.unblockAll();
    cluster.crash(second);
    for (const id of rest) if (id !== late) cluster.crash(id, Number.POSITIVE_INFINITY);
    const sent = cluster.sent.length;
    cluster.advance(2_000);
    const asked = cluster.sent.slice(sent).filter(({ from }) => from === first);
    expect(asked.some(({ type, to }) => type === "preVote" && to === late)).toBe(true);
    expect(asked.some(({ type }) => type === "append")).toBe(false);
    cluster.startAll();
    cluster.advance(500);
    for (const id of rest) {
      expect(textOf(cluster.raft(id).configuration)).toBe(textOf(members(rest)));
    }
  });
});

/** Elects one of `ids` and returns it in the turn in which it won, before anything is committed. */
function electAmong(cluster: Cluster, ids: readonly number[]): number {
  for (let step = 0; step < 2_000; step += 1) {
    for (const link of cluster.network.links) {
      cluster.notice(link);
      cluster.connect(link);
      cluster.deliver(link, 1);
      const won = ids.find((id) => cluster.raft(id).role === "leader");
      if (won !== undefined) return won;
    }
    for (const id of ids) cluster.persist(id);
    cluster.drift(2);
  }
  throw new Error(`nobody was elected: ${cluster.describe()}`);
}

describe("rule 9: a configuration counts from append, and no longer than its entry", () => {
  const NEXT = joint([1, 2, 4], [1, 2, 3]);

  it("is taken up by a follower when the entry arrives, and given back when it is cut", () => {
    const solo = new Solo({ entries: log(1), learners: [4] });
    const taken = solo.receive(append(2, 2, 1, 1, [configurationEntry(2, 2, NEXT)]));
    expect(solo.raft.commitIndex).toBe(0);
    expect([taken.configuration, solo.raft.configuration]).toEqual([NEXT, NEXT]);
    expect([solo.raft.configurationIndex, solo.raft.configurationAt(1)]).toEqual([
      2,
      members([1, 2, 3], [4]),
    ]);
    const back = solo.receive(append(3, 3, 1, 1, [entry(2, 3)]));
    expect(back.configuration).toEqual(members([1, 2, 3], [4]));
    expect(solo.raft.configuration).toEqual(members([1, 2, 3], [4]));
  });

  it("says nothing when it came and went within one turn", () => {
    const solo = new Solo({ entries: log(1), learners: [4] });
    const effects = solo.receive(
      append(2, 2, 1, 1, [configurationEntry(2, 2, NEXT)]),
      append(3, 3, 1, 1, [entry(2, 3)]),
    );
    expect(effects.configuration).toBeUndefined();
    expect(textOf(solo.raft.configuration)).toBe(textOf(members([1, 2, 3], [4])));
  });

  it("counts after a restart, committed or not", () => {
    const entries = [...log(1), configurationEntry(2, 1, NEXT)];
    const solo = new Solo({ entries });
    expect(solo.raft.configuration).toEqual(NEXT);
    const asked = ofType(solo.after(150).sendNow, "preVote").map(({ to }) => to);
    // Connected to 2 and 3 only, since it knew no others at its start.
    expect(asked.sort()).toEqual([2, 3]);
    const up = solo.turn({ type: "peerUp", peer: 4, epoch: 40 });
    expect(ofType(up.sendNow, "preVote").map(({ to }) => to)).toEqual([4]);
  });

  it("decides at once what the leader commits", () => {
    const solo = leading();
    const { write } = solo.turn(change(9, [1, 4]));
    solo.persisted(write?.seq ?? 0);
    // A majority of the three before, and not of the two to be.
    expect(solo.receive(accept(2, 1, 2), accept(3, 1, 2)).applyTo).toBe(1);
    expect(solo.receive(accept(4, 1, 2)).applyTo).toBe(2);
  });

  it("of a snapshot counts for a log that goes on after it", () => {
    const solo = new Solo({ baseIndex: 10, baseTerm: 3, term: 3, configuration: NEXT });
    expect(solo.raft.configuration).toEqual(NEXT);
    const later = members([1, 2, 4]);
    solo.receive(append(2, 3, 10, 3, [configurationEntry(11, 3, later)]));
    expect([solo.raft.configuration, solo.raft.configurationAt(10)]).toEqual([later, NEXT]);
  });

  it("refuses bytes that do not decode as a configuration: the append is nobody's", () => {
    const solo = new Solo({ entries: log(1) });
    const nonsense = { ...configurationEntry(2, 2, NEXT), data: new Uint8Array([1, 2, 3]) };
    const nobody = configurationEntry(2, 2, NO_MEMBERS);
    for (const impossible of [nonsense, nobody]) {
      expect(solo.receive(append(2, 2, 1, 1, [impossible])).write).toBeUndefined();
    }
    expect(solo.raft.lastIndex).toBe(1);
  });
});

describe("rule 10: a voter does not ask its own configuration", () => {
  it.each([
    ["takes itself for a learner", members([2, 3], [1])],
    ["knows no member at all", NO_MEMBERS],
    ["does not know the candidate", members([1, 3])],
  ])("when it %s", (_, configuration) => {
    const solo = new Solo({ configuration });
    const pre = solo.receive(voteRequest("preVote", 2, 5, 0, 0));
    expect(pre.sendNow).toMatchObject([{ type: "preVoteReply", granted: true, term: 5 }]);
    const { sendAfter } = solo.receive(voteRequest("vote", 2, 5, 0, 0));
    expect(sendAfter).toMatchObject([{ message: { type: "voteReply", granted: true } }]);
  });

  it("so that a promoted learner that was not told elects a leader", () => {
    const cluster = new Cluster({ size: 2, spares: 1 });
    cluster.startAll();
    const leader = cluster.electLeader().id;
    const other = leader === 1 ? 2 : 1;
    cluster.advance(50);
    cluster.change(leader, [1, 2], [3]);
    cluster.advance(50);
    cluster.block(leader, 3);
    cluster.change(leader, [1, 2, 3]);
    cluster.settle();
    expect(textOf(cluster.raft(other).configuration)).toBe("1,2,3 /  / ");
    expect(textOf(cluster.raft(3).configuration)).toBe("1,2 /  / 3");
    cluster.crash(leader);
    cluster.advance(500);
    expect(cluster.raft(other).role).toBe("leader");
    expect(textOf(cluster.raft(3).configuration)).toBe("1,2,3 /  / ");
  });

  it("but who may stand, it does ask: neither a learner nor a stranger asks for votes", () => {
    for (const configuration of [members([2, 3], [1]), members([2, 3]), NO_MEMBERS]) {
      const solo = new Solo({ configuration, peers: [2, 3] });
      for (let count = 0; count < 5; count += 1) {
        expect(ofType(solo.after(150).sendNow, "preVote")).toEqual([]);
      }
      expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 0]);
    }
  });
});

describe("an election in the middle of a change", () => {
  it.each([
    ["the new voters alone", [4, 5], [2]],
    ["the old voters alone", [2, 3], [4]],
  ])("is not won by %s", (_, half, missing) => {
    const solo = new Solo({ configuration: joint([1, 4, 5], [1, 2, 3]), term: 3 });
    solo.after(150);
    solo.receive(...half.map((id) => ballot("preVoteReply", id, 4)));
    expect(solo.raft.role).toBe("preCandidate");
    const asked = solo.receive(...missing.map((id) => ballot("preVoteReply", id, 4)));
    solo.persisted(asked.write?.seq ?? 0);
    solo.receive(...half.map((id) => ballot("voteReply", id, 4)));
    expect(solo.raft.role).toBe("candidate");
    solo.receive(...missing.map((id) => ballot("voteReply", id, 4)));
    expect(solo.raft.role).toBe("leader");
  });
});

describe("rule 13: a leader that has lost the new half", () => {
  it("steps down although a majority of the old voters answers", () => {
    const solo = leading();
    const { write } = solo.turn(change(9, [1, 4]));
    solo.persisted(write?.seq ?? 0);
    let round = 1;
    while (solo.raft.role === "leader" && round < 50) {
      const [beat] = ofType(solo.after(20).sendNow, "heartbeat").filter(({ to }) => to === 2);
      round += 1;
      if (beat === undefined) continue;
      for (const from of [2, 3]) {
        const { term, round: asked } = beat;
        const epoch = from * 10;
        solo.receive({ type: "heartbeatReply", from, to: 1, term, epoch, round: asked });
      }
    }
    expect(solo.raft.role).toBe("follower");
    expect(round).toBeLessThanOrEqual(6);
  });
});

describe("rule 25: a member that left and comes back", () => {
  it("is asked again where its log ends: it may have come back with an empty disk", () => {
    const solo = leading();
    const joined = solo.turn(change(9, [1, 2]));
    solo.persisted(joined.write?.seq ?? 0);
    const ended = solo.receive(accept(2, 1, 2), accept(3, 1, 2));
    solo.persisted(ended.write?.seq ?? 0);
    // Node 3 never learns that it left, and is another process when it connects again.
    solo.receive(accept(2, 1, 3));
    expect(solo.raft.commitIndex).toBe(3);
    solo.turn({ type: "peerUp", peer: 3, epoch: 31 });
    expect(solo.turn(change(10, [1, 2], [3])).accepted).toMatchObject([{ index: 4 }]);
    const back = solo.raft.peers.find(({ id }) => id === 3);
    expect(back).toMatchObject({ isLearner: true, mode: "probe", matchIndex: 0 });
  });
});

describe("a node that belongs to nothing", () => {
  it("takes what a leader gives it, its configuration included", () => {
    const solo = new Solo({ configuration: NO_MEMBERS, peers: [2] });
    expect(Number.isFinite(solo.turn().nextDeadlineMs)).toBe(true);
    solo.receive(heartbeat(2, 3));
    const entries = [...log(1, 1), configurationEntry(3, 3, members([2], [1]))];
    const effects = solo.receive(append(2, 3, 0, 0, entries, 3));
    expect(effects.configuration).toEqual(members([2], [1]));
    expect([effects.applyTo, solo.raft.leader]).toEqual([3, 2]);
  });
});

describe("rule 29: a follower believes a configuration that follows by one legal step", () => {
  const addressed = (address: string) => ({
    ...members([1, 2, 3]),
    addresses: [{ id: 1, address }, ...members([2, 3]).addresses],
  });
  /** Bytes that `encodeConfiguration` would not make. */
  function impossible(address: string): Uint8Array {
    const data = encodeConfiguration(addressed("y".repeat(address.length - 2).concat(":1")));
    const at = Buffer.from(data).indexOf("y".repeat(address.length - 2).concat(":1"));
    return Uint8Array.from(Buffer.from(data).fill(address, at, at + address.length));
  }

  const illegal: readonly (readonly [string, Configuration])[] = [
    ["other voters at once", members([99])],
    ["a voter less at once", members([1, 2])],
    ["a voter that was not a learner", joint([1, 2, 3, 99], [1, 2, 3], [4])],
    ["other voters before than there were", joint([1, 2], [1, 2], [4])],
    ["a change to the same voters", joint([1, 2, 3], [1, 2, 3], [4])],
  ];
  it.each(illegal)("and none with %s: it asks for a snapshot", (_, configuration) => {
    const solo = new Solo({ entries: log(1), learners: [4] });
    const message = append(2, 2, 1, 1, [entry(2, 2), configurationEntry(3, 2, configuration)]);
    const effects = solo.receive(message);
    expect(effects.write?.entries ?? []).toEqual([]);
    expect(effects.sendNow).toMatchObject([{ success: false, needsSnapshot: true, hintIndex: 0 }]);
    expect(textOf(solo.raft.configuration)).toBe(textOf(members([1, 2, 3], [4])));
    expect(solo.raft.lastIndex).toBe(1);
  });

  it("nor an end of a change that is not the one that was begun", () => {
    const begun = configurationEntry(2, 2, joint([1, 2, 4], [1, 2, 3]));
    for (const ended of [members([1, 2]), members([1, 2, 4], [3]), members([1, 2, 3, 4])]) {
      const solo = new Solo({ entries: log(1), learners: [4] });
      const message = append(2, 2, 1, 1, [begun, configurationEntry(3, 2, ended)]);
      expect(solo.receive(message).sendNow).toMatchObject([{ needsSnapshot: true }]);
      expect(solo.raft.lastIndex).toBe(1);
      solo.receive(append(2, 2, 1, 1, [begun, configurationEntry(3, 2, members([1, 2, 4]))]));
      expect(textOf(solo.raft.configuration)).toBe("1,2,4 /  / ");
    }
  });

  it("measures it from what stays of its log, not from what is cut", () => {
    const cut = configurationEntry(2, 1, joint([1, 2, 4], [1, 2, 3]));
    const solo = new Solo({ entries: [...log(1), cut], learners: [4] });
    const next = configurationEntry(2, 2, members([1, 2, 3], [4, 5]));
    expect(solo.receive(append(2, 2, 1, 1, [next])).sendNow).toEqual([]);
    expect(textOf(solo.raft.configuration)).toBe("1,2,3 /  / 4,5");
  });

  it("takes whatever comes first if it does not know its members", () => {
    const solo = new Solo({ configuration: NO_MEMBERS });
    solo.receive(append(2, 2, 0, 0, [configurationEntry(1, 2, joint([1, 2, 9], [2, 9]))]));
    expect(textOf(solo.raft.configuration)).toBe("1,2,9 / 2,9 / ");
  });

  it.each(["x", "x y:1", "a:0", "a:65536", "a/b:1", "[1]:1", ":1", "a@b:1", "a:1\n"])(
    "nor one with the address %j, which cannot be dialed",
    (address) => {
      const solo = new Solo({ entries: log(1) });
      const data = impossible(address.padEnd(3, " "));
      const message = append(2, 2, 1, 1, [{ ...entry(2, 2), kind: "configuration", data }]);
      solo.receive(message);
      expect(solo.raft.lastIndex).toBe(1);
      expect(() => encodeConfiguration(addressed(address))).toThrow(/impossible address of node 1/);
    },
  );
});
