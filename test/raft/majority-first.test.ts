/**
 * Transcripts of thrifty replication: which peers get an entry at once, and when the others get
 * it.
 */
import { describe, expect, it } from "vitest";
import type { Effects, Input, NodeId } from "../../src/raft/index.js";
import { RoundTrip } from "../../src/raft/progress/round-trip.js";
import { Cluster, TEST_CONFIG } from "./cluster/cluster.js";
import { target } from "./cluster/configurations.js";
import { accept, ballot, ofType, Solo, voteRequest } from "./cluster/solo.js";

const SPARE_DELAY_MS = 10;
const STANDSTILL_MS = 4 * SPARE_DELAY_MS;
const CONFIG = { spareDelayMs: SPARE_DELAY_MS, heartbeatIntervalMs: 90 };

const appends = (effects: Effects) =>
  ofType(effects.sendNow, "append").map(({ to, entries }) => [to, entries.length]);

/** What it writes is durable at once, as on a quick disk, until its disk is slow. */
class QuickSolo extends Solo {
  isDiskSlow = false;

  override turn(...inputs: readonly Input[]): Effects {
    const effects = super.turn(...inputs);
    const { write, sendNow } = effects;
    if (write === undefined || this.isDiskSlow) return effects;
    const after = super.turn({ type: "persisted", seq: write.seq });
    return { ...after, sendNow: [...sendNow, ...after.sendNow] };
  }
}

/**
 * Leads term 1 with entries 1 and 2 known to be everywhere, the second one after a millisecond;
 * nobody's clients wait for commits.
 */
function leading(voters: readonly NodeId[] = [1, 2, 3], config = {}): QuickSolo {
  const solo = new QuickSolo({ voters, config: { ...CONFIG, ...config } });
  solo.becomeLeader();
  const others = voters.filter((id) => id !== 1);
  solo.receive(...others.map((id) => accept(id, 1, 1)));
  solo.propose(0);
  solo.after(1, ...others.map((id) => answer(id, 2)));
  solo.turn(...others.map((peer) => interest(peer, false)));
  return solo;
}

function interest(peer: NodeId, isInterested: boolean) {
  return { type: "commitInterest", peer, isInterested } as const;
}

function answer(from: NodeId, matchIndex: number) {
  return { type: "message", message: accept(from, 1, matchIndex) } as const;
}

describe("a leader that is thrifty", () => {
  it("sends entries at once to as many as a majority takes, and to the others together", () => {
    const solo = leading();
    expect(appends(solo.propose(1))).toEqual([[2, 1]]);
    expect(appends(solo.after(1, answer(2, 3)))).toEqual([]);
    expect(appends(solo.propose(2))).toEqual([[2, 1]]);
    const later = solo.after(1, answer(2, 4));
    expect(later.nextDeadlineMs).toBe(solo.nowMs - 2 + SPARE_DELAY_MS);
    expect(appends(solo.after(SPARE_DELAY_MS - 2))).toEqual([[3, 2]]);
  });

  it("does without half of the others of five", () => {
    const solo = leading([1, 2, 3, 4, 5]);
    expect(appends(solo.propose(1))).toEqual([
      [2, 1],
      [3, 1],
    ]);
    expect(appends(solo.after(1, answer(2, 3), answer(3, 3)))).toEqual([]);
    expect(appends(solo.after(SPARE_DELAY_MS))).toEqual([
      [4, 1],
      [5, 1],
    ]);
  });

  it("sends a large batch before its time", () => {
    const solo = leading();
    for (let id = 1; id < 64; id += 1) {
      solo.propose(id);
      solo.after(0, answer(2, solo.raft.lastIndex));
    }
    expect(appends(solo.propose(64))).toEqual([
      [2, 1],
      [3, 64],
    ]);
  });

  it("turns to the next one as soon as an answer is late, and stays with it", () => {
    const solo = leading();
    expect(appends(solo.propose(1))).toEqual([[2, 1]]);
    const { nextDeadlineMs } = solo.after(1);
    expect(nextDeadlineMs).toBe(solo.nowMs + 2);
    expect(appends(solo.after(2))).toEqual([[3, 1]]);
    expect(appends(solo.after(1, answer(3, 3)))).toEqual([]);
    expect(appends(solo.after(10, answer(2, 3)))).toEqual([]);
    expect(appends(solo.propose(2))).toEqual([[3, 1]]);
  });

  it("turns to one more as soon as its own disk is late", () => {
    for (const [voters, last] of [
      [[1, 2, 3], 3],
      [[1, 2, 3, 4, 5], 4],
    ] as const) {
      const solo = leading(voters);
      const fronts = voters.slice(1, last - 1);
      solo.isDiskSlow = true;
      const { write, ...effects } = solo.propose(1);
      expect(appends({ write, ...effects }).map(([to]) => to)).toEqual(fronts);
      const { nextDeadlineMs } = solo.after(1, ...fronts.map((id) => answer(id, 3)));
      expect(nextDeadlineMs).toBe(solo.nowMs + 1);
      expect(appends(solo.after(1))).toEqual([[last, 1]]);
      solo.after(1, answer(last, 3));
      expect(solo.raft.commitIndex).toBe(3);
      // It takes 4 ms now, hence some milliseconds more no longer count as late.
      solo.after(1, { type: "persisted", seq: write?.seq ?? 0 });
      expect(appends(solo.propose(2)).map(([to]) => to)).toHaveLength(fronts.length);
    }
  });

  it("measures nobody while it stands still itself", () => {
    const solo = leading();
    solo.propose(1);
    // Longer than its timers and a batch for spares, which would have been due in between.
    expect(appends(solo.after(STANDSTILL_MS, answer(2, 3)))).toEqual([[3, 1]]);
    solo.after(1, answer(3, 3));
    const effects = solo.propose(2);
    expect(appends(effects)).toEqual([[2, 1]]);
    expect(effects.nextDeadlineMs).toBe(solo.nowMs + 3);
  });

  it("measures nobody by an answer that it reads a turn after it stood still", () => {
    const solo = leading();
    solo.propose(1);
    expect(appends(solo.after(STANDSTILL_MS))).toEqual([[3, 1]]);
    solo.after(1, answer(2, 3), answer(3, 3));
    expect(appends(solo.propose(2))).toEqual([[3, 1]]);
    expect(appends(solo.after(3))).toEqual([[2, 1]]);
    solo.after(1, answer(2, 4));
    const effects = solo.propose(3);
    expect(appends(effects)).toEqual([[2, 1]]);
    expect(effects.nextDeadlineMs).toBeLessThanOrEqual(solo.nowMs + 3);
  });

  it("does not measure its disk either while it stands still", () => {
    const solo = leading();
    solo.isDiskSlow = true;
    const { write } = solo.propose(1);
    solo.after(1, answer(2, 3));
    solo.after(STANDSTILL_MS, { type: "persisted", seq: write?.seq ?? 0 });
    solo.after(1, answer(3, 3));
    expect(appends(solo.propose(2))).toEqual([[2, 1]]);
    const { nextDeadlineMs } = solo.after(1, answer(2, 4));
    expect(nextDeadlineMs).toBe(solo.nowMs + 1);
  });

  it("takes in what came late while it looked on", () => {
    const solo = leading();
    for (let index = 3; index < 10; index += 1) {
      solo.propose(index);
      for (let passedMs = 1; passedMs < STANDSTILL_MS; passedMs += 1) solo.after(1);
      solo.after(1, answer(2, index), answer(3, index));
    }
    expect(appends(solo.propose(10))).toHaveLength(1);
    expect(appends(solo.after(SPARE_DELAY_MS - 1))).toEqual([]);
  });

  it("sends everything to everybody while nobody answers in time", () => {
    const solo = leading();
    solo.propose(1);
    solo.after(3);
    solo.after(3);
    expect(appends(solo.propose(2))).toEqual([
      [2, 1],
      [3, 1],
    ]);
    // Nothing is kept back, so nothing but the timers of a leader is due.
    expect(solo.turn().nextDeadlineMs).toBeGreaterThan(solo.nowMs + SPARE_DELAY_MS);
  });

  it("prefers peers that answer sooner, and not for a trifle", () => {
    const solo = leading();
    const frontOf = (): number | undefined => {
      return appends(solo.propose(1))[0]?.[0];
    };
    const settle = (front: NodeId, frontMs: number, spare: NodeId, spareMs: number): void => {
      for (let count = 0; count < 30; count += 1) {
        expect(frontOf()).toBe(front);
        const { lastIndex } = solo.raft;
        solo.after(frontMs, answer(front, lastIndex));
        expect(appends(solo.after(SPARE_DELAY_MS))).toEqual([[spare, 1]]);
        solo.after(spareMs, answer(spare, lastIndex));
      }
    };
    settle(2, 1.5, 3, 1);
    // 1 ms and the handicap of a newcomer are 2; one slow answer is more.
    solo.propose(2);
    solo.after(10, answer(2, solo.raft.lastIndex));
    expect(frontOf()).toBe(3);
  });

  it("counts on peers that have clients waiting, and keeps nothing back from them", () => {
    const solo = leading([1, 2, 3, 4, 5]);
    solo.turn(interest(5, true));
    expect(appends(solo.propose(1)).map(([to]) => to)).toEqual([2, 5]);
    solo.turn(interest(3, true), interest(4, true));
    solo.after(1, answer(2, 3), answer(5, 3), answer(3, 3), answer(4, 2));
    expect(appends(solo.propose(2)).map(([to]) => to)).toEqual([3, 4, 5]);
  });

  it("keeps nothing back from a learner, nor from anybody while members change", () => {
    const solo = new QuickSolo({ voters: [1, 2, 3], learners: [4], config: CONFIG });
    solo.becomeLeader();
    solo.receive(accept(2, 1, 1), accept(3, 1, 1), accept(4, 1, 1));
    solo.turn(...[2, 3, 4].map((peer) => interest(peer, false)));
    expect(appends(solo.propose(1)).map(([to]) => to)).toEqual([2, 4]);
    solo.after(1, answer(2, 3), answer(4, 2));
    const change = { type: "changeMembership", id: 9, target: target([1, 2, 4]) } as const;
    expect(appends(solo.turn(change)).map(([to]) => to)).toEqual([2, 3, 4]);
  });

  it("sends everything at once to whom it hands over, and to whom it must probe", () => {
    const solo = leading();
    solo.propose(1);
    solo.after(1, answer(2, 2));
    const handOver = { type: "transferLeadership", id: 9, target: 3 } as const;
    expect(appends(solo.turn(handOver))).toEqual([[3, 1]]);
    const other = leading();
    other.turn({ type: "peerDown", peer: 3, epoch: 30, closed: false });
    expect(appends(other.propose(1))).toEqual([[2, 1]]);
    const up = { type: "peerUp", peer: 3, epoch: 31 } as const;
    expect(appends(other.turn(up)).map(([to]) => to)).toEqual([3]);
  });

  it("never keeps back what the only other connected voter is needed for", () => {
    const solo = leading();
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: false });
    expect(appends(solo.propose(1))).toEqual([[3, 1]]);
  });
});

describe("a voter that has more than the one that asks for its vote", () => {
  it("stands at once, since the other cannot win", () => {
    const own = { index: 1, term: 1, kind: "command", data: new Uint8Array(1) } as const;
    const holder = new Solo({ entries: [own], config: CONFIG });
    const refused = holder.after(120, {
      type: "message",
      message: voteRequest("preVote", 2, 2, 0, 0),
    });
    expect(refused.sendNow[0]).toMatchObject({ type: "preVoteReply", granted: false });
    expect(holder.raft.role).toBe("preCandidate");
    expect(ofType(refused.sendNow, "preVote").map(({ to }) => to)).toEqual([2, 3]);
  });

  it("asks again a peer that refused because it had a leader and has lost it since", () => {
    const own = { index: 1, term: 1, kind: "command", data: new Uint8Array(1) } as const;
    const holder = new Solo({ entries: [own], config: CONFIG });
    holder.after(150);
    holder.receive(ballot("preVoteReply", 2, 1, false));
    const asked = holder.receive(voteRequest("preVote", 2, 2, 0, 0));
    expect(ofType(asked.sendNow, "preVote").map(({ to }) => to)).toEqual([2, 3]);
    // What is on its way is not asked for twice.
    const repeated = holder.receive(voteRequest("preVote", 2, 2, 0, 0));
    expect(ofType(repeated.sendNow, "preVote")).toEqual([]);
  });

  it("does not stand together with others that have as much", () => {
    const own = { index: 1, term: 1, kind: "command", data: new Uint8Array(1) } as const;
    const holder = new Solo({ voters: [1, 2, 3, 4, 5], entries: [own], config: CONFIG });
    const refused = holder.after(120, {
      type: "message",
      message: voteRequest("preVote", 2, 2, 0, 0),
    });
    expect(holder.raft.role).toBe("follower");
    expect(refused.nextDeadlineMs).toBe(holder.nowMs + TEST_CONFIG.closedPeerDelayMs / 2);
  });

  it("leads after its leader died with entries that a spare never got", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const cluster = new Cluster({ size: 3, seed, config: { spareDelayMs: 15 } });
      cluster.startAll();
      const leader = cluster.electLeader().raft.id;
      cluster.propose(leader);
      cluster.settle();
      const index = cluster.committedIndex;
      cluster.crash(leader);
      expect(cluster.electLeader().raft.id).not.toBe(leader);
      expect(cluster.leader?.raft.lastIndex).toBeGreaterThanOrEqual(index);
    }
  });
});

describe("the patience with an answer", () => {
  it("is some deviations above the mean, and never none", () => {
    const roundTrip = new RoundTrip();
    expect([roundTrip.ms, roundTrip.patienceMs]).toEqual([0, 2]);
    roundTrip.observe(10);
    expect([roundTrip.ms, roundTrip.patienceMs]).toEqual([10, 30]);
    for (let at = 0; at < 100; at += 1) roundTrip.observe(10);
    expect(roundTrip.patienceMs).toBeCloseTo(10, 3);
    for (let at = 0; at < 100; at += 1) roundTrip.observe(0.1);
    expect(roundTrip.patienceMs).toBe(2);
  });
});
