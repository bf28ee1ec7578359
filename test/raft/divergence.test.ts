/**
 * Logs that diverged: figures 7 and 8 of the Raft paper, and how the leader finds where they
 * agree.
 */
import { describe, expect, it } from "vitest";
import { quorumValue, type Raft } from "../../src/raft/index.js";
import { Cluster } from "./cluster/cluster.js";
import { converse, elect } from "./cluster/reign.js";
import { accept, append, entry, log, ofType, reject, Solo, termsOf } from "./cluster/solo.js";

/** Figure 7: the log of the leader of term 8, and the logs of possible followers. */
const LEADER = [1, 1, 1, 4, 4, 5, 5, 6, 6, 6];
const FOLLOWERS: readonly (readonly [string, readonly number[]])[] = [
  ["a: one entry missing", [1, 1, 1, 4, 4, 5, 5, 6, 6]],
  ["b: many entries missing", [1, 1, 1, 4]],
  ["c: one entry too many", [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6]],
  ["d: entries of a later term too many", [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7]],
  ["e: entries of a term continued elsewhere", [1, 1, 1, 4, 4, 4, 4]],
  ["f: two terms nobody else has", [1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]],
];

describe("figure 7: a leader makes every follower's log its own", () => {
  it.each(FOLLOWERS)("%s", (_, terms) => {
    const leader = new Solo({ entries: log(...LEADER), term: 7 });
    const follower = new Solo({ entries: log(...terms), term: 7 });
    let outgoing = ofType(leader.becomeLeader().sendNow, "append").filter(({ to }) => to === 2);
    let rounds = 0;
    while (outgoing.length > 0) {
      rounds += 1;
      const replies = outgoing.flatMap((message) => {
        const effects = follower.receive({ ...message, from: 2, to: 1 });
        return [...effects.sendNow, ...effects.sendAfter.map((deferred) => deferred.message)];
      });
      outgoing = replies.flatMap((message) =>
        ofType(leader.receive({ ...message, from: 2, to: 1 }).sendNow, "append"),
      );
    }
    expect(termsOf(follower.raft)).toEqual([...LEADER, 8]);
    // One probe for each term that parted, and the last one brings the entries.
    expect(rounds).toBeLessThanOrEqual(3);
  });
});

describe("figure 8: an entry of an earlier term", () => {
  it("rule 1: is not committed by counting, only under an entry of the own term", () => {
    const solo = new Solo({ entries: log(1, 2), term: 3 });
    const won = solo.becomeLeader();
    solo.persisted(won.write?.seq ?? 0);
    solo.receive(accept(2, 4, 2), accept(3, 4, 2));
    expect(solo.raft.commitIndex).toBe(0);
    expect(solo.receive(accept(2, 4, 3)).applyTo).toBe(3);
  });

  /** State (c): entry 2 of term 2 is on the disks of S1, S2 and S3; S5 has another one. */
  function stateC(): Cluster {
    const config = { appendBytesMax: 1, inflightMessagesMax: 1 };
    const cluster = new Cluster({ size: 5, config });
    cluster.startAll();
    const { term } = cluster.electLeader().raft;
    cluster.settle();
    expect(cluster.committedIndex).toBe(1);
    const crashed = (id: number) => cluster.crash(id, Number.POSITIVE_INFINITY);
    const termsAt = (index: number) =>
      cluster.nodes.map(({ disk }) => (disk.termAt(index) ?? term) - term);
    // (a): S1 leads term 2 and brings its entry 2 to S2.
    expect(elect(cluster, 1, [2, 3, 4])).toBe(true);
    cluster.propose(1);
    converse(cluster, 1, [2], { rounds: 1, messages: 1 });
    crashed(1);
    const [second, ...lacking] = termsAt(2).slice(1);
    expect(second).toBe(cluster.node(1).disk.hardState.term - term);
    expect(lacking).toEqual([0, 0, 0]);
    // (b): S5 leads term 3 by the votes of S3 and S4, and brings its entry to nobody.
    expect(elect(cluster, 5, [3, 4])).toBe(true);
    crashed(5);
    expect(termsAt(2)[4]).toBeGreaterThan(termsAt(2)[1] ?? 0);
    // (c): S1 leads term 4 by the votes of S2 and S3, and goes on with entry 2.
    expect(elect(cluster, 1, [2, 3])).toBe(true);
    const isCounted = () => countedIndex(cluster.raft(1)) === 2;
    converse(cluster, 1, [2, 3], { rounds: 20, messages: 1, until: isCounted });
    expect(isCounted()).toBe(true);
    return cluster;
  }

  /** What counting replicas alone would hold for committed at a leader. */
  function countedIndex({ configuration, id, lastIndex, peers }: Raft): number {
    return quorumValue(configuration, (voter) => {
      if (voter === id) return lastIndex;
      return peers.find((peer) => peer.id === voter)?.matchIndex ?? 0;
    });
  }

  it("rule 1: is on a majority of disks in (c), and is overwritten in (d)", () => {
    const cluster = stateC();
    expect(cluster.raft(1).entry(2).term).toBeLessThan(cluster.raft(1).term);
    expect(cluster.raft(1).commitIndex).toBeLessThan(2);
    expect(cluster.committedIndex).toBe(1);
    cluster.crash(1, Number.POSITIVE_INFINITY);
    expect(elect(cluster, 5, [2, 3, 4])).toBe(true);
    const { term } = cluster.raft(5).entry(2);
    cluster.startAll();
    cluster.advance(300);
    for (const { raft } of cluster.nodes) expect(raft.entry(2).term).toBe(term);
  });

  it("rule 1: is committed for good in (e), under an entry of the leader's own term", () => {
    const cluster = stateC();
    const { term } = cluster.raft(1).entry(2);
    converse(cluster, 1, [2, 3], { rounds: 12, messages: 1 });
    const { lastIndex, commitIndex } = cluster.raft(1);
    expect([commitIndex, cluster.raft(1).entry(lastIndex).term]).toEqual([
      lastIndex,
      cluster.raft(1).term,
    ]);
    cluster.crash(1, Number.POSITIVE_INFINITY);
    expect(elect(cluster, 5, [2, 3, 4])).toBe(false);
    cluster.startAll();
    cluster.advance(500);
    for (const { raft } of cluster.nodes) expect(raft.entry(2).term).toBe(term);
  });
});

describe("a refused append", () => {
  it("names the largest entry of a term not above the one that was asked for", () => {
    const solo = new Solo({ entries: log(1, 1, 1, 4, 4, 4), term: 6 });
    const { sendNow } = solo.receive(append(2, 6, 5, 3, []));
    expect(sendNow).toMatchObject([
      { success: false, rejectedIndex: 5, hintIndex: 3, hintTerm: 1 },
    ]);
    const short = solo.receive(append(2, 6, 50, 6, []));
    expect(short.sendNow).toMatchObject([{ rejectedIndex: 50, hintIndex: 6, hintTerm: 4 }]);
  });

  it("never names less than what is committed", () => {
    const solo = new Solo({ entries: log(1, 4, 4, 4), term: 6 });
    solo.receive(append(2, 6, 2, 4, [], 2));
    const { sendNow } = solo.receive(append(2, 6, 3, 3, []));
    expect(sendNow).toMatchObject([{ hintIndex: 2, hintTerm: 4 }]);
  });

  it("moves a probe only when it answers the one under way", () => {
    const solo = new Solo({ entries: log(1, 1, 2, 2), term: 2 });
    solo.becomeLeader();
    solo.receive(reject(2, 3, 2, 0, 0));
    expect(solo.raft.peers[0]?.nextIndex).toBe(5);
    const effects = solo.receive(reject(2, 3, 4, 3, 1));
    expect(solo.raft.peers[0]).toMatchObject({ mode: "probe", nextIndex: 3 });
    expect(ofType(effects.sendNow, "append")).toMatchObject([
      { to: 2, prevLogIndex: 2, prevLogTerm: 1 },
    ]);
  });
});

describe("a truncation", () => {
  it("rule 3: begins at the first conflict and keeps what matches before it", () => {
    const solo = new Solo({ entries: log(1, 1, 2, 2), term: 2 });
    const entries = [entry(2, 1), entry(3, 3), entry(4, 3)];
    const { write } = solo.receive(append(2, 3, 1, 1, entries));
    expect(write).toMatchObject({ truncateFrom: 3, hardState: { term: 3 } });
    expect(write?.entries.map(({ index, term }) => [index, term])).toEqual([
      [3, 3],
      [4, 3],
    ]);
    expect(termsOf(solo.raft)).toEqual([1, 1, 3, 3]);
  });
});
