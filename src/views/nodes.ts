/** The nodes of a cluster, a line each. Pure. */
import type { Columns } from "./column.js";
import { agoText, formatDuration } from "./durations.js";
import { findingsOfNode, type Health, type NodeWords } from "./health.js";
import { NOTHING, numberText, otherOr, type Shown } from "./phrase.js";

/** A node, as far as a surface knows it. */
export interface NodeRow {
  /** `undefined` if it does not answer and no other node named it. */
  readonly id: number | undefined;
  /**
   * "unasked": it cannot be asked from here, and another one speaks for it. `undefined`: it is not
   * known yet.
   */
  readonly answers: "yes" | "no" | "unasked" | undefined;
  /** What it says of itself now. */
  readonly words: NodeWords | undefined;
  /** As others know it; "" if nobody says. */
  readonly role: string;
  /** Committed entries that are not known to be durable there, by the leader. */
  readonly lagEntries: number | null;
  /** Since another node heard it; `undefined` if that is not known. */
  readonly silentMs?: number | undefined;
  readonly endpoint: string;
  /** Why it does not answer, or what is damaged; "" if nothing is wrong. */
  readonly problem: string;
}

export const NODE_COLUMNS = {
  node: { id: "node", title: "Node", isNumeric: true, cell: ({ id }) => numberOr(id) },
  role: { id: "role", title: "Role", cell: roleShown },
  state: { id: "state", title: "State", cell: (row) => nodeState(row).word },
  pid: { id: "pid", title: "PID", isNumeric: true, cell: ({ words }) => numberOr(words?.pid) },
  term: { id: "term", title: "Term", isNumeric: true, cell: ({ words }) => numberOr(words?.term) },
  commit: {
    id: "commit",
    title: "Commit",
    isNumeric: true,
    cell: ({ words }) => numberOr(words?.commitIndex),
  },
  applied: {
    id: "applied",
    title: "Applied",
    isNumeric: true,
    cell: ({ words }) => numberOr(words?.appliedIndex),
  },
  lag: {
    id: "lag",
    title: "Lag",
    isNumeric: true,
    cell: ({ lagEntries }) => (lagEntries === null ? NOTHING : numberText(lagEntries)),
  },
  disk: { id: "disk", title: "Disk", cell: diskText },
  stall: {
    id: "stall",
    title: "Longest stall",
    isNumeric: true,
    cell: ({ words }) => durationOr(words?.loopDelayMaxMs),
  },
  clients: {
    id: "clients",
    title: "Clients",
    isNumeric: true,
    cell: ({ words }) =>
      words?.connections === undefined ? NOTHING : numberText(words.connections),
  },
  uptime: { id: "uptime", title: "Up for", isNumeric: true, cell: uptimeText },
  version: { id: "version", title: "Version", cell: ({ words }) => otherOr(words?.version ?? "") },
  endpoint: { id: "endpoint", title: "Endpoint", cell: ({ endpoint }) => otherOr(endpoint) },
  problem: {
    id: "problem",
    title: "Problem",
    cell: ({ problem }) => (problem === "" ? "" : ["(", { other: problem }, ")"]),
  },
} satisfies Columns<NodeRow>;

/** Raft's words for the two steps of a candidacy mean nothing to an operator. */
function roleShown({ words, role, answers }: NodeRow): Shown {
  const known = words?.role ?? (answers === "no" && role !== "learner" ? "" : role);
  return known === "preCandidate" || known === "candidate" ? "electing" : otherOr(known);
}

/** The worst that is wrong with a node itself, in a word. */
const STATE_WORDS: Readonly<Partial<Record<string, string>>> = {
  diskFull: "disk full",
  noLeader: "no leader",
  noMajority: "no majority",
  audit: "audit fails",
  memory: "little memory",
  certificate: "certificate",
  stalled: "stood still",
  restoring: "takes a snapshot",
  lag: "lags",
  draining: "stopping",
};

export interface NodeState {
  readonly level: Health["level"];
  readonly word: string;
}

export function nodeState({ id = 0, answers, words, silentMs }: NodeRow): NodeState {
  if (answers === undefined) return { level: "asking", word: "being asked" };
  if (answers === "no") {
    const since = silentMs === undefined ? "" : `, last heard ${agoText(silentMs)}`;
    return { level: "bad", word: `unreachable${since}` };
  }
  const findings = words === undefined ? [] : findingsOfNode(id, words, words.wallMs);
  const worst = findings.find(({ level }) => level !== "warning") ?? findings[0];
  if (worst === undefined) return { level: "good", word: "answers" };
  return { level: worst.level, word: STATE_WORDS[worst.code] ?? worst.code };
}

function diskText({ words }: NodeRow): string {
  if (words?.isDiskFull === true) return "full";
  const ms = words?.logSyncP99Ms ?? null;
  return ms === null ? NOTHING : `sync p99 ${formatDuration(ms)}`;
}

function uptimeText({ words }: NodeRow): string {
  if (words?.wallMs === undefined || words.startedWallMs === undefined) return NOTHING;
  return formatDuration(words.wallMs - words.startedWallMs);
}

function durationOr(ms: number | undefined): string {
  return ms === undefined ? NOTHING : formatDuration(Math.round(ms));
}

function numberOr(value: number | undefined): string {
  return value === undefined ? NOTHING : String(value);
}
