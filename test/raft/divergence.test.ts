/** Logs that parted: the figures 7 and 8 of the Raft paper, and how the leader finds the place. */
import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/raft/index.js";
import { Cluster } from "./cluster.js";
import { accept, append, entry, log, ofType, reject, Solo, termsOf } from "./solo.js";

/** Figure 7: the log of the leader of term 8, and those of possible followers. */
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

  it("rule 1: may be overwritten although a majority holds it", () => {
    const cluster = new Cluster({ size: 5 });
    const entries = new Map<string, Entry>();
    const image = (id: number, term: number, ...terms: number[]) => {
      cluster.node(id).disk.entries = log(...terms).map((made) => {
        const key = `${made.index}@${made.term}`;
        const known = entries.get(key) ?? made;
        entries.set(key, known);
        return known;
      });
      cluster.node(id).disk.hardState = { term, vote: 0 };
    };
    // State (c) of the figure: entry 2 of term 2 is on three disks, S5 has one of term 3.
    image(1, 4, 1, 2, 4);
    image(2, 4, 1, 2);
    image(3, 4, 1, 2);
    image(4, 3, 1);
    image(5, 3, 1, 3);
    for (const id of [2, 3, 4, 5]) cluster.start(id);
    // Only S5 stands, and asks those whose logs end before its own: state (d).
    for (const [from, to] of [
      [2, 3],
      [3, 2],
      [2, 4],
      [3, 4],
      [4, 2],
      [4, 3],
    ] as const) {
      cluster.block(from, to);
    }
    let isDone = false;
    for (let tries = 0; tries < 100 && !isDone; tries += 1) {
      cluster.advance(20);
      isDone = cluster.raft(5).role === "leader";
    }
    expect(cluster.describe()).toContain("5: leader");
    cluster.unblockAll();
    cluster.start(1);
    cluster.advance(300);
    for (const { raft } of cluster.nodes) expect(termsOf(raft).slice(0, 2)).toEqual([1, 3]);
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
