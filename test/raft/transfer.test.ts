/** Rule 17: a transfer of leadership (thesis, 3.10), and every way in which it fails. */
import { describe, expect, it } from "vitest";
import type { Message } from "../../src/raft/index.js";
import { Cluster, TEST_CONFIG } from "./cluster/cluster.js";
import { members } from "./cluster/configurations.js";
import { accept, ballot, heartbeat, log, ofType, Solo, voteRequest } from "./cluster/solo.js";

const handOver = (id: number, to: number) =>
  ({ type: "transferLeadership", id, target: to }) as const;

/** Leads term 1 with everything at 2 and the noop lacking at 3. */
function leading(options: { learners?: number[] } = {}): Solo {
  const solo = new Solo(options);
  const won = solo.becomeLeader();
  solo.persisted(won.write?.seq ?? 0);
  solo.receive(accept(2, 1, 1));
  return solo;
}

function timeoutNow(
  from: number,
  term: number,
  lastLogIndex: number,
  lastLogTerm: number,
): Message {
  return { type: "timeoutNow", from, to: 1, term, epoch: 7, lastLogIndex, lastLogTerm };
}

describe("rule 17: a leader that hands over", () => {
  it("takes only read rounds, and tells a complete target to stand at once", () => {
    const solo = leading();
    const effects = solo.turn(handOver(5, 2));
    expect(ofType(effects.sendNow, "timeoutNow")).toMatchObject([
      { to: 2, term: 1, epoch: 20, lastLogIndex: 1, lastLogTerm: 1 },
    ]);
    expect(solo.raft.isTransferring).toBe(true);
    expect(solo.propose(6).refused).toEqual([{ id: 6, reason: "transferring" }]);
    expect(solo.turn(handOver(7, 3)).refused).toEqual([{ id: 7, reason: "transferring" }]);
    const target = { voters: [1, 2], learners: [], addresses: members([1, 2]).addresses };
    const refused = solo.turn({ type: "changeMembership", id: 8, target }).refused;
    expect(refused).toEqual([{ id: 8, reason: "transferring" }]);
    expect(solo.raft.lastIndex).toBe(1);
  });

  it("lets a target that lacks entries catch up first, and tells it to stand once", () => {
    const solo = leading();
    solo.propose(4);
    expect(ofType(solo.turn(handOver(5, 3)).sendNow, "timeoutNow")).toEqual([]);
    expect(ofType(solo.receive(accept(3, 1, 1)).sendNow, "timeoutNow")).toEqual([]);
    const complete = solo.receive(accept(3, 1, 2));
    expect(ofType(complete.sendNow, "timeoutNow")).toMatchObject([{ to: 3, lastLogIndex: 2 }]);
    expect(ofType(solo.receive(accept(3, 1, 2)).sendNow, "timeoutNow")).toEqual([]);
  });

  it("is done when it hears of the new term, and fails nothing that was accepted before", () => {
    const solo = leading();
    solo.turn(handOver(5, 2));
    const effects = solo.receive(heartbeat(2, 2));
    expect(effects.transferEnded).toEqual({ id: 5, isDone: true });
    expect([solo.raft.role, solo.raft.leader]).toEqual(["follower", 2]);
  });

  it.each([
    ["was told to stand", 2, 1],
    ["still lacks entries", 3, 0],
  ])("gives up after an election timeout when the target %s, and leads on", (_, target, told) => {
    const solo = leading();
    const begun = solo.turn(handOver(5, target));
    expect(ofType(begun.sendNow, "timeoutNow").length).toBe(told);
    const endMs = solo.nowMs + TEST_CONFIG.electionTimeoutMs;
    let ended = begun.transferEnded;
    while (ended === undefined && solo.nowMs < endMs + 50) {
      expect(solo.propose(6).refused).toEqual([{ id: 6, reason: "transferring" }]);
      solo.receive(accept(2, 1, 1));
      ended = solo.after(10).transferEnded;
    }
    expect([ended, solo.nowMs]).toEqual([{ id: 5, isDone: false }, endMs]);
    expect([solo.raft.role, solo.raft.isTransferring]).toEqual(["leader", false]);
    expect(solo.propose(6).accepted).toMatchObject([{ id: 6 }]);
    expect(solo.turn(handOver(7, 2)).refused).toEqual([]);
  });

  it("gives up at once when the target's connection ends", () => {
    const solo = leading();
    solo.turn(handOver(5, 2));
    const effects = solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: true });
    expect(effects.transferEnded).toEqual({ id: 5, isDone: false });
    expect(solo.propose(6).accepted).toMatchObject([{ id: 6 }]);
  });

  it("reports the end when it stops leading by itself", () => {
    const solo = leading();
    solo.turn(handOver(5, 3));
    const ended = [];
    for (let count = 0; count < 12; count += 1) ended.push(solo.after(10).transferEnded);
    expect(solo.raft.role).toBe("follower");
    expect(ended.filter((end) => end !== undefined)).toEqual([{ id: 5, isDone: false }]);
  });

  it("chooses the most complete voter when none is named", () => {
    const solo = leading({ learners: [4] });
    solo.propose(4);
    solo.receive(accept(4, 1, 2), accept(3, 1, 2));
    expect(ofType(solo.turn(handOver(5, 0)).sendNow, "timeoutNow")).toMatchObject([{ to: 3 }]);
  });

  it("refuses a target that is not a connected voter, and a wish addressed to a follower", () => {
    const solo = leading({ learners: [4] });
    solo.receive(accept(4, 1, 1));
    solo.turn({ type: "peerDown", peer: 3, epoch: 30, closed: false });
    for (const [id, to] of [
      [5, 1],
      [6, 3],
      [7, 4],
      [8, 9],
    ] as const) {
      expect(solo.turn(handOver(id, to)).refused).toEqual([{ id, reason: "invalid" }]);
    }
    expect(new Solo().turn(handOver(5, 2)).refused).toEqual([{ id: 5, reason: "notLeader" }]);
    expect(solo.raft.isTransferring).toBe(false);
  });

  it("of one voter has nobody to hand over to", () => {
    const solo = new Solo({ voters: [1] });
    solo.persisted(1);
    expect(solo.turn(handOver(5, 0)).refused).toEqual([{ id: 5, reason: "invalid" }]);
  });
});

describe("rule 17: the target", () => {
  /** Follows node 2 in term 3 with entries 1 and 2. */
  function following(): Solo {
    const solo = new Solo({ entries: log(1, 3), term: 3 });
    solo.receive(heartbeat(2, 3));
    return solo;
  }

  it("stands at once, without a pre-vote, after its record", () => {
    const effects = following().receive(timeoutNow(2, 3, 2, 3));
    expect(effects.write?.hardState).toEqual({ term: 4, vote: 1 });
    expect(effects.sendNow).toEqual([]);
    expect(effects.sendAfter.map(({ message }) => message)).toMatchObject([
      { type: "vote", to: 2, term: 4, isTransfer: true },
      { type: "vote", to: 3, term: 4, isTransfer: true },
    ]);
  });

  it.each<[string, Message]>([
    ["its log is shorter", timeoutNow(2, 3, 3, 3)],
    ["its log is longer", timeoutNow(2, 3, 1, 1)],
    ["its log ends in another term", timeoutNow(2, 3, 2, 2)],
    ["the leader is of the past", timeoutNow(2, 2, 2, 2)],
    ["the sender is not its leader", timeoutNow(3, 3, 2, 3)],
    ["it does not know the term", timeoutNow(2, 4, 2, 3)],
  ])("does not when %s", (_, message) => {
    const solo = following();
    expect(solo.receive(message).write).toBeUndefined();
    expect([solo.raft.role, solo.raft.term, solo.raft.leader]).toEqual(["follower", 3, 2]);
  });

  it("does not when it is not a voter", () => {
    const solo = new Solo({ configuration: members([2, 3], [1]), term: 3, entries: log(3) });
    solo.receive(heartbeat(2, 3));
    solo.receive(timeoutNow(2, 3, 1, 3));
    expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 3]);
  });

  it("is voted for in spite of a leader that lives, since that one asked for it", () => {
    const solo = following();
    const request = { ...voteRequest("vote", 3, 4, 2, 3), isTransfer: true };
    const { sendAfter } = solo.receive(request);
    expect(sendAfter).toMatchObject([{ message: { type: "voteReply", granted: true } }]);
  });

  it("that loses asks next time as everybody does, loyalty included", () => {
    const solo = following();
    const asked = solo.receive(timeoutNow(2, 3, 2, 3));
    solo.persisted(asked.write?.seq ?? 0);
    solo.receive(ballot("voteReply", 2, 4, false), ballot("voteReply", 3, 4, false));
    expect(solo.raft.role).toBe("follower");
    expect(ofType(solo.after(10).sendNow, "preVote").length).toBe(2);
    const again = solo.receive(ballot("preVoteReply", 2, 5));
    expect(again.sendAfter.map(({ message }) => message)).toMatchObject([
      { type: "vote", term: 5, isTransfer: false },
      { type: "vote", term: 5, isTransfer: false },
    ]);
  });
});

describe("a cluster", () => {
  it("has a new leader without the time of a heartbeat, and loses nothing", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const old = cluster.electLeader();
    cluster.advance(50);
    const to = old.id === 3 ? 1 : 3;
    for (let count = 0; count < 9; count += 1) cluster.propose(old.id);
    const { nowMs } = cluster;
    const id = cluster.transferLeadership(old.id, to);
    cluster.settle();
    expect([cluster.raft(to).role, cluster.nowMs]).toEqual(["leader", nowMs]);
    expect(old.transfersEnded).toEqual([{ id, isDone: true }]);
    for (const node of cluster.nodes) {
      expect(node.applied.filter(({ kind }) => kind === "command").length).toBe(9);
    }
  });

  it("whose target dies is led on by the one that wanted to hand over", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const old = cluster.electLeader();
    cluster.advance(50);
    const to = old.id === 3 ? 1 : 3;
    cluster.propose(old.id);
    const id = cluster.transferLeadership(old.id, to);
    cluster.crash(to);
    cluster.settle();
    expect(old.transfersEnded).toEqual([{ id, isDone: false }]);
    cluster.propose(old.id);
    cluster.settle();
    expect([old.raft.role, old.raft.commitIndex]).toEqual(["leader", old.raft.lastIndex]);
  });

  it("whose leader dies while it hands over elects as usual", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const old = cluster.electLeader();
    cluster.advance(50);
    cluster.propose(old.id);
    cluster.transferLeadership(old.id, old.id === 3 ? 1 : 3);
    cluster.crash(old.id);
    expect(cluster.electLeader().id).not.toBe(old.id);
  });
});
