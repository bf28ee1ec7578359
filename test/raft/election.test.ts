/** Transcripts of elections: what is sent, whether it waits for the disk, and which node wins. */
import { describe, expect, it } from "vitest";
import { Cluster } from "./cluster/cluster.js";
import { append, ballot, heartbeat, log, ofType, Solo, voteRequest } from "./cluster/solo.js";

describe("an election", () => {
  it("begins with a pre-vote that leaves at once and changes nothing durable", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const effects = solo.after(150);
    expect(effects.sendNow.map(({ type, to, term }) => [type, to, term])).toEqual([
      ["preVote", 2, 2],
      ["preVote", 3, 2],
    ]);
    expect(effects.write).toBeUndefined();
    expect(effects.roleChange).toEqual({ role: "preCandidate", term: 1, leader: 0 });
  });

  it("rule 4: asks for votes only after one record with term and own vote", () => {
    const solo = new Solo({ entries: log(1, 1) });
    solo.after(150);
    const effects = solo.receive(ballot("preVoteReply", 3, 2));
    expect(effects.write).toMatchObject({ seq: 1, hardState: { term: 2, vote: 1 }, entries: [] });
    expect(effects.sendNow).toEqual([]);
    expect(effects.sendAfter.map(({ seq, message }) => [seq, message.type, message.to])).toEqual([
      [1, "vote", 2],
      [1, "vote", 3],
    ]);
    expect(effects.sendAfter[0]?.message).toMatchObject({ lastLogIndex: 2, lastLogTerm: 1 });
  });

  it("is won by a majority; the noop leaves in the same turn, without waiting for the disk", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const effects = solo.becomeLeader();
    expect(effects.roleChange).toEqual({ role: "leader", term: 2, leader: 1 });
    expect(effects.write?.entries.map(({ index, term, kind }) => [index, term, kind])).toEqual([
      [3, 2, "noop"],
    ]);
    const appends = ofType(effects.sendNow, "append");
    expect(appends.map(({ to, prevLogIndex }) => [to, prevLogIndex])).toEqual([
      [2, 2],
      [3, 2],
    ]);
    expect(appends[0]?.entries).toBe(appends[1]?.entries);
  });

  it("asks peers that connect while it is under way", () => {
    const solo = new Solo();
    solo.turn({ type: "peerDown", peer: 2, epoch: 20, closed: false });
    expect(ofType(solo.after(150).sendNow, "preVote").map(({ to }) => to)).toEqual([3]);
    const effects = solo.turn({ type: "peerUp", peer: 2, epoch: 21 });
    expect(ofType(effects.sendNow, "preVote")).toMatchObject([{ to: 2, epoch: 21 }]);
    expect(solo.turn({ type: "peerUp", peer: 2, epoch: 20 }).sendNow).toEqual([]);
  });

  it("counts no answer that came for an earlier connection or an earlier term", () => {
    const solo = new Solo({ term: 4 });
    solo.after(150);
    solo.receive({ ...ballot("preVoteReply", 2, 5), epoch: 19 });
    solo.receive(ballot("preVoteReply", 2, 4));
    expect(solo.raft.role).toBe("preCandidate");
    solo.receive(ballot("preVoteReply", 2, 5));
    expect(solo.raft.role).toBe("candidate");
    solo.receive(ballot("voteReply", 3, 4), ballot("preVoteReply", 3, 5));
    expect(solo.raft.role).toBe("candidate");
  });

  it("is repeated soon when everybody within reach voted for somebody else", () => {
    const solo = new Solo();
    solo.turn({ type: "peerDown", peer: 3, epoch: 30, closed: true });
    solo.after(150);
    solo.receive(ballot("preVoteReply", 2, 1));
    const effects = solo.receive(ballot("voteReply", 2, 1, false));
    expect(solo.raft.role).toBe("follower");
    expect(effects.nextDeadlineMs - solo.nowMs).toBeLessThanOrEqual(10);
  });

  it("rule 4: makes a single voter leader at once, but not before its vote is durable", () => {
    const solo = new Solo({ voters: [1], learners: [2] });
    expect([solo.raft.role, solo.raft.term]).toEqual(["candidate", 1]);
    expect(ofType(solo.turn().sendNow, "append")).toEqual([]);
    const effects = solo.persisted(1);
    expect(solo.raft.role).toBe("leader");
    // Told before, the learner could outlive a crash in which this node forgets the term.
    expect(ofType(effects.sendNow, "append")).toMatchObject([{ to: 2, term: 1 }]);
  });

  it("rule 19: a single voter commits after its own write, not before", () => {
    const solo = new Solo({ voters: [1] });
    const opened = solo.persisted(1);
    expect([solo.raft.role, opened.applyTo]).toEqual(["leader", 0]);
    expect(solo.persisted(opened.write?.seq ?? 0).applyTo).toBe(1);
    const proposed = solo.propose(7);
    expect(proposed.applyTo).toBe(1);
    expect(solo.persisted(proposed.write?.seq ?? 0).applyTo).toBe(2);
  });
});

describe("a voter", () => {
  it("rule 4: grants after the record that holds the vote, and refuses at once", () => {
    const solo = new Solo({ entries: log(1, 1) });
    const granted = solo.receive(voteRequest("vote", 2, 5, 2, 1));
    expect(granted.write).toMatchObject({ seq: 1, hardState: { term: 5, vote: 2 } });
    expect(granted.sendAfter).toMatchObject([
      { seq: 1, message: { type: "voteReply", granted: true, term: 5, epoch: 7 } },
    ]);
    const refused = solo.receive(voteRequest("vote", 3, 5, 2, 1));
    expect(refused.sendNow).toMatchObject([{ type: "voteReply", granted: false, term: 5 }]);
    expect(refused.write).toBeUndefined();
  });

  it("repeats a vote it gave, still after its record", () => {
    const solo = new Solo();
    solo.receive(voteRequest("vote", 2, 5, 0, 0));
    const again = solo.receive(voteRequest("vote", 2, 5, 0, 0));
    expect(again.write).toBeUndefined();
    expect(again.sendAfter).toMatchObject([{ seq: 1, message: { granted: true } }]);
  });

  it("rule 6: keeps its vote across restarts and clears it only for a higher term", () => {
    const solo = new Solo({ term: 5, vote: 2 });
    const refused = solo.receive(voteRequest("vote", 3, 5, 9, 4));
    expect(refused.sendNow).toMatchObject([{ granted: false }]);
    const granted = solo.receive(voteRequest("vote", 3, 6, 9, 4));
    expect(granted.write?.hardState).toEqual({ term: 6, vote: 3 });
  });

  it.each([
    ["a shorter log of the same term", 2, 2, false],
    ["an equal log", 3, 2, true],
    ["a shorter log of a later term", 1, 3, true],
    ["a longer log of an earlier term", 9, 1, false],
  ])("judges %s by its last term first", (_, lastLogIndex, lastLogTerm, granted) => {
    const solo = new Solo({ entries: log(1, 2, 2) });
    const effects = solo.receive(voteRequest("vote", 2, 9, lastLogIndex, lastLogTerm));
    expect(effects.sendAfter.length).toBe(granted ? 1 : 0);
    expect(solo.raft.term).toBe(9);
  });

  it("rule 10: votes for a candidate that its own configuration does not know", () => {
    const solo = new Solo({ voters: [1, 2, 3] });
    const effects = solo.receive(voteRequest("vote", 99, 5, 0, 0));
    expect(effects.sendAfter).toMatchObject([{ message: { to: 99, granted: true } }]);
  });

  it("rule 11: is loyal to a leader it hears, to the point of not taking up the term", () => {
    const solo = new Solo({ term: 3 });
    solo.receive(heartbeat(2, 3));
    solo.nowMs += 99;
    const effects = solo.receive(voteRequest("vote", 3, 9, 9, 3));
    expect([effects.sendNow, effects.sendAfter]).toEqual([[], []]);
    expect(solo.raft.term).toBe(3);
    const refused = solo.receive(voteRequest("preVote", 3, 9, 9, 3));
    expect(refused.sendNow).toMatchObject([{ type: "preVoteReply", granted: false, term: 3 }]);
    solo.nowMs += 1;
    const granted = solo.receive(voteRequest("preVote", 3, 9, 9, 3));
    expect(granted.sendNow).toMatchObject([{ granted: true, term: 9 }]);
    expect(solo.raft.term).toBe(3);
  });

  it("rule 12: teaches the term with a refused pre-vote; a pre-candidate has no leader", () => {
    const solo = new Solo({ term: 8 });
    const effects = solo.receive(voteRequest("preVote", 2, 4, 9, 3));
    expect(effects.sendNow).toMatchObject([{ granted: false, term: 8 }]);
    const behind = new Solo({ term: 3 });
    behind.receive(heartbeat(2, 3));
    behind.after(150);
    expect([behind.raft.role, behind.raft.leader]).toEqual(["preCandidate", 0]);
    behind.receive(ballot("preVoteReply", 2, 8, false));
    expect([behind.raft.role, behind.raft.term]).toEqual(["follower", 8]);
  });

  it("rule 11: answers a leader of an earlier term, which then steps down", () => {
    const stuck = new Solo({ term: 8 });
    const [answer] = stuck.receive(append(2, 5, 0, 0, [])).sendNow;
    expect(answer).toMatchObject({ type: "appendReply", success: false, term: 8 });
    const [alive] = stuck.receive(heartbeat(2, 5)).sendNow;
    expect(alive).toMatchObject({ type: "heartbeatReply", term: 8 });
    const leader = new Solo({ term: 4 });
    leader.becomeLeader();
    if (answer !== undefined) leader.receive({ ...answer, from: 2, to: 1 });
    expect([leader.raft.role, leader.raft.term]).toEqual(["follower", 8]);
  });
});

describe("a cluster", () => {
  it.each([1, 2, 3, 4, 5])("of %i elects one leader that all follow", (size) => {
    const cluster = new Cluster({ size });
    cluster.startAll();
    const leader = cluster.electLeader();
    cluster.advance(50);
    for (const { raft } of cluster.nodes) {
      expect(raft.leader).toBe(leader.id);
      expect(raft.commitIndex).toBe(1);
      expect(raft.hasQuorumContact).toBe(true);
    }
  });

  it("is not disturbed by a node that comes back from isolation", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const leader = cluster.electLeader();
    const away = leader.id === 3 ? 2 : 3;
    cluster.isolate(away);
    cluster.advance(2_000);
    expect(cluster.raft(away).role).toBe("preCandidate");
    expect(cluster.raft(away).hasQuorumContact).toBe(false);
    const { term } = leader.raft;
    cluster.unblockAll();
    cluster.advance(200);
    expect([leader.raft.role, leader.raft.term]).toEqual(["leader", term]);
    expect(cluster.raft(away).leader).toBe(leader.id);
  });

  it("rule 11: takes back a node whose term ran ahead", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const leader = cluster.electLeader();
    const away = leader.id === 3 ? 2 : 3;
    cluster.crash(away);
    cluster.node(away).disk.hardState = { term: 40, vote: 0 };
    cluster.start(away);
    cluster.advance(1_000);
    expect(cluster.electLeader().raft.term).toBeGreaterThan(40);
    expect(new Set(cluster.nodes.map(({ raft }) => raft.leader)).size).toBe(1);
  });

  it("rule 13: a leader cut off steps down in time and then keeps nobody quiet", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const old = cluster.electLeader();
    cluster.isolate(old.id);
    cluster.advance(121);
    expect(old.raft.role).not.toBe("leader");
    expect(old.raft.hasQuorumContact).toBe(false);
    const sentBefore = cluster.sent.length;
    cluster.advance(500);
    const late = cluster.sent.slice(sentBefore).filter(({ from }) => from === old.id);
    expect(late.filter(({ type }) => type === "append" || type === "heartbeat")).toEqual([]);
    expect(cluster.electLeader().id).not.toBe(old.id);
  });
});
