/**
 * Transcripts of rules 14, 15 and 16: reads that are not in the log (thesis, 6.4), and which
 * node may answer them.
 */
import { describe, expect, it } from "vitest";
import { Cluster } from "./cluster/cluster.js";
import { target } from "./cluster/configurations.js";
import { usurp } from "./cluster/reign.js";
import { accept, heartbeat, heartbeatReply, ofType, Solo } from "./cluster/solo.js";

const read = (id: number) => ({ type: "readIndex", id }) as const;

/** Leads term 1 with its noop committed. */
function leading(options: { voters?: number[]; learners?: number[] } = {}): Solo {
  const solo = new Solo(options);
  const won = solo.becomeLeader();
  solo.persisted(won.write?.seq ?? 0);
  solo.receive(accept(2, 1, 1), accept(3, 1, 1));
  return solo;
}

/** The round of the heartbeats among `messages`. */
function roundOf(messages: Parameters<typeof ofType>[0]): number {
  const rounds = new Set(
    ofType(messages, "heartbeat")
      .map(({ round }) => round)
      .filter((round) => round !== 0),
  );
  expect(rounds.size).toBe(1);
  return [...rounds][0] as number;
}

describe("rule 14: no read before the first commit of the term", () => {
  it("waits for it, and then for a round that begins after it", () => {
    const solo = new Solo();
    const won = solo.becomeLeader();
    solo.persisted(won.write?.seq ?? 0);
    const asked = solo.turn(read(7));
    expect([asked.reads, ofType(asked.sendNow, "heartbeat")]).toEqual([[], []]);
    const beat = roundOf(solo.after(20).sendNow);
    // Confirms that it led, but not what was committed before it.
    expect(solo.receive(heartbeatReply(2, 1, beat)).reads).toEqual([]);
    const committed = solo.receive(accept(2, 1, 1));
    expect([committed.applyTo, committed.reads]).toEqual([1, []]);
    const effects = solo.receive(heartbeatReply(2, 1, roundOf(committed.sendNow)));
    expect(effects.reads).toEqual([{ id: 7, index: 1 }]);
  });

  it("waits in vain when it never comes: the leader steps down and refuses", () => {
    const solo = new Solo();
    const won = solo.becomeLeader();
    solo.persisted(won.write?.seq ?? 0);
    solo.turn(read(7));
    const refused = [];
    for (let count = 0; count < 12; count += 1) refused.push(...solo.after(10).readsRefused);
    expect([solo.raft.role, refused]).toEqual(["follower", [7]]);
  });
});

describe("rule 15: a read is confirmed by a round that began after it", () => {
  it("at once, with one round for all reads of a turn", () => {
    const solo = leading();
    const asked = solo.turn(read(7), read(8));
    const beats = ofType(asked.sendNow, "heartbeat").filter(({ round }) => round !== 0);
    expect(beats.map(({ to }) => to)).toEqual([2, 3]);
    expect(solo.receive(heartbeatReply(3, 1, roundOf(asked.sendNow))).reads).toEqual([
      { id: 7, index: 1 },
      { id: 8, index: 1 },
    ]);
  });

  it("and never by a delayed answer to an earlier one", () => {
    const solo = leading();
    const earlier = roundOf(solo.after(20).sendNow);
    const asked = solo.turn(read(7));
    const round = roundOf(asked.sendNow);
    expect(round).toBeGreaterThan(earlier);
    expect(solo.receive(heartbeatReply(2, 1, earlier)).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(3, 1, earlier)).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(3, 1, round)).reads).toEqual([{ id: 7, index: 1 }]);
  });

  it("nor by an acknowledged append, an answer of another term, link or future", () => {
    const solo = leading();
    const round = roundOf(solo.turn(read(7)).sendNow);
    const { write } = solo.propose(9);
    solo.persisted(write?.seq ?? 0);
    expect(solo.receive(accept(2, 1, 2)).reads).toEqual([]);
    expect(solo.receive({ ...heartbeatReply(2, 1, round), epoch: 19 }).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(2, 1, round + 5)).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(9, 1, round)).reads).toEqual([]);
    // What was committed when the round began, not what is now.
    expect(solo.receive(heartbeatReply(2, 1, round)).reads).toEqual([{ id: 7, index: 1 }]);
  });

  it("by an answer to a later one as well", () => {
    const solo = leading();
    solo.turn(read(7));
    const later = roundOf(solo.after(20).sendNow);
    expect(solo.receive(heartbeatReply(2, 1, later)).reads).toEqual([{ id: 7, index: 1 }]);
  });

  it("by no round of an earlier leadership, whose numbers come again", () => {
    const solo = leading();
    const round = roundOf(solo.turn(read(7)).sendNow);
    const deposed = solo.receive(heartbeat(2, 2));
    expect(deposed.readsRefused).toEqual([7]);
    solo.persisted(deposed.write?.seq ?? 0);
    const won = solo.becomeLeader();
    solo.persisted(won.write?.seq ?? 0);
    solo.receive(accept(2, 3, 2), accept(3, 3, 2));
    solo.turn(read(8));
    expect(solo.receive(heartbeatReply(2, 1, round)).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(3, 1, round)).reads).toEqual([]);
  });

  it("by no answer to a heartbeat of an earlier term, given by a node in this one", () => {
    // The answer teaches a term; were it to repeat the round, a leader of that term, on the same
    // connection as before, would take it for an answer to its own round of this number.
    const ahead = new Solo({ term: 8 });
    const [reply] = ahead.receive(heartbeat(2, 5, 0, 9)).sendNow;
    expect(reply).toMatchObject({ type: "heartbeatReply", term: 8, round: 0 });
  });

  it("by a majority of both halves, learners not counted", () => {
    const solo = leading({ voters: [1, 2, 3, 5], learners: [4] });
    solo.receive(accept(4, 1, 1), accept(5, 1, 1));
    const joined = solo.turn({ type: "changeMembership", id: 6, target: target([1, 4]) });
    solo.persisted(joined.write?.seq ?? 0);
    const round = roundOf(solo.turn(read(7)).sendNow);
    expect(solo.receive(heartbeatReply(2, 1, round)).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(3, 1, round)).reads).toEqual([]);
    expect(solo.receive(heartbeatReply(4, 1, round)).reads).toEqual([{ id: 7, index: 1 }]);
  });
});

describe("rule 16: no lease", () => {
  it("answers nothing on old contact, however fresh: every read costs a round", () => {
    const solo = leading();
    const first = roundOf(solo.turn(read(7)).sendNow);
    solo.receive(heartbeatReply(2, 1, first), heartbeatReply(3, 1, first));
    const again = solo.turn(read(8));
    expect(again.reads).toEqual([]);
    expect(roundOf(again.sendNow)).toBeGreaterThan(first);
  });

  it("a leader that stood still and was deposed meanwhile answers nothing on waking", () => {
    const cluster = new Cluster({ size: 3 });
    cluster.startAll();
    const old = cluster.electLeader();
    cluster.advance(50);
    expect(usurp(cluster, old.id)).toBeDefined();
    expect(cluster.committedIndex).toBeGreaterThan(old.raft.commitIndex);
    const id = cluster.read(old.id);
    expect([old.raft.role, old.reads]).toEqual(["leader", []]);
    cluster.advance(50);
    expect([old.reads, old.readsRefused]).toEqual([[], [id]]);
  });
});

describe("a read", () => {
  it("of a single voter is answered at once", () => {
    const solo = new Solo({ voters: [1] });
    const won = solo.persisted(1);
    solo.persisted(won.write?.seq ?? 0);
    expect(solo.turn(read(7)).reads).toEqual([{ id: 7, index: 1 }]);
  });

  it("is refused by a node that does not lead, and by a leader that stops", () => {
    expect(new Solo().turn(read(7)).readsRefused).toEqual([7]);
    const solo = leading();
    solo.turn(read(8));
    expect(solo.receive(heartbeat(3, 4)).readsRefused).toEqual([8]);
  });

  it("goes on while leadership is handed over", () => {
    const solo = leading();
    solo.turn({ type: "transferLeadership", id: 5, target: 2 });
    const round = roundOf(solo.turn(read(7)).sendNow);
    expect(solo.receive(heartbeatReply(3, 1, round)).reads).toEqual([{ id: 7, index: 1 }]);
  });
});
