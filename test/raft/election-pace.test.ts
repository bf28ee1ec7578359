/**
 * Transcripts of the rules that keep elections short (26 to 28, 31): which node a vote binds and for
 * how long, when a lost pre-vote is repeated, which answers are not waited for, and when a candidate
 * that has lost stands again.
 */
import { describe, expect, it } from "vitest";
import {
  append,
  ballot,
  heartbeat,
  heartbeatReply,
  ofType,
  Solo,
  voteRequest,
} from "./cluster/solo.js";

describe("rule 26: a voter that voted", () => {
  const vote = voteRequest("vote", 2, 5, 0, 0);
  const preVote = (from: number) => voteRequest("preVote", from, 6, 0, 0);
  const isLetStand = (solo: Solo, from: number): unknown[] =>
    ofType(solo.receive(preVote(from)).sendNow, "preVoteReply").map(({ granted }) => granted);

  it("lets nobody else stand after its candidate for as long as an election takes", () => {
    const solo = new Solo();
    solo.receive(vote);
    solo.nowMs += 9;
    expect(isLetStand(solo, 3)).toEqual([false]);
    expect(isLetStand(solo, 2)).toEqual([true]);
    solo.nowMs += 1;
    expect(isLetStand(solo, 3)).toEqual([true]);
  });

  it("is not bound again by a vote that it repeats", () => {
    const solo = new Solo();
    solo.receive(vote);
    solo.nowMs += 9;
    solo.receive(vote);
    solo.nowMs += 1;
    expect(isLetStand(solo, 3)).toEqual([true]);
  });

  it("is bound by a vote that an earlier process of it gave, once it repeats it", () => {
    const solo = new Solo({ term: 5, vote: 2 });
    solo.receive(vote);
    solo.nowMs += 9;
    expect(isLetStand(solo, 3)).toEqual([false]);
    solo.nowMs += 1;
    expect(isLetStand(solo, 3)).toEqual([true]);
  });

  it("is free when its candidate is gone", () => {
    const solo = new Solo();
    solo.receive(vote);
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: true });
    expect(isLetStand(solo, 3)).toEqual([true]);
  });

  it("stands soon when its candidate is gone", () => {
    const solo = new Solo();
    const voted = solo.receive(vote);
    expect(voted.nextDeadlineMs - solo.nowMs).toBeGreaterThanOrEqual(100);
    const effects = solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: true });
    expect(effects.nextDeadlineMs - solo.nowMs).toBeLessThanOrEqual(10);
  });

  it("is free when another one leads the term and is gone", () => {
    const solo = new Solo({ voters: [1, 2, 3, 4, 5] });
    solo.receive(vote, heartbeat(4, 5));
    solo.turn({ type: "peerDown", peer: 4, epoch: 40, closed: true });
    expect(isLetStand(solo, 3)).toEqual([true]);
  });

  it("is bound by its own vote while it stands, and not when it has lost", () => {
    const solo = new Solo();
    solo.after(150);
    solo.receive(ballot("preVoteReply", 2, 1));
    const preVoteOf3 = voteRequest("preVote", 3, 2, 0, 0);
    expect(solo.receive(preVoteOf3).sendNow).toMatchObject([{ granted: false, term: 1 }]);
    solo.receive(ballot("voteReply", 2, 1, false), ballot("voteReply", 3, 1, false));
    expect(solo.raft.role).toBe("follower");
    expect(solo.receive(preVoteOf3).sendNow).toMatchObject([{ granted: true, term: 2 }]);
  });

  it("forgets with its process that it is bound, but not whom it voted for", () => {
    const solo = new Solo({ term: 5, vote: 2 });
    expect(isLetStand(solo, 3)).toEqual([true]);
    expect(solo.receive(voteRequest("vote", 3, 5, 0, 0)).sendNow).toMatchObject([
      { type: "voteReply", granted: false },
    ]);
  });
});

describe("rule 27: a lost pre-vote", () => {
  const refusals = [ballot("preVoteReply", 2, 3, false), ballot("preVoteReply", 3, 3, false)];

  it("is repeated soon after somebody stood, but not before those who voted are free", () => {
    const solo = new Solo();
    // Somebody stands in term 3, wins nothing, and is gone.
    solo.after(0, { type: "message", message: voteRequest("vote", 3, 3, 0, 0) });
    solo.turn({ type: "peerDown", peer: 3, epoch: 30, closed: true });
    solo.receive(append(2, 3, 0, 0, []));
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: true });
    solo.turn({ type: "peerUp", peer: 2, epoch: 21 }, { type: "peerUp", peer: 3, epoch: 31 });
    solo.after(5);
    expect(solo.raft.role).toBe("preCandidate");
    const effects = solo.receive(
      ...refusals.map((refusal, at) => ({ ...refusal, epoch: 21 + at * 10 })),
    );
    const delayMs = effects.nextDeadlineMs - solo.nowMs;
    expect(delayMs).toBeGreaterThanOrEqual(10);
    expect(delayMs).toBeLessThanOrEqual(20);
    expect(ofType(solo.after(delayMs).sendNow, "preVote").map(({ to }) => to)).toEqual([2, 3]);
  });

  it("is repeated soon after it was refused by one that is in a higher term", () => {
    const solo = new Solo({ term: 3 });
    solo.after(150);
    const effects = solo.receive(ballot("preVoteReply", 2, 4, false));
    expect([solo.raft.role, solo.raft.term]).toEqual(["follower", 4]);
    const delayMs = effects.nextDeadlineMs - solo.nowMs;
    expect(delayMs).toBeGreaterThanOrEqual(10);
    expect(delayMs).toBeLessThanOrEqual(20);
  });

  it("waits for its timer when the term is old", () => {
    const solo = new Solo({ term: 3 });
    solo.after(150);
    const effects = solo.receive(...refusals);
    expect(solo.raft.role).toBe("preCandidate");
    expect(effects.nextDeadlineMs - solo.nowMs).toBeGreaterThanOrEqual(100);
  });
});

describe("rule 28: the leader whose silence began an election", () => {
  const led = (): Solo => {
    const solo = new Solo({ term: 1 });
    solo.receive(append(2, 1, 0, 0, []));
    solo.after(150);
    return solo;
  };

  it("is waited for no longer: a tie is seen while its connection stands", () => {
    const solo = led();
    // The third one let it stand, and voted for another.
    solo.receive(ballot("preVoteReply", 3, 2));
    expect(solo.raft.role).toBe("candidate");
    const effects = solo.receive(ballot("voteReply", 3, 2, false));
    expect(solo.raft.role).toBe("follower");
    expect(effects.nextDeadlineMs - solo.nowMs).toBeLessThanOrEqual(10);
  });

  it.each([
    ["is heard", { type: "message", message: heartbeatReply(2, 1, 1) }],
    ["has a new connection", { type: "peerUp", peer: 2, epoch: 21 }],
  ] as const)("may vote again when it %s", (_how, sign) => {
    const solo = led();
    solo.receive(ballot("preVoteReply", 3, 2));
    solo.turn(sign);
    solo.receive(ballot("voteReply", 3, 2, false));
    expect(solo.raft.role).toBe("candidate");
  });

  it("elects all the same with the vote that it gives", () => {
    const solo = led();
    const asked = solo.receive(ballot("preVoteReply", 2, 2));
    expect(solo.raft.role).toBe("candidate");
    solo.persisted(asked.write?.seq ?? 0);
    solo.receive(ballot("voteReply", 2, 2));
    expect(solo.raft.role).toBe("leader");
  });
});

describe("rule 31: a candidate that loses again", () => {
  /** Stands after `waitMs`, and loses. Returns after how long it stands again. */
  const loseAfter = (solo: Solo, waitMs: number): number => {
    solo.after(waitMs);
    const term = solo.raft.term + 1;
    const stood = solo.receive(ballot("preVoteReply", 2, term));
    expect([solo.raft.role, solo.raft.term]).toEqual(["candidate", term]);
    solo.persisted(stood.write?.seq ?? 0);
    const lost = solo.receive(...[2, 3].map((id) => ballot("voteReply", id, term, false)));
    return lost.nextDeadlineMs - solo.nowMs;
  };

  it("draws its delay from a time that doubles, up to four election timeouts", () => {
    const solo = new Solo();
    let delayMs = 150;
    const delays = Array.from({ length: 8 }, () => {
      delayMs = loseAfter(solo, delayMs);
      return delayMs;
    });
    expect(delays).toEqual([5, 10, 20, 40, 80, 160, 200, 200]);
  });

  it("begins with the shortest time again when it has known a leader", () => {
    const solo = new Solo();
    expect(loseAfter(solo, loseAfter(solo, 150))).toBe(10);
    solo.receive(heartbeat(2, solo.raft.term));
    expect(loseAfter(solo, 150)).toBe(5);
  });
});
