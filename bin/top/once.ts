/**
 * `holdfast top --once`: the same facts, looked at once and completely, as a table for people or one
 * document for programs.
 */
import type { Admin } from "../../src/index.js";
import type { NodeAccess } from "../config/command-options.js";
import { type Column, tableLines } from "../output/text-table.js";
import { findingText } from "../views/finding-view.js";
import type { LockRow, LocksSeen, NodesSeen, Sort } from "./cluster-facts.js";
import { healthOf } from "./cluster-health.js";
import { askNodes } from "./cluster-rounds.js";
import {
  heldCell,
  holderCell,
  keyCell,
  leaseCell,
  modeCell,
  tokenCell,
  waitersCell,
} from "./lock-cells.js";
import { LockSweep } from "./lock-sweep.js";

const COLUMNS: readonly (Column & { readonly cell: (row: LockRow) => string })[] = [
  { heading: "KEY", cell: keyCell },
  { heading: "MODE", cell: modeCell },
  { heading: "HELD BY", cell: holderCell },
  { heading: "FOR", alignment: "right", cell: heldCell },
  { heading: "LEASE", alignment: "right", cell: leaseCell },
  { heading: "TOKEN", alignment: "right", cell: tokenCell },
  { heading: "WAITING", alignment: "right", cell: waitersCell },
];

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
  const { text, findings } = healthOf(nodes);
  const lines = findings.length === 0 ? [text] : findings.map(findingText);
  lines.push("");
  const { rows, total = rows.length } = locks;
  if (rows.length === 0) return [...lines, "no lock is in use"];
  const cells = rows.map((row) => COLUMNS.map(({ cell }) => cell(row)));
  lines.push(...tableLines(COLUMNS, cells));
  if (total > rows.length) lines.push("", `the first ${rows.length} of ${total}`);
  return lines;
}

export function onceDocument({ clusterId, nodes, locks }: OnceSeen): Record<string, unknown> {
  const { leader, term } = nodes;
  return {
    wallMs: locks.wallMs,
    clusterId,
    leader,
    term,
    nodes: nodes.nodes.map((node) => {
      const { id, role, answers, commitIndex, appliedIndex, lagEntries, endpoint, problem } = node;
      const shown = { role, answers, term: node.term, commitIndex, appliedIndex, lagEntries };
      return { id: id ?? null, ...shown, endpoint, problem };
    }),
    findings: healthOf(nodes).findings,
    lockCount: locks.total ?? locks.rows.length,
    locks: locks.rows,
  };
}
