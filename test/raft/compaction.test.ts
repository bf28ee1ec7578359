/**
 * The beginning of the log is removed: in memory, on the disk, and for peers that still need it.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Input, SnapshotPoint } from "../../src/raft/index.js";
import { RaftLog } from "../../src/raft/log.js";
import { members } from "./cluster/configurations.js";
import { accept, append, entry, heartbeat, log, ofType, reject, Solo } from "./cluster/solo.js";

const CHECKSUM = "ab".repeat(32);

function point(index: number, term: number): SnapshotPoint {
  return { index, term, checksum: CHECKSUM };
}

function compact(index: number, term: number, keepFrom: number): Input {
  return { type: "compact", snapshot: point(index, term), keepFrom };
}

function received(index: number, term: number, leaderTerm: number, from = 2): Input {
  const snapshot = { ...point(index, term), configuration: members([1, 2, 3]) };
  return { type: "snapshotReceived", from, term: leaderTerm, epoch: 7, snapshot };
}

/** A follower of node 2 in term 2 that holds, committed and applied, `count` entries. */
function follower(count: number): Solo {
  const solo = new Solo({ term: 2 });
  const entries = log(...Array<number>(count).fill(2));
  const { write } = solo.receive(append(2, 2, 0, 0, entries, count));
  solo.persisted(write?.seq ?? 0);
  solo.turn({ type: "applied", index: count });
  return solo;
}

/** A leader of term 1 with `count` entries, committed by node 2 and applied. */
function leader(count: number): Solo {
  const solo = new Solo();
  solo.persisted(solo.becomeLeader().write?.seq ?? 0);
  for (let id = 2; id <= count; id += 1) {
    solo.persisted(solo.propose(id).write?.seq ?? 0);
    solo.receive(accept(2, 1, id));
  }
  solo.turn({ type: "applied", index: count });
  return solo;
}

describe("the log in memory", () => {
  it("holds after any cuts and growth what a list without gaps would hold", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("append", "compact", "truncate"), fc.nat()));
    fc.assert(
      fc.property(steps, (drawn) => {
        const held = new RaftLog(0, 0, []);
        let model = log(1, 1, 2, 2, 3);
        for (const each of model) held.append(each);
        let baseIndex = 0;
        for (const [kind, amount] of drawn) {
          const lastIndex = baseIndex + model.length;
          if (kind === "append") {
            model.push(entry(lastIndex + 1, 3));
            held.append(model.at(-1) ?? entry(0, 0));
          } else if (kind === "compact") {
            const to = baseIndex + (amount % (model.length + 1));
            held.slice(baseIndex + 1, lastIndex);
            held.compactTo(to);
            model = model.slice(to - baseIndex);
            baseIndex = to;
          } else if (model.length > 0) {
            const from = baseIndex + 1 + (amount % model.length);
            held.truncate(from);
            model.length = from - baseIndex - 1;
          }
          expect([held.baseIndex, held.lastIndex]).toEqual([baseIndex, baseIndex + model.length]);
          expect(held.slice(baseIndex + 1, held.lastIndex)).toEqual(model);
          expect(held.lastTerm).toBe(model.at(-1)?.term ?? held.baseTerm);
        }
      }),
    );
  });

  it("stands on what it was reset to", () => {
    const held = new RaftLog(0, 0, log(1, 1, 2));
    held.reset(9, 4);
    expect([held.baseIndex, held.baseTerm, held.lastIndex, held.lastTerm]).toEqual([9, 4, 9, 4]);
    expect([held.matches(9, 4), held.matches(3, 2)]).toEqual([true, false]);
    expect(() => held.append(entry(10, 3))).toThrow(/term 3 after term 4/);
    expect(() => held.reset(9, 4)).toThrow(/reset to 9/);
    expect(() => held.compactTo(10)).toThrow(/compaction to 10/);
  });
});

describe("a snapshot taken here", () => {
  it("is named by the record of the turn; the log is cut when that is durable", () => {
    const solo = follower(9);
    const { write } = solo.turn(compact(8, 2, 6));
    expect(write).toMatchObject({ entries: [], hardState: undefined, truncateFrom: undefined });
    expect(write?.snapshot).toEqual({ ...point(8, 2), isReset: false, keepFrom: 6 });
    expect([solo.raft.firstIndex, solo.raft.snapshotIndex]).toEqual([1, 0]);
    solo.persisted(write?.seq ?? 0);
    expect([solo.raft.firstIndex, solo.raft.snapshotIndex]).toEqual([6, 8]);
    expect(solo.raft.entries(6, 9)).toHaveLength(4);
    expect(() => solo.raft.entry(5)).toThrow(/no entry 5/);
  });

  it("is ignored when it is not newer than the one the log stands on", () => {
    const solo = follower(9);
    const { write } = solo.turn(compact(8, 2, 6));
    expect(solo.turn(compact(8, 2, 9)).write).toBeUndefined();
    solo.persisted(write?.seq ?? 0);
    expect(solo.turn(compact(5, 2, 5)).write).toBeUndefined();
    expect(solo.raft.firstIndex).toBe(6);
  });

  it("never asks back for what an earlier one let go", () => {
    const solo = follower(9);
    solo.turn(compact(4, 2, 5));
    expect(solo.turn(compact(8, 2, 2)).write?.snapshot).toMatchObject({ index: 8, keepFrom: 5 });
  });

  it("is the driver's mistake when it is of entries that were not applied or are others", () => {
    const solo = follower(3);
    expect(() => solo.raft.step(compact(4, 2, 1))).toThrow(/snapshot 4, applied 3/);
    expect(() => solo.raft.step(compact(3, 1, 1))).toThrow(/snapshot 3 of term 1/);
    expect(() => solo.raft.step(compact(3, 2, 5))).toThrow(/kept from 5/);
  });
});

describe("rule 24: a peer whose next entry is gone", () => {
  it("is asked for by the leader once a connection, and appended nothing until it has it", () => {
    const solo = leader(6);
    const { write } = solo.turn(compact(6, 1, 5));
    const cut = solo.persisted(write?.seq ?? 0);
    // Node 3 never answered: its probe stands at entry 1.
    expect(cut.snapshotsWanted).toEqual([{ peer: 3, epoch: 30, afterIndex: 0 }]);
    const later = solo.propose(7);
    expect(later.snapshotsWanted).toEqual([]);
    expect(ofType(later.sendNow, "append").map(({ to }) => to)).toEqual([2]);
    const beat = solo.after(20);
    expect(ofType(beat.sendNow, "heartbeat").map(({ to }) => to)).toEqual([2, 3]);
    // The probe of before is answered late, and does not end the waiting.
    solo.receive(reject(3, 1, 0, 0, 0), accept(3, 1, 1));
    expect(solo.raft.peers[1]).toMatchObject({ mode: "snapshot", matchIndex: 1 });
    const done = solo.receive(accept(3, 1, 6));
    expect(solo.raft.peers[1]).toMatchObject({ mode: "replicate", matchIndex: 6, nextIndex: 8 });
    expect(ofType(done.sendNow, "append")[0]).toMatchObject({ to: 3, prevLogIndex: 6 });
  });

  it("is probed where the log begins when the transfer failed or the connection is new", () => {
    const solo = leader(6);
    const { write } = solo.turn(compact(6, 1, 7));
    solo.persisted(write?.seq ?? 0);
    expect(solo.raft.firstIndex).toBe(7);
    solo.turn({ type: "snapshotFailed", peer: 3, epoch: 29 });
    expect(solo.raft.peers[1]).toMatchObject({ mode: "snapshot" });
    // Nothing is left to append, and yet the peer is asked.
    const failed = solo.turn({ type: "snapshotFailed", peer: 3, epoch: 30 });
    expect(ofType(failed.sendNow, "append")).toMatchObject([
      { to: 3, prevLogIndex: 6, prevLogTerm: 1, entries: [] },
    ]);
    const refused = solo.receive(reject(3, 1, 6, 0, 0));
    expect(refused.snapshotsWanted).toEqual([{ peer: 3, epoch: 30, afterIndex: 0 }]);
    const again = solo.turn(
      { type: "peerDown", peer: 3, epoch: 30, closed: false },
      { type: "peerUp", peer: 3, epoch: 31 },
    );
    expect(ofType(again.sendNow, "append")).toMatchObject([{ to: 3, epoch: 31, prevLogIndex: 6 }]);
    expect(solo.receive(accept(3, 1, 6, 31)).snapshotsWanted).toEqual([]);
    expect(solo.raft.peers[1]).toMatchObject({ mode: "replicate", matchIndex: 6 });
  });

  it("is asked now and then whether it has it, should its answer be lost", () => {
    const solo = leader(6);
    solo.persisted(solo.turn(compact(6, 1, 5)).write?.seq ?? 0);
    const asked: number[] = [];
    for (let round = 1; round <= 10; round += 1) {
      solo.after(20);
      const replies = [2, 3].map(
        (from) =>
          ({ type: "heartbeatReply", from, to: 1, term: 1, epoch: from * 10, round }) as const,
      );
      for (const { to, prevLogIndex, entries } of ofType(
        solo.receive(...replies).sendNow,
        "append",
      )) {
        expect([to, prevLogIndex, entries]).toEqual([3, 4, []]);
        asked.push(round * 20);
      }
    }
    expect(asked).toEqual([100, 200]);
    solo.receive(reject(3, 1, 4, 0, 0));
    expect(solo.raft.peers[1]).toMatchObject({ mode: "snapshot" });
    solo.receive(accept(3, 1, 4));
    expect(solo.raft.peers[1]).toMatchObject({ mode: "replicate", nextIndex: 7 });
  });

  it("gets another one when the log was cut again meanwhile", () => {
    const solo = leader(6);
    solo.persisted(solo.turn(compact(4, 1, 5)).write?.seq ?? 0);
    solo.persisted(solo.turn(compact(6, 1, 7)).write?.seq ?? 0);
    expect(solo.receive(accept(3, 1, 4)).snapshotsWanted).toEqual([
      { peer: 3, epoch: 30, afterIndex: 0 },
    ]);
    expect(solo.raft.peers[1]).toMatchObject({ mode: "snapshot", matchIndex: 4 });
  });

  it("is not asked for by a leader that was deposed in the same turn", () => {
    const solo = leader(6);
    const { write } = solo.turn(compact(6, 1, 5));
    const { snapshotsWanted, roleChange } = solo.turn(
      { type: "persisted", seq: write?.seq ?? 0 },
      { type: "message", message: heartbeat(2, 2) },
    );
    expect(roleChange).toMatchObject({ role: "follower", term: 2 });
    expect(snapshotsWanted).toEqual([]);
  });
});

describe("a leader's snapshot", () => {
  it("replaces the log in one record with the term, and is answered when that is durable", () => {
    const solo = follower(3);
    const effects = solo.turn(received(20, 3, 4));
    expect(effects.write).toMatchObject({
      hardState: { term: 4, vote: 0 },
      truncateFrom: undefined,
      snapshot: { ...point(20, 3), isReset: true, keepFrom: 21 },
      entries: [],
    });
    expect(effects.restore).toMatchObject(point(20, 3));
    expect(effects.sendNow).toEqual([]);
    expect(effects.sendAfter).toMatchObject([
      { seq: effects.write?.seq, message: { to: 2, epoch: 7, success: true, matchIndex: 20 } },
    ]);
    const { raft } = solo;
    expect([raft.commitIndex, raft.appliedIndex, raft.lastIndex]).toEqual([20, 20, 20]);
    expect([raft.firstIndex, raft.snapshotIndex, raft.leader]).toEqual([21, 20, 2]);
  });

  it("rule 23: overwrites nothing that is committed, and is answered all the same", () => {
    const solo = follower(9);
    const effects = solo.turn(received(5, 2, 2));
    expect([effects.write, effects.restore]).toEqual([undefined, undefined]);
    expect(effects.sendAfter).toMatchObject([{ message: { success: true, matchIndex: 5 } }]);
    expect(solo.raft.lastIndex).toBe(9);
  });

  it("rule 23: leaves the log alone that holds it already, and commits it", () => {
    const solo = new Solo({ entries: log(1, 1, 2, 2), term: 2 });
    const effects = solo.turn(received(3, 2, 2));
    expect([effects.write, effects.restore, effects.applyTo]).toEqual([undefined, undefined, 3]);
    expect(effects.sendAfter).toMatchObject([{ message: { matchIndex: 3 } }]);
    expect(solo.raft.lastIndex).toBe(4);
  });

  it("rule 23: waits for nobody's newer one until its own record is durable", () => {
    const solo = follower(3);
    const first = solo.turn(received(20, 2, 2));
    const second = solo.turn(received(30, 2, 2));
    expect([second.write, second.restore]).toEqual([undefined, undefined]);
    expect(second.sendAfter).toMatchObject([
      { seq: first.write?.seq, message: { success: true, matchIndex: 20 } },
    ]);
    solo.persisted(first.write?.seq ?? 0);
    expect(solo.turn(received(30, 2, 2)).restore).toMatchObject({ index: 30 });
  });

  it("drops what was cut and appended in the same turn", () => {
    const solo = new Solo({ entries: log(1, 1, 1), term: 1 });
    const { write } = solo.turn(
      { type: "message", message: append(2, 2, 1, 1, [entry(2, 2)]) },
      received(20, 2, 2),
      { type: "message", message: append(2, 2, 20, 2, [entry(21, 2)]) },
    );
    expect(write).toMatchObject({
      truncateFrom: undefined,
      snapshot: { index: 20, isReset: true },
    });
    expect(write?.entries.map(({ index }) => index)).toEqual([21]);
    solo.persisted(write?.seq ?? 0);
    expect(solo.raft.lastIndex).toBe(21);
  });

  it("is nothing to a leader, to a node of a later term, and to a follower of somebody else", () => {
    const leading = leader(3);
    expect(leading.turn(received(20, 1, 1)).restore).toBeUndefined();
    const later = follower(3);
    expect(later.turn(received(20, 1, 1)).sendAfter).toEqual([]);
    const other = follower(3);
    expect(other.turn(received(20, 2, 2, 3)).restore).toBeUndefined();
    expect(other.raft.leader).toBe(2);
  });

  it("is dropped when no correct leader can have it", () => {
    const solo = follower(3);
    for (const input of [received(20, 3, 2), received(20, 1, 2), received(20, 2, 2, 1)]) {
      const { restore, sendAfter } = solo.turn(input);
      expect([restore, sendAfter]).toEqual([undefined, []]);
    }
  });
});
