/**
 * What is on disk and what is not: one record per turn, and completions that cover only their
 * own records.
 */
import { describe, expect, it } from "vitest";
import { Durability } from "../../src/raft/durability.js";
import type { Effects } from "../../src/raft/index.js";
import { RaftLog } from "../../src/raft/log.js";
import { Cluster } from "./cluster/cluster.js";
import { append, entry, log, Solo, termsOf, voteRequest } from "./cluster/solo.js";

describe("the record of a turn", () => {
  it("rule 5: holds term, truncation and entries together", () => {
    const solo = new Solo({ entries: log(1, 1, 1) });
    const { write } = solo.receive(append(2, 5, 1, 1, [entry(2, 5)]));
    expect(write).toEqual({
      seq: 1,
      hardState: { term: 5, vote: 0 },
      truncateFrom: 2,
      snapshot: undefined,
      entries: [entry(2, 5)],
    });
  });

  it("joins several truncations and appends into the last state of the log", () => {
    const solo = new Solo({ entries: log(1, 1, 1, 1) });
    const { write } = solo.receive(
      append(2, 2, 2, 1, [entry(3, 2), entry(4, 2)]),
      append(3, 3, 3, 2, [entry(4, 3)]),
      append(2, 4, 1, 1, [entry(2, 4)]),
      append(2, 4, 2, 4, [entry(3, 4)]),
    );
    expect(write).toMatchObject({ truncateFrom: 2, hardState: { term: 4, vote: 0 } });
    expect(write?.entries).toEqual([entry(2, 4), entry(3, 4)]);
    expect(termsOf(solo.raft)).toEqual([1, 4, 4]);
  });

  it("names no truncation for entries that were never handed over", () => {
    const solo = new Solo({ entries: log(1) });
    const { write } = solo.receive(
      append(2, 2, 1, 1, [entry(2, 2), entry(3, 2)]),
      append(3, 3, 1, 1, [entry(2, 3)]),
    );
    expect(write?.truncateFrom).toBeUndefined();
    expect(write?.entries).toEqual([entry(2, 3)]);
  });

  it("can be a truncation alone, and is missing when nothing changed", () => {
    const solo = new Solo({ entries: log(1, 1) });
    solo.turn();
    expect(solo.turn().write).toBeUndefined();
    const first = solo.receive(append(2, 2, 0, 0, [entry(1, 2)]));
    expect(first.write).toMatchObject({ seq: 1, truncateFrom: 1 });
    expect(solo.receive(append(2, 2, 0, 0, [entry(1, 2)])).write).toBeUndefined();
  });

  it("carries the vote alone when the term was durable before", () => {
    const solo = new Solo({ entries: log(1, 2), term: 5 });
    const { write } = solo.receive(voteRequest("vote", 3, 5, 9, 4));
    expect(write).toMatchObject({ hardState: { term: 5, vote: 3 }, entries: [] });
  });
});

describe("rule 7: a completion speaks for its own record and for those before it", () => {
  /** Entries 2 and 3 of term 2 were written; an entry 2 of term 3 took their place. */
  function overwritten(): { solo: Solo; oldSeq: number; newSeq: number; replaced: Effects } {
    const solo = new Solo({ entries: log(1) });
    const old = solo.receive(append(2, 2, 1, 1, [entry(2, 2), entry(3, 2)]));
    const replaced = solo.receive(append(3, 3, 1, 1, [entry(2, 3)]));
    expect(replaced.write).toMatchObject({ seq: 2, truncateFrom: 2 });
    return { solo, oldSeq: old.write?.seq ?? 0, newSeq: replaced.write?.seq ?? 0, replaced };
  }

  it("does not take entries for durable that replaced those it wrote", () => {
    const held = new RaftLog(0, 0, log(1));
    const durability = new Durability(held, { term: 3, vote: 0 }, 0);
    const write = () => durability.takeWrite(3, 0, 0, undefined)?.seq ?? 0;
    for (const each of [entry(2, 2), entry(3, 2)]) held.append(each);
    const oldSeq = write();
    held.truncate(2);
    durability.onTruncated(2);
    held.append(entry(2, 3));
    const newSeq = write();
    durability.onPersisted(oldSeq);
    expect(durability.durableIndex).toBe(1);
    durability.onPersisted(newSeq);
    expect(durability.durableIndex).toBe(2);
  });

  it("lets an acknowledgement of what replaced them wait for the newer record", () => {
    const { replaced, newSeq } = overwritten();
    expect(replaced.sendAfter).toMatchObject([{ seq: newSeq, message: { matchIndex: 2 } }]);
  });

  it("may come late, twice or out of order without effect", () => {
    const { solo, oldSeq, newSeq } = overwritten();
    solo.persisted(newSeq);
    solo.persisted(oldSeq);
    solo.persisted(newSeq);
    expect(termsOf(solo.raft)).toEqual([1, 3]);
  });

  it("of a record that was never handed over is the driver's mistake", () => {
    expect(() => new Solo().persisted(1)).toThrow(/sequence 1 persisted, 0 handed over/);
  });
});

describe("a restart", () => {
  it("goes on with term, vote, log and sequence of the disk, and commits nothing by itself", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const leader = cluster.electLeader();
    for (let count = 0; count < 5; count += 1) cluster.propose(leader.id);
    cluster.settle();
    const { term } = leader.raft;
    const { lastSeq } = leader.disk;
    for (const id of cluster.ids) cluster.crash(id);
    cluster.startAll();
    for (const { raft } of cluster.nodes) {
      expect([raft.term, raft.lastIndex, raft.commitIndex, raft.role]).toEqual([
        term,
        6,
        0,
        "follower",
      ]);
    }
    const next = cluster.electLeader();
    cluster.advance(50);
    expect(next.raft.term).toBeGreaterThan(term);
    for (const node of cluster.nodes) expect(node.applied.length).toBe(7);
    expect(leader.disk.lastSeq).toBeGreaterThan(lastSeq);
  });

  it("loses what was not durable, and the cluster does not notice", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const leader = cluster.electLeader();
    cluster.advance(20);
    cluster.propose(leader.id);
    // The leader dies before its own write, its append already under way to the others.
    cluster.crash(leader.id);
    expect(leader.disk.lastIndex).toBe(1);
    cluster.advance(300);
    cluster.start(leader.id);
    cluster.advance(300);
    const { lastIndex } = cluster.electLeader().raft;
    expect(lastIndex).toBeGreaterThanOrEqual(3);
    for (const { raft } of cluster.nodes) expect(raft.commitIndex).toBe(lastIndex);
  });

  it("refuses a log that contradicts itself", () => {
    expect(() => new Solo({ entries: log(3), term: 2 })).toThrow(/term 2, log of term 3/);
    expect(() => new Solo({ entries: log(3, 2), term: 5 })).toThrow(/term 2 after term 3/);
    expect(() => new Solo({ entries: [entry(2, 1)] })).toThrow(/entry 2 appended after 0/);
    expect(() => new Solo({ voters: [2], learners: [2] })).toThrow(/voter and learner/);
    expect(() => new Solo({ entries: log(1), snapshotIndex: 2 })).toThrow(/snapshot 2/);
  });
});
