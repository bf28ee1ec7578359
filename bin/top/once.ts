/**
 * `holdfast top --once`: the same facts, looked at once and completely, as a table for people or one
 * document for programs.
 */
import type { Admin } from "../../src/index.js";
import { findingText, LOCK_COLUMNS, type LockRow } from "../../src/views/index.js";
import { healthOf } from "../cluster/cluster-findings.js";
import type { NodeAccess } from "../config/command-options.js";
import { viewLines } from "../views/view-table.js";
import type { LocksSeen, NodesSeen, Sort } from "./cluster-facts.js";
import { askNodes } from "./cluster-rounds.js";
import { LockSweep } from "./lock-sweep.js";

export interface OnceSeen {
  readonly clusterId: string;
  readonly nodes: NodesSeen;
  readonly locks: LocksSeen;
}

export async function lookOnce(
  admin: Admin,
  access: NodeAccess,
  { prefix, sort }: { readonly prefix: string; readonly sort: Sort },
): Promise<OnceSeen> {
  const { signal } = new AbortController();
  const sweep = new LockSweep((of, until) => admin.query(of, { signal: until }), prefix, sort);
  const nodes = await askNodes(admin, access, signal);
  return { clusterId: admin.clusterId, nodes, locks: await sweep.whole(signal, Date.now) };
}

export function onceLines({ nodes, locks }: OnceSeen): string[] {
  const { sentence, findings } = healthOf(nodes.nodes, nodes.leader, nodes.wallMs);
  const lines = findings.length === 0 ? [sentence] : findings.map(findingText);
  lines.push("");
  const { rows, total = rows.length } = locks;
  if (rows.length === 0) return [...lines, "no lock is in use"];
  lines.push(...viewLines(Object.values(LOCK_COLUMNS), rows));
  if (total > rows.length) lines.push("", `the first ${rows.length} of ${total}`);
  return lines;
}

export function onceDocument({ clusterId, nodes, locks }: OnceSeen): Record<string, unknown> {
  const { leader, term, wallMs } = nodes;
  return {
    wallMs: locks.wallMs,
    clusterId,
    leader,
    term,
    nodes: nodes.nodes.map(({ id, words, answers, lagEntries, endpoint, problem, role }) => ({
      id: id ?? null,
      role: words?.role ?? (answers === "no" ? "unreachable" : role),
      answers,
      term: words?.term ?? null,
      commitIndex: words?.commitIndex ?? null,
      appliedIndex: words?.appliedIndex ?? null,
      lagEntries,
      endpoint,
      problem,
    })),
    findings: healthOf(nodes.nodes, leader, wallMs).findings,
    lockCount: locks.total ?? locks.rows.length,
    locks: locks.rows.map(lockDocument),
  };
}

function lockDocument({ key, first, cooldown, holds, waiters }: LockRow): Record<string, unknown> {
  const item = first ?? cooldown;
  return {
    key,
    mode: item?.mode ?? null,
    permits: item?.permits ?? 0,
    holds,
    session: first?.session ?? 0,
    sessionName: first?.sessionName ?? "",
    identity: first?.identity ?? "",
    holder: first?.holder ?? "session",
    leaseOwner: first?.leaseOwner ?? "",
    isCoolingDown: cooldown !== undefined,
    heldMs: first?.heldMs ?? 0,
    leaseMs: first === undefined || first.ttlMs === 0 ? null : first.leaseMs,
    token: item?.token ?? 0,
    waiters,
  };
}
