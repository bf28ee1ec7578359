/** Locks and nodes for the tests of `holdfast top`, as the cluster would describe them. */
import type { SeenNode } from "../../../bin/cluster/cluster-findings.js";
import type { LocksSeen, NodesSeen } from "../../../bin/top/cluster-facts.js";
import { after, firstState, type TopEvent, type TopState } from "../../../bin/top/top-state.js";
import type { KeyView } from "../../../src/index.js";
import { lockRow } from "../../../src/views/index.js";

/** 22:41:07 in the zone of the tests, whatever that is. */
export const AT_MS = new Date(2026, 10, 23, 22, 41, 7).getTime();

export interface LockOf {
  readonly key: string;
  readonly holder?: string;
  readonly heldMs?: number;
  readonly waiters?: number;
}

export function keyView({
  key,
  holder = "billing-7",
  heldMs = 4_210,
  waiters = 0,
}: LockOf): KeyView {
  const who = { session: 7, identity: "anonymous", task: 1, sequence: 1, permits: 0 } as const;
  const hold = {
    ...who,
    token: 4711,
    mode: "exclusive",
    sessionName: holder,
    heldMs,
    waitedMs: 0,
    orderedBy: "",
    leaseMs: 14_000,
    ttlMs: 15_000,
    endsInMs: null,
    isRevoked: false,
    holder: "session",
    leaseOwner: "",
    slots: [],
    value: "",
  } as const;
  const waiter = (at: number): KeyView["waiters"][number] => ({
    ...who,
    mode: "exclusive",
    sessionName: `worker-${at}`,
    arrival: at,
    waitingMs: 1_000 * at,
    endsInMs: null,
    priority: 0,
    isUpgrade: false,
    isEligible: false,
  });
  const queue = Array.from({ length: waiters }, (_, at) => waiter(at + 1));
  return { key, kind: "lock", limit: 0, holds: [hold], waiters: queue, cooldowns: [] };
}

export function locksSeen(
  locks: readonly LockOf[],
  seen: Partial<Omit<LocksSeen, "rows">> = {},
): LocksSeen {
  const rows = locks.map((lock) => lockRow(keyView(lock)));
  const count = rows.length;
  return {
    prefix: "",
    sort: "waiters",
    rows,
    total: count,
    counted: count,
    wallMs: AT_MS,
    ...seen,
  };
}

export function node(id: number, more: Partial<SeenNode> = {}): SeenNode {
  return {
    id,
    role: "",
    answers: "yes",
    isVoter: true,
    lagEntries: 0,
    endpoint: `ws://127.0.0.1:74${10 + id}`,
    problem: "",
    words: {
      role: id === 2 ? "leader" : "follower",
      leader: 2,
      term: 5,
      commitIndex: 102,
      appliedIndex: 102,
    },
    ...more,
  };
}

export const dead = (id: number): SeenNode =>
  node(id, {
    answers: "no",
    problem: "ECONNREFUSED",
    words: undefined,
  });

export function nodesSeen(nodes: readonly SeenNode[], leader = 2, term = 5): NodesSeen {
  return { nodes, leader, term, wallMs: AT_MS };
}

export function stateAfter(
  size: { columns: number; rows: number },
  ...events: readonly (TopEvent | string)[]
): TopState {
  const first = firstState({ size, prefix: "", sort: "waiters", wallMs: AT_MS });
  return next(first, ...events);
}

/** A text is the name of a key that was pressed. */
export function next(state: TopState, ...events: readonly (TopEvent | string)[]): TopState {
  return events.reduce<TopState>(
    (so, event) => after(so, typeof event === "string" ? { type: "key", key: event } : event),
    state,
  );
}
