/**
 * Which node may lead and which one leads next: leaders that hand over, that are voted out, that
 * decide alone.
 */
import { describe, expect, it } from "vitest";
import {
  decodeConfiguration,
  type Effects,
  type Entry,
  encodeConfiguration,
  type Input,
  isJoint,
  type Message,
} from "../../src/raft/index.js";
import { members, target } from "./cluster/configurations.js";
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
} from "./cluster/solo.js";

/** A leader of term 1 whose noop is committed and known to everybody. */
function leader(): Solo {
  const solo = new Solo();
  solo.persisted(solo.becomeLeader().write?.seq ?? 0);
  solo.receive(accept(2, 1, 1), accept(3, 1, 1));
  return solo;
}

function handOver(id: number, to: number): Input {
  return { type: "transferLeadership", id, target: to };
}

function timeoutNow(from: number, term: number, lastIndex: number, lastTerm: number): Message {
  const position = { lastLogIndex: lastIndex, lastLogTerm: lastTerm };
  return { type: "timeoutNow", from, to: 1, term, epoch: 7, ...position };
}

/** The configuration that a write brings. */
function written({ write }: Effects) {
  const carrier = write?.entries.find(({ kind }) => kind === "configuration");
  return carrier && decodeConfiguration(carrier.data);
}

describe("a voter that decides alone", () => {
  it("leads when its vote is durable, and sends its learners nothing before", () => {
    const solo = new Solo({ voters: [1], learners: [2] });
    expect(solo.raft.role).toBe("candidate");
    const won = solo.persisted(1);
    expect(solo.raft.role).toBe("leader");
    expect(won.write).toMatchObject({ seq: 2, hardState: undefined });
    expect(ofType(won.sendNow, "append")).toMatchObject([{ to: 2, term: 1 }]);
  });
});

describe("a node that knows no members", () => {
  it("never stands, and follows any leader", () => {
    const solo = new Solo({ voters: [] });
    for (let times = 0; times < 5; times += 1) {
      const { sendNow, sendAfter } = solo.after(300);
      expect([sendNow, sendAfter]).toEqual([[], []]);
    }
    expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 0]);
    solo.receive(append(2, 3, 0, 0, [entry(1, 3)], 1));
    expect([solo.raft.leader, solo.raft.commitIndex]).toEqual([2, 1]);
  });
});

describe("rule 17: a transfer", () => {
  it("stops proposals, waits until the target has everything, and names the last entry", () => {
    const solo = leader();
    const { write } = solo.propose(1);
    solo.turn(handOver(9, 3));
    expect(solo.raft.isTransferring).toBe(true);
    expect(solo.propose(2).refused).toEqual([{ id: 2, reason: "transferring" }]);
    expect(solo.turn(handOver(10, 2)).refused).toEqual([{ id: 10, reason: "transferring" }]);
    solo.persisted(write?.seq ?? 0);
    expect(ofType(solo.receive(accept(2, 1, 2)).sendNow, "timeoutNow")).toEqual([]);
    const told = solo.receive(accept(3, 1, 2));
    expect(ofType(told.sendNow, "timeoutNow")).toMatchObject([
      { to: 3, term: 1, epoch: 30, lastLogIndex: 2, lastLogTerm: 1 },
    ]);
    expect(ofType(solo.turn().sendNow, "timeoutNow")).toEqual([]);
    const request = { ...voteRequest("vote", 3, 2, 2, 1), isTransfer: true } as Message;
    const deposed = solo.receive(request);
    expect(deposed.transferEnded).toEqual({ id: 9, isDone: true });
    expect(deposed.sendAfter).toMatchObject([{ message: { type: "voteReply", granted: true } }]);
  });

  it("is given up after an election timeout, and when the target's connection ends", () => {
    const solo = leader();
    solo.persisted(solo.propose(1).write?.seq ?? 0);
    const begun = solo.turn(handOver(9, 3));
    expect(begun.nextDeadlineMs).toBeLessThanOrEqual(solo.nowMs + 100);
    for (let passed = 0; passed < 80; passed += 20) {
      const round = passed / 20 + 1;
      solo.after(20);
      solo.receive({ type: "heartbeatReply", from: 2, to: 1, term: 1, epoch: 20, round });
    }
    expect(solo.raft.isTransferring).toBe(true);
    expect(solo.after(20).transferEnded).toEqual({ id: 9, isDone: false });
    expect(solo.propose(2).accepted).toHaveLength(1);
    solo.turn(handOver(10, 3));
    const down: Input = { type: "peerDown", peer: 3, epoch: 30, closed: false };
    expect(solo.turn(down).transferEnded).toEqual({ id: 10, isDone: false });
    expect(solo.turn(handOver(11, 3)).refused).toEqual([{ id: 11, reason: "invalid" }]);
    expect(solo.raft.role).toBe("leader");
  });

  it("goes to the connected voter with the most of the log when nobody is named", () => {
    const solo = leader();
    solo.persisted(solo.propose(1).write?.seq ?? 0);
    solo.receive(accept(3, 1, 2));
    expect(ofType(solo.turn(handOver(9, 0)).sendNow, "timeoutNow")).toMatchObject([{ to: 3 }]);
  });

  it("cannot begin without a leader or towards somebody who may not lead", () => {
    expect(new Solo().turn(handOver(1, 2)).refused).toEqual([{ id: 1, reason: "notLeader" }]);
    for (const to of [1, 7]) {
      expect(leader().turn(handOver(1, to)).refused).toEqual([{ id: 1, reason: "invalid" }]);
    }
  });

  it("makes its target stand at once, without asking first", () => {
    const solo = new Solo({ entries: log(1, 1), term: 1 });
    solo.receive(heartbeat(2, 1));
    const { write, sendAfter, sendNow } = solo.receive(timeoutNow(2, 1, 2, 1));
    expect([solo.raft.role, solo.raft.term]).toEqual(["candidate", 2]);
    expect(sendNow).toEqual([]);
    expect(write).toMatchObject({ hardState: { term: 2, vote: 1 } });
    expect(sendAfter.map(({ message }) => message)).toMatchObject([
      { type: "vote", to: 2, isTransfer: true },
      { type: "vote", to: 3, isTransfer: true },
    ]);
  });

  it("is nothing to a node whose log ends elsewhere or that follows somebody else", () => {
    for (const message of [
      timeoutNow(2, 1, 3, 1),
      timeoutNow(2, 1, 1, 1),
      timeoutNow(3, 1, 2, 1),
      timeoutNow(2, 2, 2, 1),
    ]) {
      const solo = new Solo({ entries: log(1, 1), term: 1 });
      solo.receive(heartbeat(2, 1));
      solo.receive(message);
      expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 1]);
    }
    const learner = new Solo({ entries: log(1, 1), voters: [2, 3], learners: [1] });
    learner.receive(heartbeat(2, 1));
    learner.receive(timeoutNow(2, 1, 2, 1));
    expect(learner.raft.role).toBe("follower");
  });

  it("overrides the loyalty of voters, which nobody else does", () => {
    const request = voteRequest("vote", 3, 2, 2, 1);
    for (const isTransfer of [false, true]) {
      const solo = new Solo({ entries: log(1, 1), term: 1 });
      solo.receive(heartbeat(2, 1));
      solo.receive({ ...request, isTransfer } as Message);
      expect([solo.raft.term, solo.raft.vote]).toEqual(isTransfer ? [2, 3] : [1, 0]);
    }
  });
});

describe("a leader that is voted out", () => {
  it("leads until that is committed, tells it to the others, and names who has everything", () => {
    const solo = leader();
    const first = solo.turn({ type: "changeMembership", id: 1, target: target([2, 3]) });
    expect(first.accepted).toEqual([{ id: 1, index: 2, term: 1 }]);
    expect(written(first)).toMatchObject({ voters: [2, 3], outgoing: [1, 2, 3] });
    solo.persisted(first.write?.seq ?? 0);
    const second = solo.receive(accept(2, 1, 2), accept(3, 1, 2));
    expect(written(second)).toEqual(members([2, 3]));
    expect(solo.raft.role).toBe("leader");
    solo.persisted(second.write?.seq ?? 0);
    // Its own copy does not count any more.
    expect(solo.receive(accept(2, 1, 3)).applyTo).toBe(2);
    solo.turn({ type: "commitInterest", peer: 3, isInterested: false });
    const last = solo.receive(accept(3, 1, 3));
    expect(last.applyTo).toBe(3);
    expect(last.roleChange).toEqual({ role: "follower", term: 1, leader: 0 });
    const told = last.sendNow.map(({ type, to }) => `${type} ${to}`);
    expect(told).toEqual(["heartbeat 2", "heartbeat 3", "timeoutNow 2"]);
    expect(solo.after(1_000).roleChange).toBeUndefined();
  });

  it("keeps the one that leaves until it learned of its removal, and no longer", () => {
    const solo = leader();
    const first = solo.turn({ type: "changeMembership", id: 1, target: target([1, 2]) });
    solo.persisted(first.write?.seq ?? 0);
    const second = solo.receive(accept(2, 1, 2), accept(3, 1, 2));
    expect(isJoint(solo.raft.configuration)).toBe(false);
    expect(solo.raft.peers[1]).toMatchObject({ id: 3, isVoter: false, isLearner: false });
    solo.persisted(second.write?.seq ?? 0);
    const committed = solo.receive(accept(2, 1, 3));
    expect(solo.raft.commitIndex).toBe(3);
    expect(ofType(committed.sendNow, "heartbeat").map(({ to }) => to)).toEqual([2]);
    expect(solo.raft.peers.map(({ id }) => id)).toEqual([2, 3]);
    const told = solo.receive(accept(3, 1, 3));
    expect(ofType(told.sendNow, "heartbeat")).toMatchObject([{ to: 3, commitIndex: 3 }]);
    expect(solo.raft.peers.map(({ id }) => id)).toEqual([2]);
  });

  it("does not wait forever for one that does not answer or is gone", () => {
    for (const input of [
      { type: "peerDown", peer: 3, epoch: 30, closed: true } as const,
      undefined,
    ]) {
      const solo = leader();
      const first = solo.turn({ type: "changeMembership", id: 1, target: target([1, 2]) });
      solo.persisted(first.write?.seq ?? 0);
      solo.persisted(solo.receive(accept(2, 1, 2)).write?.seq ?? 0);
      expect(solo.raft.peers).toHaveLength(2);
      if (input !== undefined) {
        solo.turn(input);
      } else {
        for (let round = 1; round <= 21; round += 1) {
          const beat = { type: "heartbeatReply", from: 2, to: 1, term: 1, epoch: 20 } as const;
          solo.after(20);
          solo.receive({ ...beat, round });
        }
      }
      expect(solo.raft.peers.map(({ id }) => id)).toEqual([2]);
    }
  });
});

describe("a node that is no longer a voter", () => {
  const final = {
    ...entry(2, 1),
    kind: "configuration",
    data: encodeConfiguration(members([2, 3])),
  };

  it("stands while that may not be committed, and counts the others alone", () => {
    const solo = new Solo({ entries: [entry(1, 1), final as Entry], peers: [2, 3] });
    expect(solo.raft.configuration).toEqual(members([2, 3]));
    const asked = solo.after(150);
    expect(ofType(asked.sendNow, "preVote").map(({ to }) => to)).toEqual([2, 3]);
    expect(solo.receive(ballot("preVoteReply", 2, 2)).write).toBeUndefined();
    const { write } = solo.receive(ballot("preVoteReply", 3, 2));
    expect(write).toMatchObject({ hardState: { term: 2, vote: 1 } });
    solo.persisted(write?.seq ?? 0);
    solo.receive(ballot("voteReply", 2, 2));
    expect(solo.raft.role).toBe("candidate");
    const won = solo.receive(ballot("voteReply", 3, 2));
    expect(solo.raft.role).toBe("leader");
    solo.persisted(won.write?.seq ?? 0);
    solo.receive(accept(2, 2, 3));
    expect([solo.raft.commitIndex, solo.raft.role]).toEqual([0, "leader"]);
    solo.receive(accept(3, 2, 3));
    expect([solo.raft.commitIndex, solo.raft.role]).toEqual([3, "follower"]);
  });

  it("never stands once it is committed", () => {
    const solo = new Solo({ entries: [entry(1, 1), final as Entry], peers: [2, 3] });
    solo.receive(heartbeat(2, 1, 2));
    for (let times = 0; times < 5; times += 1) expect(solo.after(300).sendNow).toEqual([]);
    expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 1]);
  });
});

describe("a change of members", () => {
  const change = (solo: Solo, ...sides: Parameters<typeof target>) =>
    solo.turn({ type: "changeMembership", id: 5, target: target(...sides) });
  const refused = (effects: Effects) => effects.refused.map(({ reason }) => reason);

  it("needs one entry where those who decide stay the same", () => {
    const solo = leader();
    const { configuration, ...added } = change(solo, [1, 2, 3], [4]);
    expect(written({ configuration, ...added })).toEqual(members([1, 2, 3], [4]));
    expect(configuration).toEqual(members([1, 2, 3], [4]));
    expect(solo.raft.configurationIndex).toBe(2);
    expect(solo.raft.peers.at(-1)).toMatchObject({ id: 4, isLearner: true, isReachable: false });
    // Rule 8: one at a time.
    expect(refused(change(solo, [1, 2, 3]))).toEqual(["notReady"]);
    solo.persisted(added.write?.seq ?? 0);
    solo.receive(accept(2, 1, 2));
    expect(change(solo, [1, 2, 3]).accepted).toHaveLength(1);
  });

  it("is refused with the reason", () => {
    expect(refused(change(new Solo(), [1, 2]))).toEqual(["notLeader"]);
    const early = new Solo();
    early.becomeLeader();
    expect(refused(change(early, [1, 2]))).toEqual(["notReady"]);
    const many = Array.from({ length: 16 }, (_, at) => at + 1);
    for (const [voters, learners] of [
      [[], [1]],
      [[1, 2, 2], []],
      [[1, 2, 3], [3]],
      [many, []],
      [[3, 2, 1], []],
      [[1, 2, 0], []],
    ]) {
      expect(refused(change(leader(), voters ?? [], learners))).toEqual(["invalid"]);
    }
    const unreachable = { ...target([1, 2]), addresses: target([1]).addresses };
    const solo = leader();
    const input: Input = { type: "changeMembership", id: 5, target: unreachable };
    expect(refused(solo.turn(input))).toEqual(["invalid"]);
    expect(refused(change(solo, [1, 2, 3, 4]))).toEqual(["notCaughtUp"]);
    solo.turn({ type: "peerDown", peer: 3, epoch: 30, closed: true });
    expect(refused(change(solo, [1, 3]))).toEqual(["wouldLoseQuorum"]);
    solo.turn(handOver(9, 2));
    expect(refused(change(solo, [1, 2]))).toEqual(["transferring"]);
  });

  it("makes a learner a voter when it is in touch and close behind", () => {
    const solo = leader();
    solo.persisted(change(solo, [1, 2, 3], [4]).write?.seq ?? 0);
    solo.receive(accept(2, 1, 2));
    expect(refused(change(solo, [1, 2, 3, 4]))).toEqual(["notCaughtUp"]);
    solo.turn({ type: "peerUp", peer: 4, epoch: 40 });
    expect(refused(change(solo, [1, 2, 3, 4]))).toEqual(["notCaughtUp"]);
    solo.receive(accept(4, 1, 2));
    expect(written(change(solo, [1, 2, 3, 4]))).toMatchObject({
      voters: [1, 2, 3, 4],
      outgoing: [1, 2, 3],
      learners: [],
    });
  });

  it("that makes a voter a learner ends with it as one", () => {
    const solo = leader();
    const first = change(solo, [1, 2], [3]);
    expect(written(first)).toMatchObject({ voters: [1, 2], outgoing: [1, 2, 3], learners: [3] });
    expect(solo.raft.peers[1]).toMatchObject({ id: 3, isVoter: true, isLearner: false });
    solo.persisted(first.write?.seq ?? 0);
    const second = solo.receive(accept(2, 1, 2));
    expect(written(second)).toEqual(members([1, 2], [3]));
    expect(solo.raft.peers[1]).toMatchObject({ id: 3, isVoter: false, isLearner: true });
  });
});
