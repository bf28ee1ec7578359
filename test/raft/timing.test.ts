/** Time: dead processes, silence, pauses of this process, hanging disks. */
import { describe, expect, it } from "vitest";
import { Cluster } from "./cluster/cluster.js";
import { accept, ballot, heartbeat, ofType, Solo, voteRequest } from "./cluster/solo.js";

const gone = (peer: number) =>
  ({ type: "peerDown", peer, epoch: peer * 10, closed: true }) as const;
const silent = (peer: number) =>
  ({ type: "peerDown", peer, epoch: peer * 10, closed: false }) as const;

/** Follows node 2 in term 3. */
function following(): Solo {
  const solo = new Solo({ term: 3 });
  solo.receive(heartbeat(2, 3));
  return solo;
}

describe("a leader whose process closed its connection", () => {
  it("is known dead: the follower stands after a short delay", () => {
    const solo = following();
    const effects = solo.turn(gone(2));
    expect(effects.nextDeadlineMs).toBe(solo.nowMs + 5);
    expect(ofType(solo.after(5).sendNow, "preVote").map(({ to }) => to)).toEqual([3]);
  });

  it("keeps no voter loyal", () => {
    const solo = following();
    solo.turn(gone(2));
    const preVote = solo.receive(voteRequest("preVote", 3, 4, 0, 0));
    expect(preVote.sendNow).toMatchObject([{ type: "preVoteReply", granted: true }]);
    const vote = solo.receive(voteRequest("vote", 3, 4, 0, 0));
    expect(vote.sendAfter).toMatchObject([{ message: { granted: true } }]);
  });

  it("does not come to life through what it had sent before", () => {
    const solo = following();
    solo.turn(gone(2));
    const effects = solo.after(2, { type: "message", message: heartbeat(2, 3) });
    expect(effects.nextDeadlineMs).toBeLessThanOrEqual(solo.nowMs + 5);
    const granted = solo.receive(voteRequest("preVote", 3, 4, 0, 0));
    expect(granted.sendNow).toMatchObject([{ granted: true }]);
  });

  it("was alive after all when it is heard later", () => {
    const solo = following();
    solo.turn(gone(2));
    solo.after(5);
    expect(solo.raft.role).toBe("preCandidate");
    const effects = solo.after(6, { type: "message", message: heartbeat(2, 3) });
    expect([solo.raft.role, solo.raft.leader]).toEqual(["follower", 2]);
    expect(effects.nextDeadlineMs).toBe(solo.nowMs + 150);
    const refused = solo.receive(voteRequest("preVote", 3, 4, 0, 0));
    expect(refused.sendNow).toMatchObject([{ granted: false }]);
  });

  it("is succeeded at once in a cluster, whereas silence waits for the timeout", () => {
    const closed = new Cluster({ size: 3 });
    closed.startAll();
    const dead = closed.electLeader();
    closed.advance(50);
    const diedMs = closed.nowMs;
    closed.crash(dead.id);
    expect(closed.electLeader().id).not.toBe(dead.id);
    expect(closed.nowMs - diedMs).toBeLessThanOrEqual(30);

    const cut = new Cluster({ size: 3 });
    cut.startAll();
    const away = cut.electLeader();
    cut.advance(50);
    const cutMs = cut.nowMs;
    cut.isolate(away.id);
    cut.advance(70);
    expect(cut.leader?.id).toBe(away.id);
    cut.advance(200);
    expect(cut.electLeader().id).not.toBe(away.id);
    expect(cut.nowMs - cutMs).toBeGreaterThan(70);
  });

  it("of a follower, or a link that fell silent, changes nothing", () => {
    const solo = following();
    const before = solo.turn().nextDeadlineMs;
    expect(solo.turn(gone(3)).nextDeadlineMs).toBe(before);
    expect(solo.turn(silent(2)).nextDeadlineMs).toBe(before);
    expect(solo.turn({ ...gone(2), epoch: 19 }).nextDeadlineMs).toBe(before);
  });
});

describe("a pause of this process", () => {
  it("is not taken for silence of others, once", () => {
    const solo = following();
    const late = solo.after(171);
    expect([solo.raft.role, late.sendNow]).toEqual(["follower", []]);
    expect(late.nextDeadlineMs).toBe(solo.nowMs + 150);
    solo.after(171);
    expect(solo.raft.role).toBe("preCandidate");
  });

  it("is forgiven again after the leader was heard", () => {
    const solo = following();
    solo.after(171);
    solo.receive(heartbeat(2, 3));
    solo.after(171);
    expect(solo.raft.role).toBe("follower");
  });

  it("counts only when the timer is late by more than a heartbeat", () => {
    const solo = following();
    solo.after(170);
    expect(solo.raft.role).toBe("preCandidate");
  });

  it("does not fire a timer before what arrived meanwhile was seen", () => {
    const solo = following();
    const effects = solo.after(155, { type: "message", message: heartbeat(2, 3) });
    expect(solo.raft.role).toBe("follower");
    expect(effects.nextDeadlineMs).toBe(solo.nowMs + 150);
  });

  it("does not end a leadership before the answers that wait were read", () => {
    const solo = new Solo();
    solo.becomeLeader();
    solo.persisted(2);
    solo.after(5_000);
    expect([solo.raft.role, solo.raft.hasQuorumContact]).toEqual(["leader", false]);
    solo.after(1, { type: "message", message: accept(2, 1, 1) });
    expect(solo.raft.hasQuorumContact).toBe(true);
    solo.after(5_000);
    solo.after(99);
    expect(solo.raft.role).toBe("leader");
    solo.after(1);
    expect(solo.raft.role).toBe("follower");
  });
});

describe("check-quorum", () => {
  it("ends a leadership after an election timeout without a quorum, at its time", () => {
    const solo = new Solo();
    solo.becomeLeader();
    solo.persisted(2);
    for (let count = 0; count < 4; count += 1) solo.after(20);
    solo.receive(accept(2, 1, 1));
    for (let count = 0; count < 4; count += 1) solo.after(20);
    expect(solo.after(19).nextDeadlineMs).toBe(solo.nowMs + 1);
    expect(solo.raft.role).toBe("leader");
    const effects = solo.after(1);
    expect(effects.roleChange).toEqual({ role: "follower", term: 1, leader: 0 });
    expect(solo.propose(5).refused).toEqual([{ id: 5, reason: "notLeader" }]);
  });

  it("is satisfied by one of two peers", () => {
    const solo = new Solo();
    solo.becomeLeader();
    solo.persisted(2);
    for (let count = 0; count < 50; count += 1) {
      const [beat] = ofType(solo.after(20).sendNow, "heartbeat");
      if (beat === undefined) throw new Error("no heartbeat");
      const { round, epoch } = beat;
      solo.receive({ type: "heartbeatReply", from: 2, to: 1, term: 1, epoch, round });
    }
    expect(solo.raft.role).toBe("leader");
  });
});

describe("rule 18: a disk that hangs", () => {
  const beating = (solo: Solo, times: number) => {
    for (let count = 0; count < times; count += 1) {
      solo.after(20);
      const { term } = solo.raft;
      const reply = { type: "heartbeatReply", from: 2, to: 1, term, epoch: 20, round: 1 } as const;
      solo.receive(reply);
    }
  };

  it("ends the leadership although all peers answer", () => {
    const solo = new Solo();
    solo.becomeLeader();
    beating(solo, 4);
    expect(solo.raft.role).toBe("leader");
    beating(solo, 1);
    expect(solo.raft.role).toBe("follower");
  });

  it("does not, as long as writes complete within the timeout", () => {
    const solo = new Solo();
    solo.becomeLeader();
    let seq = 2;
    for (let id = 0; id < 20; id += 1) {
      const { write } = solo.propose(id);
      beating(solo, 2);
      solo.persisted(seq);
      seq = write?.seq ?? 0;
    }
    expect(solo.raft.role).toBe("leader");
  });

  it("keeps a node from standing", () => {
    const solo = new Solo();
    solo.becomeLeader();
    beating(solo, 5);
    expect(solo.after(150).sendNow).toEqual([]);
    expect(solo.raft.role).toBe("follower");
    solo.persisted(2);
    expect(ofType(solo.after(150).sendNow, "preVote").length).toBe(2);
  });
});

describe("contact with a quorum", () => {
  it("is missing from boot until a leader was heard, and again after its silence", () => {
    const solo = new Solo({ term: 3 });
    expect(solo.raft.hasQuorumContact).toBe(false);
    solo.receive(heartbeat(2, 3));
    expect(solo.raft.hasQuorumContact).toBe(true);
    solo.after(100);
    expect(solo.raft.hasQuorumContact).toBe(false);
  });

  it("is what makes a leader: without it nothing is proposed", () => {
    const solo = new Solo({ term: 3, vote: 1 });
    solo.after(150);
    solo.receive(ballot("preVoteReply", 2, 4));
    expect(solo.propose(1).refused).toEqual([{ id: 1, reason: "notLeader" }]);
  });
});

describe("an idle node", () => {
  it("allocates nothing: the same effects again while only time passes", () => {
    const solo = following();
    const first = solo.turn();
    solo.nowMs += 1;
    expect(solo.turn()).toBe(first);
    expect(Object.isFrozen(first.sendNow)).toBe(true);
  });

  it("asks for its first tick at once, and always names a finite deadline", () => {
    const solo = new Solo({ voters: [2, 3] });
    solo.after(5_000);
    solo.after(5_000);
    expect(solo.raft.role).toBe("follower");
    expect(Number.isFinite(solo.turn().nextDeadlineMs)).toBe(true);
  });
});
