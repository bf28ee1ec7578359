import { describe, expect, test } from "vitest";
import { VITALS_EVENTS_MAX } from "../../../src/protocol/index.js";
import { EventList, type WatchedState } from "../../../src/server/vitals/event-list.js";

const FIRST: WatchedState = {
  ...{ term: 0, leader: 0, voters: [1, 2, 3], outgoing: [], learners: [], linked: [] },
  ...{ isDiskFull: false, isMemoryScarce: false, isOpen: true, snapshotIndex: 0 },
  auditState: "writing",
};

/** What is noted of the steps from the first state, each of which changes it further. */
function noted(...steps: readonly Partial<WatchedState>[]): string[] {
  const list = new EventList(1, FIRST, "version 1 started", 0);
  let state = FIRST;
  for (const [at, step] of steps.entries()) {
    state = { ...state, ...step };
    list.compare(state, at + 1);
  }
  return list.after(0).map(({ kind, text }) => `${kind}: ${text}`);
}

describe("the list of events", () => {
  test("begins with the start, and grows only when something changes", () => {
    const list = new EventList(1, FIRST, "version 1 started", 7);
    for (let wallMs = 8; wallMs < 100; wallMs += 1) list.compare({ ...FIRST }, wallMs);
    expect(list.after(0)).toEqual([{ wallMs: 7, kind: "started", text: "version 1 started" }]);
    expect(list.after(7)).toEqual([]);
  });

  test("notes elections: a leader, none, this node, and the same node in another term", () => {
    const elections = noted(
      { leader: 2, term: 1 },
      { leader: 0, term: 2 },
      { leader: 0, term: 3 },
      { leader: 1 },
      { leader: 1, term: 4 },
    );
    expect(elections).toEqual([
      "leader: node 2 leads in term 1",
      "noLeader: no leader is known in term 2",
      "leader: this node leads in term 3",
      "leader: this node leads in term 4",
    ]);
  });

  test("notes changes of members, even those that are under way", () => {
    const changes = noted(
      { learners: [4] },
      { voters: [1, 2, 3, 4], outgoing: [1, 2, 3], learners: [] },
      { outgoing: [] },
    );
    expect(changes).toEqual([
      "members: voters 1, 2, 3; learners 4",
      "members: voters 1, 2, 3, 4; before the change 1, 2, 3",
      "members: voters 1, 2, 3, 4",
    ]);
  });

  test("notes each link that comes or goes", () => {
    expect(noted({ linked: [2, 3] }, { linked: [3] })).toEqual([
      "peer: the link to node 2 is up",
      "peer: the link to node 3 is up",
      "peer: the link to node 2 is down",
    ]);
  });

  test("notes disk, memory, access, snapshots and the audit, and when they are well again", () => {
    const bad = {
      isDiskFull: true,
      isMemoryScarce: true,
      isOpen: false,
      snapshotIndex: 9,
    } as const;
    const kinds = noted({ ...bad, auditState: "failing" }, { ...FIRST, snapshotIndex: 9 });
    expect(kinds).toEqual([
      "disk: the disk has no room for the log",
      "memory: memory is scarce: new locks are refused",
      "access: access is limited now",
      "snapshot: the log begins after the snapshot of entry 9",
      "audit: the audit cannot be written",
      "disk: the disk has room again",
      "memory: there is enough memory again",
      "access: everybody may do everything now",
      "audit: the audit is written again",
    ]);
  });

  test("forgets the oldest when there are too many", () => {
    const steps = Array.from({ length: VITALS_EVENTS_MAX + 5 }, (_, at) => ({
      snapshotIndex: at + 1,
    }));
    const all = noted(...steps);
    expect(all).toHaveLength(VITALS_EVENTS_MAX);
    expect(all[0]).toContain("entry 6");
  });
});
