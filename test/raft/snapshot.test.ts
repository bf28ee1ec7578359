/** Snapshots and compaction: rules 23 and 24, and what a record may say about them. */
import { describe, expect, it } from "vitest";
import type { Effects, Input, InstalledSnapshot, Message } from "../../src/raft/index.js";
import { Cluster } from "./cluster/cluster.js";
import { configurationEntry, members } from "./cluster/configurations.js";
import { accept, append, entry, log, ofType, reject, Solo, termsOf } from "./cluster/solo.js";

const CHECKSUM = "ab".repeat(32);

function snapshot(index: number, term: number, configuration = members([1, 2, 3])) {
  return { index, term, checksum: CHECKSUM, configuration } satisfies InstalledSnapshot;
}

const received = (from: number, term: number, installed: InstalledSnapshot): Input => ({
  type: "snapshotReceived",
  from,
  term,
  epoch: 7,
  snapshot: installed,
});

const compacting = (index: number, term: number, keepFrom: number): Input => ({
  type: "compact",
  snapshot: { index, term, checksum: CHECKSUM },
  keepFrom,
});

/** Everything up to `index` is committed and applied, as the follower of node 2. */
function applied(solo: Solo, index: number, term: number): Solo {
  solo.receive(append(2, solo.raft.term, index, term, [], index));
  solo.turn({ type: "applied", index });
  expect(solo.raft.appliedIndex).toBe(index);
  return solo;
}

/** Leads term 3 with a log that begins after entry 4. */
function leading(): Solo {
  const solo = new Solo({ entries: log(1, 1, 2, 2, 2), term: 2 });
  const won = solo.becomeLeader();
  solo.persisted(won.write?.seq ?? 0);
  solo.receive(accept(3, 3, 6));
  solo.turn({ type: "applied", index: 6 });
  const cut = solo.turn(compacting(5, 2, 5));
  solo.persisted(cut.write?.seq ?? 0);
  expect([solo.raft.baseIndex, solo.raft.snapshotIndex]).toEqual([4, 5]);
  return solo;
}

const appendsTo = (effects: Effects, to: number) =>
  ofType(effects.sendNow, "append").filter((message) => message.to === to);

describe("a snapshot taken here", () => {
  it("is named by the turn's record; the beginning goes when that is durable", () => {
    const solo = applied(new Solo({ entries: log(1, 1, 2, 2) }), 3, 2);
    const { write } = solo.turn(compacting(3, 2, 3));
    expect(write).toEqual({
      seq: 1,
      hardState: undefined,
      truncateFrom: undefined,
      snapshot: { index: 3, term: 2, checksum: CHECKSUM, isReset: false, keepFrom: 3 },
      entries: [],
    });
    expect([solo.raft.baseIndex, solo.raft.snapshotIndex]).toEqual([0, 0]);
    solo.persisted(1);
    expect([solo.raft.baseIndex, solo.raft.baseTerm, solo.raft.snapshotIndex]).toEqual([2, 1, 3]);
    expect(termsOf(solo.raft)).toEqual([2, 2]);
  });

  it("keeps what the trailing window asks for, and never asks for what is gone", () => {
    const solo = applied(new Solo({ entries: log(1, 1, 1, 1) }), 4, 1);
    const first = solo.turn(compacting(2, 1, 3));
    const second = solo.turn(compacting(3, 1, 2));
    expect([first.write?.snapshot?.keepFrom, second.write?.snapshot?.keepFrom]).toEqual([3, 3]);
    solo.persisted(second.write?.seq ?? 0);
    expect(solo.raft.baseIndex).toBe(2);
  });

  it("rule 23: older than what the log stands on is ignored", () => {
    const solo = applied(new Solo({ entries: log(1, 1, 1, 1) }), 4, 1);
    solo.turn(compacting(3, 1, 1));
    expect(solo.turn(compacting(2, 1, 1)).write).toBeUndefined();
    expect(solo.turn(compacting(3, 1, 1)).write).toBeUndefined();
  });

  it("of something that was not applied is the driver's mistake", () => {
    const solo = applied(new Solo({ entries: log(1, 1, 1) }), 2, 1);
    expect(() => solo.turn(compacting(3, 1, 1))).toThrow(/snapshot 3, applied 2/);
    const other = applied(new Solo({ entries: log(1, 1, 1) }), 2, 1);
    expect(() => other.turn(compacting(2, 7, 1))).toThrow(/snapshot 2 of term 7/);
    const greedy = applied(new Solo({ entries: log(1, 1, 1) }), 2, 1);
    expect(() => greedy.turn(compacting(2, 1, 4))).toThrow(/kept from 4/);
  });
});

describe("rule 23: the install of a snapshot is a barrier", () => {
  it("resets the log in one record, restores, and answers when that is durable", () => {
    const solo = new Solo({ entries: log(1, 1), term: 3 });
    const installed = snapshot(9, 3, members([1, 2], [3]));
    const effects = solo.turn(received(2, 3, installed));
    expect(effects.write).toMatchObject({
      seq: 1,
      snapshot: { index: 9, term: 3, checksum: CHECKSUM, isReset: true, keepFrom: 10 },
      entries: [],
    });
    expect([effects.restore, effects.configuration]).toEqual([installed, installed.configuration]);
    expect(effects.sendNow).toEqual([]);
    expect(effects.sendAfter).toMatchObject([
      { seq: 1, message: { type: "appendReply", to: 2, epoch: 7, success: true, matchIndex: 9 } },
    ]);
    const { baseIndex, lastIndex, commitIndex, appliedIndex, lastTerm } = solo.raft;
    expect([baseIndex, lastIndex, commitIndex, appliedIndex, lastTerm]).toEqual([9, 9, 9, 9, 3]);
  });

  it("carries the term of its leader in the same record", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const { write } = solo.turn(received(2, 5, snapshot(9, 4)));
    expect(write).toMatchObject({
      hardState: { term: 5, vote: 0 },
      snapshot: { index: 9, isReset: true },
    });
    expect([solo.raft.term, solo.raft.leader]).toEqual([5, 2]);
  });

  it("takes entries after it in the same turn, written after the reset", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const next = append(2, 5, 9, 4, [entry(10, 5)], 10);
    const { write, applyTo, sendAfter } = solo.turn(received(2, 5, snapshot(9, 4)), {
      type: "message",
      message: next,
    });
    expect(write?.snapshot).toMatchObject({ index: 9, keepFrom: 10 });
    expect(write?.entries).toEqual([entry(10, 5)]);
    expect(applyTo).toBe(10);
    expect(sendAfter.map(({ message }) => message)).toMatchObject([
      { matchIndex: 9 },
      { matchIndex: 10 },
    ]);
  });

  it("an older transfer never replaces a newer install, whichever comes when", () => {
    const solo = new Solo({ entries: log(1, 1) });
    solo.turn(received(2, 5, snapshot(9, 4)));
    const late = solo.turn(received(2, 5, snapshot(7, 4)));
    expect([late.write, late.restore]).toEqual([undefined, undefined]);
    solo.persisted(1);
    const older = solo.turn(received(2, 5, snapshot(7, 4)));
    expect([older.write, older.restore]).toEqual([undefined, undefined]);
    expect(older.sendAfter).toMatchObject([{ message: { success: true, matchIndex: 7 } }]);
    const later = solo.turn(received(2, 5, snapshot(9, 4)));
    expect([later.write, later.restore]).toEqual([undefined, undefined]);
    // It learns where this node stands, so that the transfer ends.
    expect(later.sendAfter).toMatchObject([{ message: { success: true, matchIndex: 9 } }]);
    const taken = solo.turn(compacting(5, 1, 1));
    expect(taken.write).toBeUndefined();
    expect(solo.raft.baseIndex).toBe(9);
  });

  it("there is no second install before the first is durable", () => {
    const solo = new Solo({ entries: log(1, 1) });
    solo.turn(received(2, 5, snapshot(9, 4)));
    const newer = solo.turn(received(2, 5, snapshot(12, 5)));
    expect([newer.write, newer.restore]).toEqual([undefined, undefined]);
    expect(newer.sendAfter).toMatchObject([{ message: { success: true, matchIndex: 9 } }]);
    solo.persisted(1);
    expect(solo.turn(received(2, 5, snapshot(12, 5))).restore?.index).toBe(12);
  });

  it("keeps a log that has all of it: only the commit index moves", () => {
    const solo = new Solo({ entries: log(1, 1, 2, 2), term: 2 });
    const effects = solo.turn(received(2, 2, snapshot(3, 2)));
    expect([effects.write, effects.restore, effects.applyTo]).toEqual([undefined, undefined, 3]);
    expect(solo.raft.lastIndex).toBe(4);
    expect(effects.sendAfter).toMatchObject([{ message: { matchIndex: 3 } }]);
  });

  it("replaces a longer log that says something else there", () => {
    const solo = new Solo({ entries: log(1, 1, 2, 2, 2), term: 2 });
    const effects = solo.turn(received(2, 4, snapshot(3, 3)));
    expect(effects.write?.snapshot).toMatchObject({ index: 3, isReset: true });
    expect(termsOf(solo.raft)).toEqual([]);
  });

  it.each<[string, number, number, InstalledSnapshot]>([
    ["a leader of the past", 2, 4, snapshot(9, 4)],
    ["somebody else than the leader", 3, 5, snapshot(9, 4)],
    ["a term that the leader cannot know", 2, 5, snapshot(9, 6)],
    ["itself", 1, 5, snapshot(9, 4)],
    ["a leader of nobody", 2, 5, snapshot(9, 4, members([]))],
    ["a leader that lacks what is committed here", 2, 5, snapshot(9, 1)],
  ])("is not begun for %s", (_, from, term, installed) => {
    const solo = applied(new Solo({ entries: log(1, 4), term: 5 }), 2, 4);
    const { write, restore, sendAfter } = solo.turn(received(from, term, installed));
    expect([write, restore, sendAfter]).toEqual([undefined, undefined, []]);
  });

  it("keeps the node from standing until the table is whole", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const { write } = solo.turn(received(2, 5, snapshot(9, 4)));
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: true });
    solo.persisted(write?.seq ?? 0);
    for (let timeouts = 0; timeouts < 3; timeouts += 1) {
      expect(solo.after(150).sendNow).toEqual([]);
      expect(solo.raft.role).toBe("follower");
    }
    solo.turn({ type: "applied", index: 9 });
    expect(ofType(solo.after(150).sendNow, "preVote")).toMatchObject([
      { to: 3, lastLogIndex: 9, lastLogTerm: 4 },
    ]);
  });

  it("keeps the node from taking over what the leader hands it", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const { write } = solo.turn(received(2, 5, snapshot(9, 4)));
    solo.persisted(write?.seq ?? 0);
    const order: Message = {
      ...{ type: "timeoutNow", from: 2, to: 1, term: 5, epoch: 7 },
      ...{ lastLogIndex: 9, lastLogTerm: 4 },
    };
    solo.receive(order);
    expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 5]);
    solo.turn({ type: "applied", index: 9 });
    solo.receive(order);
    expect([solo.raft.role, solo.raft.term]).toEqual(["candidate", 6]);
  });
});

describe("rule 24: a follower beyond the compacted log gets a snapshot", () => {
  it("asked for once per connection, and is not probed meanwhile", () => {
    const solo = leading();
    const effects = solo.receive(reject(2, 3, 5, 1, 1));
    expect(effects.snapshotsWanted).toEqual([{ peer: 2, epoch: 20, afterIndex: 0 }]);
    expect(solo.raft.peers[0]).toMatchObject({ mode: "snapshot", matchIndex: 0 });
    expect(appendsTo(effects, 2)).toEqual([]);
    const proposed = solo.propose(9);
    expect([appendsTo(proposed, 2), appendsTo(proposed, 3).length]).toEqual([[], 1]);
    const reply = { type: "heartbeatReply", from: 2, to: 1, term: 3, epoch: 20, round: 1 } as const;
    const beaten = solo.after(20, { type: "message", message: reply });
    expect([beaten.snapshotsWanted, appendsTo(beaten, 2)]).toEqual([[], []]);
    expect(ofType(beaten.sendNow, "heartbeat").map(({ to }) => to)).toEqual([2, 3]);
  });

  it("goes on with appends after it when it is installed", () => {
    const solo = leading();
    solo.receive(reject(2, 3, 5, 1, 1));
    const effects = solo.receive(accept(2, 3, 5));
    expect(appendsTo(effects, 2)).toMatchObject([{ prevLogIndex: 5, prevLogTerm: 2 }]);
    expect(solo.raft.peers[0]).toMatchObject({ mode: "replicate", matchIndex: 5 });
  });

  it("is probed again when the transfer was given up, and on a new connection", () => {
    const solo = leading();
    solo.receive(reject(2, 3, 5, 1, 1));
    expect(solo.turn({ type: "snapshotFailed", peer: 2, epoch: 19 }).sendNow).toEqual([]);
    const failed = solo.turn({ type: "snapshotFailed", peer: 2, epoch: 20 });
    expect(appendsTo(failed, 2)).toMatchObject([{ prevLogIndex: 4, prevLogTerm: 2 }]);
    expect(solo.receive(reject(2, 3, 4, 1, 1)).snapshotsWanted).toEqual([
      { peer: 2, epoch: 20, afterIndex: 0 },
    ]);
    const up = solo.turn({ type: "peerUp", peer: 2, epoch: 21 });
    expect(appendsTo(up, 2)).toMatchObject([{ prevLogIndex: 4, epoch: 21 }]);
    const again = solo.receive({ ...reject(2, 3, 4, 1, 1), epoch: 21 });
    expect(again.snapshotsWanted).toEqual([{ peer: 2, epoch: 21, afterIndex: 0 }]);
  });

  it("rule 30: a follower that contradicts the log gets a snapshot after its commit, and no entries", () => {
    const solo = leading();
    const needs = (hintIndex: number) => ({
      ...reject(2, 3, 5, hintIndex, 2),
      needsSnapshot: true,
    });
    const asked = solo.receive(needs(9));
    expect(asked.snapshotsWanted).toEqual([{ peer: 2, epoch: 20, afterIndex: 9 }]);
    expect(solo.receive(needs(9)).snapshotsWanted).toEqual([]);
    // What it says to have is of no use as long as it is not beyond that.
    solo.receive(accept(2, 3, 5));
    expect(solo.raft.peers[0]).toMatchObject({ mode: "snapshot" });
    for (let id = 1; solo.raft.lastIndex < 10; id += 1) solo.propose(id);
    const installed = solo.receive(accept(2, 3, 10));
    expect(installed.snapshotsWanted).toEqual([]);
    expect(solo.raft.peers[0]).toMatchObject({ mode: "replicate", matchIndex: 10 });
  });

  it("when the log is cut while it is still being asked where it stands", () => {
    const solo = new Solo({ entries: log(1, 1, 2, 2), term: 2 });
    const won = solo.becomeLeader();
    solo.persisted(won.write?.seq ?? 0);
    solo.receive(accept(3, 3, 5));
    solo.turn({ type: "applied", index: 5 });
    solo.receive(reject(2, 3, 4, 1, 1));
    expect(solo.raft.peers[0]).toMatchObject({ mode: "probe", nextIndex: 2 });
    const cut = solo.turn(compacting(5, 3, 4));
    const effects = solo.persisted(cut.write?.seq ?? 0);
    expect(effects.snapshotsWanted).toEqual([{ peer: 2, epoch: 20, afterIndex: 0 }]);
  });

  it("whose answer to an earlier append comes late is believed, and still gets it", () => {
    const solo = leading();
    solo.receive(reject(2, 3, 5, 1, 1));
    solo.receive(accept(2, 3, 2));
    expect(solo.raft.peers[0]).toMatchObject({ mode: "snapshot", matchIndex: 2 });
    solo.receive(reject(2, 3, 4, 1, 1));
    expect(solo.raft.peers[0]).toMatchObject({ mode: "snapshot", matchIndex: 2 });
  });

  it("brings an empty node and one that was away to the leader's table", () => {
    const cluster = new Cluster({ size: 3, spares: 1 });
    cluster.startAll();
    const leader = cluster.electLeader();
    const away = leader.id === 3 ? 2 : 3;
    cluster.crash(away);
    for (let count = 0; count < 30; count += 1) cluster.propose(leader.id);
    cluster.settle();
    expect(cluster.compact(leader.id, 2)).toBe(true);
    cluster.settle();
    expect(leader.raft.baseIndex).toBe(29);
    cluster.advance(150);
    cluster.change(leader.id, [1, 2, 3], [4]);
    cluster.start(away);
    cluster.advance(50);
    cluster.propose(leader.id);
    cluster.settle();
    for (const { table, raft } of cluster.nodes) {
      expect([table, raft.commitIndex]).toEqual([leader.table, leader.raft.lastIndex]);
    }
    expect(cluster.node(4).disk.snapshotIndex).toBe(31);
  });
});

describe("a restart from a snapshot", () => {
  it("holds for applied and committed what the snapshot holds, and nothing more", () => {
    const configuration = members([1, 2]);
    const entries = [configurationEntry(3, 2, members([1, 2, 3])), ...log(1, 1, 1, 2, 2).slice(3)];
    const solo = new Solo({
      baseIndex: 2,
      baseTerm: 1,
      snapshotIndex: 4,
      entries: [...entries, configurationEntry(6, 2, configuration)],
      configuration: members([1, 2, 3]),
    });
    const { baseIndex, snapshotIndex, appliedIndex, commitIndex, lastIndex } = solo.raft;
    expect([baseIndex, snapshotIndex, appliedIndex, commitIndex, lastIndex]).toEqual([
      2, 4, 4, 4, 6,
    ]);
    expect([solo.raft.configuration, solo.raft.configurationAt(4)]).toEqual([
      configuration,
      members([1, 2, 3]),
    ]);
    expect(solo.turn().applyTo).toBe(4);
  });

  it("goes on from what it installed or took, whatever was durable of it", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const leader = cluster.electLeader();
    for (let count = 0; count < 10; count += 1) cluster.propose(leader.id);
    cluster.settle();
    for (const id of cluster.ids) cluster.compact(id, id);
    // One record durable, one not.
    cluster.crash(1, 1);
    cluster.crash(2);
    cluster.crash(3, 1);
    expect(cluster.nodes.map(({ disk }) => disk.snapshotIndex)).toEqual([11, 0, 11]);
    cluster.startAll();
    expect(cluster.nodes.map(({ raft }) => raft.commitIndex)).toEqual([11, 0, 11]);
    const next = cluster.electLeader();
    cluster.advance(50);
    for (const { table } of cluster.nodes) expect(table).toBe(next.table);
  });
});
