/**
 * The plain HTTP pages beside the client port. `/livez` says only that the loop turns and never
 * depends on a quorum; `/readyz` says whether clients should come here. Lock names are on none of
 * them.
 */
import type { TableCounts } from "../lockfsm/index.js";
import type { HttpAnswer } from "../net/index.js";
import type { NodeEndpoint } from "../protocol/index.js";
import type { DriverStatus } from "./driver-ports.js";
import { VERSION } from "./version.js";

/** Entries that a ready node may be behind in applying what is committed. */
const READY_LAG_ENTRIES_MAX = 1_024;
const TEXT = "text/plain; charset=utf-8";
const METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

/** Where the pages get their numbers from, read anew for each request. */
export interface PageSource {
  readonly id: number;
  readonly clusterId: string;
  readonly incarnation: number;
  readonly pid: number;
  readonly uptimeMs: () => number;
  readonly endpoint: () => string;
  readonly endpoints: () => readonly NodeEndpoint[];
  readonly status: () => DriverStatus;
  readonly counts: () => TableCounts;
  readonly isDraining: () => boolean;
}

/** Answers a request by its path. */
export function createPages(source: PageSource): (path: string) => HttpAnswer {
  return (path) => {
    switch (path) {
      case "/":
        return text(200, `holdfast ${VERSION}, node ${source.id}\n`);
      case "/livez":
        return text(200, "ok\n");
      case "/readyz": {
        const reasons = unreadyReasons(source);
        return reasons.length === 0 ? text(200, "ok\n") : text(503, `${reasons.join("\n")}\n`);
      }
      case "/status":
        return {
          status: 200,
          contentType: "application/json",
          body: `${JSON.stringify(statusOf(source))}\n`,
        };
      case "/metrics":
        return { status: 200, contentType: METRICS_TEXT, body: metricsOf(source) };
      default:
        return text(404, "not found\n");
    }
  };
}

function unreadyReasons(source: PageSource): string[] {
  const { leader, hasQuorumContact, commitIndex, appliedIndex } = source.status();
  const lag = commitIndex - appliedIndex;
  const reasons: string[] = [];
  if (source.isDraining()) reasons.push("the node is being stopped");
  if (leader === 0) reasons.push("no leader is known");
  if (!hasQuorumContact) reasons.push("no contact with a majority");
  if (lag > READY_LAG_ENTRIES_MAX) reasons.push(`${lag} committed entries are not applied yet`);
  return reasons;
}

function statusOf(source: PageSource): Record<string, unknown> {
  const { role, term, leader, commitIndex, appliedIndex, connections } = source.status();
  return {
    id: source.id,
    role,
    pid: source.pid,
    term,
    leader,
    commitIndex,
    appliedIndex,
    endpoint: source.endpoint(),
    clusterId: source.clusterId,
    incarnation: source.incarnation,
    version: VERSION,
    uptimeMs: Math.floor(source.uptimeMs()),
    connections,
    ...source.counts(),
    peers: source.endpoints().filter(({ id }) => id !== source.id),
  };
}

/** Prometheus text format 0.0.4: `[name, type, help, value]`. */
function metricsOf(source: PageSource): string {
  const status = source.status();
  const { sessions, keys, holds, waiters } = source.counts();
  const rows: readonly (readonly [string, "gauge" | "counter", string, number])[] = [
    ["has_leader", "gauge", "Whether a leader is known.", status.leader === 0 ? 0 : 1],
    ["is_leader", "gauge", "Whether this node leads.", status.role === "leader" ? 1 : 0],
    ["term", "gauge", "Raft term.", status.term],
    ["commit_index", "gauge", "Last committed log index.", status.commitIndex],
    ["applied_index", "gauge", "Last applied log index.", status.appliedIndex],
    ["leader_changes_total", "counter", "New leaders seen.", status.leaderChangesTotal],
    ["proposals_total", "counter", "Entries proposed here.", status.entriesProposedTotal],
    ["commands_applied_total", "counter", "Commands applied.", status.commandsAppliedTotal],
    ["commands_busy_total", "counter", "Commands answered BUSY.", status.commandsRefusedTotal],
    ["kept_bytes", "gauge", "Bytes of commands not applied here yet.", status.keptBytes],
    ["client_connections", "gauge", "Open client connections.", status.connections],
    ["sessions", "gauge", "Sessions in the table.", sessions],
    ["keys", "gauge", "Keys in use.", keys],
    ["holds", "gauge", "Holds in the table.", holds],
    ["waiters", "gauge", "Requests that wait.", waiters],
  ];
  let body = "";
  for (const [name, type, help, value] of rows) {
    const full = `holdfast_${name}`;
    body += `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${full} ${value}\n`;
  }
  return body;
}

function text(status: number, body: string): HttpAnswer {
  return { status, contentType: TEXT, body };
}
