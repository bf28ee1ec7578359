/** Reads without log entries: which round confirms which read, and when none can. */
import { describe, expect, it } from "vitest";
import type { Input, Message, NodeId } from "../../src/raft/index.js";
import { target } from "./cluster/configurations.js";
import { accept, heartbeat, ofType, Solo } from "./cluster/solo.js";

function ask(...ids: readonly number[]): Input[] {
  return ids.map((id) => ({ type: "readIndex", id }));
}

function beat(from: NodeId, round: number, epoch = from * 10, term = 1): Message {
  return { type: "heartbeatReply", from, to: 1, term, epoch, round };
}

/** A leader of term 1 whose noop is committed. */
function leader(): Solo {
  const solo = new Solo();
  solo.persisted(solo.becomeLeader().write?.seq ?? 0);
  solo.receive(accept(2, 1, 1));
  return solo;
}

describe("a read", () => {
  it("is confirmed by a round that began after it, in one broadcast for all of its turn", () => {
    const solo = leader();
    const { sendNow, reads } = solo.turn(...ask(1, 2, 3));
    expect(reads).toEqual([]);
    const beats = ofType(sendNow, "heartbeat");
    expect(beats.map(({ to, round }) => [to, round])).toEqual([
      [2, 1],
      [3, 1],
    ]);
    expect(solo.receive(beat(3, 1)).reads).toEqual([1, 2, 3].map((id) => ({ id, index: 1 })));
    expect(solo.receive(beat(2, 1)).reads).toEqual([]);
  });

  it("rule 15: is not confirmed by an answer to an earlier round", () => {
    const solo = leader();
    solo.turn(...ask(1));
    solo.turn(...ask(2));
    expect(solo.receive(beat(2, 1)).reads).toEqual([{ id: 1, index: 1 }]);
    expect(solo.receive(beat(3, 1)).reads).toEqual([]);
    expect(solo.receive(beat(2, 1)).reads).toEqual([]);
    expect(solo.receive(beat(2, 2)).reads).toEqual([{ id: 2, index: 1 }]);
  });

  it("is confirmed by an answer to a later round, in the order of asking", () => {
    const solo = leader();
    solo.turn(...ask(1));
    solo.turn(...ask(2));
    solo.after(20);
    expect(solo.receive(beat(3, 3)).reads.map(({ id }) => id)).toEqual([1, 2]);
  });

  it("is not confirmed by an answer of another term or connection, or to no round at all", () => {
    const solo = leader();
    solo.turn(...ask(1));
    expect(solo.receive(beat(2, 1, 19), beat(2, 2), beat(2, 1, 20, 0)).reads).toEqual([]);
    expect(solo.receive(beat(2, 1)).reads).toHaveLength(1);
  });

  it("rule 14: waits for the first commit of the term, and trusts that index", () => {
    const solo = new Solo();
    const won = solo.becomeLeader();
    const asked = solo.turn(...ask(1));
    expect(ofType(asked.sendNow, "heartbeat")).toEqual([]);
    solo.receive(beat(2, 1));
    solo.persisted(won.write?.seq ?? 0);
    const committed = solo.receive(accept(2, 1, 1));
    expect(committed.reads).toEqual([]);
    const [begun] = ofType(committed.sendNow, "heartbeat");
    expect(begun?.round).toBe(1);
    expect(solo.receive(beat(2, 1)).reads).toEqual([{ id: 1, index: 1 }]);
  });

  it("shares the periodic round when that is due anyway", () => {
    const solo = leader();
    const { sendNow } = solo.after(20, ...ask(1));
    expect(ofType(sendNow, "heartbeat").map(({ round }) => round)).toEqual([1, 1]);
  });

  it("is answered in the same turn by a voter that decides alone", () => {
    const solo = new Solo({ voters: [1], learners: [2] });
    const won = solo.persisted(1);
    solo.persisted(won.write?.seq ?? 0);
    expect(solo.turn(...ask(1, 2)).reads.map(({ id }) => id)).toEqual([1, 2]);
  });

  it("needs both halves of a joint configuration", () => {
    const solo = new Solo({ learners: [4, 5] });
    solo.persisted(solo.becomeLeader().write?.seq ?? 0);
    solo.receive(accept(2, 1, 1), accept(4, 1, 1), accept(5, 1, 1));
    const change = { type: "changeMembership", id: 9, target: target([1, 4, 5]) } as const;
    const { accepted, sendNow } = solo.turn(change, ...ask(1));
    expect(accepted).toHaveLength(1);
    const { round } = ofType(sendNow, "heartbeat")[0] ?? { round: 0 };
    expect(solo.receive(beat(2, round), beat(3, round)).reads).toEqual([]);
    expect(solo.receive(beat(5, round)).reads).toHaveLength(1);
  });

  it("is refused by a node that does not lead, at once or when its leadership ends", () => {
    expect(new Solo().turn(...ask(4)).readsRefused).toEqual([4]);
    const solo = leader();
    solo.turn(...ask(1));
    const { readsRefused, reads } = solo.turn(
      ...ask(2),
      { type: "message", message: beat(2, 1, 20, 2) },
      ...ask(3),
    );
    expect(readsRefused).toEqual([1, 2, 3]);
    expect(reads).toEqual([]);
    const deaf = leader();
    deaf.turn(...ask(1));
    deaf.after(99);
    deaf.after(1, { type: "message", message: heartbeat(2, 2) });
    expect(deaf.raft.role).toBe("follower");
  });
});
