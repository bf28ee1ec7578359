/**
 * Transcripts of replication: pipelining, windows, probes, and how followers learn the commit
 * index.
 */
import { describe, expect, it } from "vitest";
import type { AppendRequest, Effects } from "../../src/raft/index.js";
import { Cluster } from "./cluster/cluster.js";
import { accept, append, entry, heartbeat, log, ofType, reject, Solo } from "./cluster/solo.js";

const appendsTo = (effects: Effects, to: number) =>
  ofType(effects.sendNow, "append")
    .filter((message) => message.to === to)
    .map(({ prevLogIndex, entries }) => [prevLogIndex, entries.length]);

/** Leads term 1 with the noop at 1 known to be at both peers. */
function leading(config = {}): Solo {
  const solo = new Solo({ config });
  const won = solo.becomeLeader();
  solo.persisted(won.write?.seq ?? 0);
  solo.receive(accept(2, 1, 1), accept(3, 1, 1));
  return solo;
}

describe("a leader", () => {
  it("sends the proposals of a turn together, to everybody, before its disk has them", () => {
    const solo = leading();
    const effects = solo.turn(
      { type: "propose", id: 8, data: new Uint8Array(1) },
      { type: "propose", id: 9, data: new Uint8Array(1) },
    );
    expect(effects.accepted).toEqual([
      { id: 8, index: 2, term: 1 },
      { id: 9, index: 3, term: 1 },
    ]);
    expect([appendsTo(effects, 2), appendsTo(effects, 3)]).toEqual([[[1, 2]], [[1, 2]]]);
    expect(effects.write?.entries.length).toBe(2);
    expect([solo.raft.uncommittedEntries, solo.raft.uncommittedBytes]).toEqual([2, 2]);
  });

  it("counts itself only when its own write is durable", () => {
    const solo = leading();
    const { write } = solo.propose(1);
    expect(solo.receive(accept(2, 1, 2)).applyTo).toBe(1);
    expect(solo.persisted(write?.seq ?? 0).applyTo).toBe(2);
    expect([solo.raft.uncommittedEntries, solo.raft.uncommittedBytes]).toEqual([0, 0]);
  });

  it("commits through its peers while its own disk is slow", () => {
    const solo = leading();
    solo.propose(1);
    expect(solo.receive(accept(2, 1, 2), accept(3, 1, 2)).applyTo).toBe(2);
  });

  it("pipelines appends, then waits when the window of messages is full", () => {
    const solo = leading({ inflightMessagesMax: 2 });
    expect(appendsTo(solo.propose(1), 2)).toEqual([[1, 1]]);
    expect(appendsTo(solo.propose(2), 2)).toEqual([[2, 1]]);
    expect(appendsTo(solo.propose(3), 2)).toEqual([]);
    expect(appendsTo(solo.propose(4), 2)).toEqual([]);
    expect(appendsTo(solo.receive(accept(2, 1, 2)), 2)).toEqual([[3, 2]]);
  });

  it("never has more bytes in flight than the window, nor in one append than the limit", () => {
    const solo = leading({ inflightBytesMax: 100, appendBytesMax: 60 });
    const inputs = [1, 2, 3, 4, 5].map(
      (id) => ({ type: "propose", id, data: new Uint8Array(30) }) as const,
    );
    expect(appendsTo(solo.turn(...inputs), 2)).toEqual([
      [1, 2],
      [3, 1],
    ]);
    expect(appendsTo(solo.receive(accept(2, 1, 3)), 2)).toEqual([[4, 2]]);
  });

  it("sends an entry larger than every limit alone", () => {
    const solo = leading({ inflightBytesMax: 100, appendBytesMax: 60 });
    expect(appendsTo(solo.propose(1, 500), 2)).toEqual([[1, 1]]);
    expect(appendsTo(solo.propose(2, 1), 2)).toEqual([]);
    expect(appendsTo(solo.receive(accept(2, 1, 2)), 2)).toEqual([[2, 1]]);
  });

  it("announces a new commit index at once, without asking for an answer", () => {
    const solo = leading();
    const { write } = solo.propose(1);
    solo.persisted(write?.seq ?? 0);
    const effects = solo.receive(accept(2, 1, 2));
    expect(effects.sendNow).toMatchObject([{ type: "heartbeat", to: 2, commitIndex: 2, round: 0 }]);
    // Node 3 has not acknowledged the entry and must not be told to commit it.
    expect(solo.receive(accept(3, 1, 2)).sendNow).toMatchObject([{ to: 3, commitIndex: 2 }]);
  });

  it("lets an append of the same turn carry the commit index", () => {
    const solo = leading();
    const { write } = solo.propose(1);
    solo.persisted(write?.seq ?? 0);
    const effects = solo.turn(
      { type: "message", message: accept(2, 1, 2) },
      { type: "propose", id: 2, data: new Uint8Array(1) },
    );
    expect(ofType(effects.sendNow, "append").map(({ commitIndex }) => commitIndex)).toEqual([2, 2]);
    expect(ofType(effects.sendNow, "heartbeat")).toEqual([]);
  });

  it("caps the commit index of its heartbeats at what the peer acknowledged", () => {
    const solo = leading();
    const { write } = solo.propose(1);
    solo.persisted(write?.seq ?? 0);
    solo.receive(accept(2, 1, 2));
    const beats = ofType(solo.after(20).sendNow, "heartbeat");
    expect(beats.map(({ to, commitIndex }) => [to, commitIndex])).toEqual([
      [2, 2],
      [3, 1],
    ]);
    expect(beats.every(({ round }) => round > 0)).toBe(true);
  });

  it("refuses as busy beyond the limit of uncommitted bytes, and goes on after a commit", () => {
    const solo = leading({ uncommittedBytesMax: 10 });
    const { write } = solo.propose(1, 10);
    expect(solo.propose(2, 1).refused).toEqual([{ id: 2, reason: "busy" }]);
    solo.receive(accept(2, 1, 2));
    solo.persisted(write?.seq ?? 0);
    expect(solo.propose(3, 1).accepted).toMatchObject([{ id: 3, index: 3 }]);
  });
});

describe("rule 25: answers are matched to what was sent", () => {
  it("a new connection starts again after the last acknowledged entry", () => {
    const solo = leading();
    solo.propose(1);
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: false });
    expect(appendsTo(solo.propose(2), 2)).toEqual([]);
    const effects = solo.turn({ type: "peerUp", peer: 2, epoch: 21 });
    expect(appendsTo(effects, 2)).toEqual([[1, 2]]);
    expect(ofType(effects.sendNow, "append")[0]?.epoch).toBe(21);
    expect(appendsTo(solo.propose(3), 2)).toEqual([]);
    expect(appendsTo(solo.receive(accept(2, 1, 3, 21)), 2)).toEqual([[3, 1]]);
  });

  it("announces the commit index again on a new connection: it may have been lost", () => {
    const solo = leading();
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: false });
    const effects = solo.turn({ type: "peerUp", peer: 2, epoch: 21 });
    expect(effects.sendNow).toMatchObject([{ type: "heartbeat", to: 2, commitIndex: 1 }]);
  });

  it("answers of an earlier connection count for nothing", () => {
    const solo = leading();
    const { write } = solo.propose(1);
    solo.persisted(write?.seq ?? 0);
    solo.turn({ type: "peerUp", peer: 2, epoch: 21 });
    solo.receive(accept(2, 1, 2, 20));
    expect(solo.raft.commitIndex).toBe(1);
    expect(solo.raft.peers[0]).toMatchObject({ mode: "probe", matchIndex: 1 });
  });

  it("match never goes back, and nothing beyond the log is believed", () => {
    const solo = leading();
    solo.propose(1);
    solo.propose(2);
    solo.receive(accept(2, 1, 3), accept(2, 1, 2), accept(3, 1, 99));
    expect(solo.raft.peers.map(({ matchIndex }) => matchIndex)).toEqual([3, 1]);
    solo.receive(reject(2, 1, 2, 0, 0));
    expect(solo.raft.peers[0]).toMatchObject({ mode: "replicate", matchIndex: 3 });
  });

  it("an answer that was lost is asked for again, without entries", () => {
    const solo = leading();
    solo.propose(1);
    const reply = { type: "heartbeatReply", from: 2, to: 1, term: 1, epoch: 20, round: 1 } as const;
    expect(appendsTo(solo.receive(reply), 2)).toEqual([]);
    expect(appendsTo(solo.after(20, { type: "message", message: reply }), 2)).toEqual([[2, 0]]);
    expect(appendsTo(solo.receive(reply), 2)).toEqual([]);
    solo.receive(accept(2, 1, 2));
    expect(appendsTo(solo.after(20, { type: "message", message: reply }), 2)).toEqual([]);
  });
});

describe("a follower", () => {
  it("acknowledges after the record that holds the entries and the term", () => {
    const solo = new Solo();
    const effects = solo.receive(append(2, 3, 0, 0, log(1, 3)));
    expect(effects.write).toMatchObject({ seq: 1, hardState: { term: 3, vote: 0 } });
    expect(effects.write?.entries.length).toBe(2);
    expect(effects.sendNow).toEqual([]);
    expect(effects.sendAfter).toMatchObject([
      { seq: 1, message: { success: true, matchIndex: 2, term: 3, epoch: 7 } },
    ]);
  });

  it("rule 2: commits at most the previous entry plus the entries of the message", () => {
    const solo = new Solo({ entries: log(1, 1, 1, 1) });
    expect(solo.receive(append(2, 2, 2, 1, [], 4)).applyTo).toBe(2);
    expect(solo.receive(append(2, 2, 2, 1, [entry(3, 1)], 4)).applyTo).toBe(3);
  });

  it("rule 3: skips entries it has, so that an old append removes nothing", () => {
    const solo = new Solo({ entries: log(1, 1, 1, 1) });
    const effects = solo.receive(append(2, 1, 0, 0, log(1, 1)));
    expect(effects.write).toBeUndefined();
    expect(effects.sendAfter).toMatchObject([{ message: { success: true, matchIndex: 2 } }]);
    expect(solo.raft.lastIndex).toBe(4);
  });

  it("rule 3: removes nothing at or below its commit, whatever a peer claims", () => {
    const solo = new Solo({ entries: log(1, 1, 1) });
    solo.receive(append(2, 2, 3, 1, [], 3));
    const effects = solo.receive(append(2, 2, 1, 1, [entry(2, 2)]));
    expect([effects.write, effects.sendAfter]).toEqual([undefined, []]);
    expect(solo.raft.lastIndex).toBe(3);
  });

  it.each([
    ["entries that contradict what it has committed", append(2, 2, 1, 1, [entry(2, 2)])],
    ["a predecessor that contradicts what it has committed", append(2, 3, 2, 2, [entry(3, 3)])],
  ])("rule 30: asks for a snapshot after its commit on %s", (_, message) => {
    const solo = new Solo({ entries: log(1, 1, 1) });
    solo.receive(append(2, 2, 3, 1, [], 3));
    expect(solo.receive(message).sendNow).toMatchObject([
      { type: "appendReply", success: false, needsSnapshot: true, hintIndex: 3, hintTerm: 1 },
    ]);
    expect(solo.raft.lastIndex).toBe(3);
  });

  it("rule 30: asks for a snapshot if its caller cannot apply the entries", () => {
    const solo = new Solo({ entries: log(1, 1), term: 2 });
    const message = append(2, 2, 2, 1, [entry(3, 2)]);
    const unusable = (change: Partial<AppendRequest>) =>
      solo.turn({ type: "unusable", message: { ...message, ...change } });
    const asked = unusable({});
    expect(asked.sendNow).toMatchObject([{ needsSnapshot: true, hintIndex: 0, epoch: 7 }]);
    expect([solo.raft.leader, solo.raft.lastIndex]).toEqual([2, 2]);
    // A leader of an earlier term learns the current one, and a second one of this term nothing.
    expect(unusable({ term: 1, entries: [] }).sendNow).toMatchObject([
      { needsSnapshot: false, term: 2 },
    ]);
    expect(unusable({ from: 3 }).sendNow).toEqual([]);
  });

  it("answers heartbeats that ask for it, at once", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const effects = solo.receive(heartbeat(2, 4, 1, 9));
    expect(effects.sendNow).toMatchObject([{ type: "heartbeatReply", round: 9, term: 4 }]);
    expect(effects.applyTo).toBe(1);
    expect(solo.receive(heartbeat(2, 4, 2, 0)).sendNow).toEqual([]);
    expect(solo.raft.commitIndex).toBe(2);
  });

  it("takes entries on top of a log that does not begin at its beginning", () => {
    const solo = new Solo({ baseIndex: 10, baseTerm: 3, term: 3 });
    expect([solo.raft.commitIndex, solo.raft.lastTerm]).toEqual([10, 3]);
    const entries = [9, 10, 11].map((index) => entry(index, 3));
    const effects = solo.receive(append(2, 3, 8, 3, entries, 11));
    expect(effects.write?.entries.map(({ index }) => index)).toEqual([11]);
    expect(effects.applyTo).toBe(11);
    const early = solo.receive(append(2, 3, 4, 1, [entry(5, 1)]));
    expect(early.sendAfter).toMatchObject([{ message: { success: true, matchIndex: 5 } }]);
  });

  it("refuses proposals, since it does not lead", () => {
    expect(new Solo().propose(5).refused).toEqual([{ id: 5, reason: "notLeader" }]);
  });
});

describe("a cluster", () => {
  it("brings an entry to every node and applies it without waiting for a heartbeat", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const leader = cluster.electLeader();
    cluster.advance(100);
    for (let count = 0; count < 20; count += 1) cluster.propose(leader.id);
    cluster.settle();
    for (const node of cluster.nodes) expect(node.applied.length).toBe(21);
  });

  it("catches a follower up that was away, and leaves the others alone meanwhile", () => {
    const cluster = new Cluster({ size: 3, config: { appendBytesMax: 40 } });
    cluster.startAll();
    const leader = cluster.electLeader();
    const away = leader.id === 3 ? 2 : 3;
    cluster.crash(away);
    for (let count = 0; count < 50; count += 1) {
      cluster.propose(leader.id);
      cluster.settle();
    }
    expect(leader.applied.length).toBe(51);
    cluster.start(away);
    cluster.settle();
    expect(cluster.node(away).applied).toEqual(leader.applied);
  });
});
