/** The nodes of the cluster, a line each. */
import type { MembersView, VitalsView } from "../../../src/index.js";
import { findingsOfNode } from "../../../src/views/index.js";
import { Badge } from "../../parts/badge.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { durationText } from "../../parts/duration-text.js";
import { OtherText } from "../../parts/key-text.js";
import { heardAtMs, type Known, type NodeHealth } from "./cluster-facts.js";

interface NodeLine extends NodeHealth {
  readonly member: MembersView["members"][number] | undefined;
  readonly endpoint: string;
  /** Milliseconds since the connected node heard it; `undefined`: not since its start. */
  readonly silentMs: number | undefined;
}

const NONE = "–";
const COUNT = new Intl.NumberFormat();

const COLUMNS: readonly Column<NodeLine>[] = [
  { id: "node", title: "Node", isRowHeader: true, cell: ({ node }) => `Node ${node}` },
  { id: "state", title: "State", cell: (line) => <State line={line} /> },
  { id: "role", title: "Role", cell: roleOf },
  numeric("term", "Term", (line) => now(line)?.term),
  numeric("commit", "Commit index", (line) => now(line)?.commitIndex),
  numeric("applied", "Applied index", (line) => now(line)?.appliedIndex),
  numeric("lag", "Lag", (line) =>
    now(line) !== undefined && line.member?.isReachable ? line.member.lagEntries : undefined,
  ),
  { id: "disk", title: "Disk", cell: diskOf },
  {
    id: "stall",
    title: "Longest stall",
    isNumeric: true,
    cell: (line) => durationOr(now(line)?.loopDelayMaxMs),
  },
  numeric("clients", "Clients", (line) => now(line)?.connections),
  {
    id: "uptime",
    title: "Up for",
    isNumeric: true,
    cell: (line) => {
      const vitals = now(line);
      return vitals === undefined ? NONE : durationText(vitals.wallMs - vitals.startedWallMs);
    },
  },
  { id: "version", title: "Version", cell: (line) => now(line)?.version ?? NONE },
  {
    id: "endpoint",
    title: "Endpoint",
    cell: ({ endpoint }) => <OtherText text={endpoint === "" ? NONE : endpoint} />,
  },
];

/** What a node that is not heard once said is not how it is. */
function now({ vitals, isAnswering }: NodeLine): VitalsView | undefined {
  return isAnswering === true ? vitals : undefined;
}

function durationOr(ms: number | undefined): string {
  return ms === undefined ? NONE : durationText(Math.round(ms));
}

function numeric(
  id: string,
  title: string,
  read: (line: NodeLine) => number | undefined,
): Column<NodeLine> {
  const cell = (line: NodeLine): string => {
    const value = read(line);
    return value === undefined ? NONE : COUNT.format(value);
  };
  return { id, title, isNumeric: true, cell };
}

function roleOf(line: NodeLine): string {
  return now(line)?.role ?? (line.member?.role === "learner" ? "learner" : NONE);
}

function diskOf(line: NodeLine): string {
  const vitals = now(line);
  if (vitals === undefined) return NONE;
  if (vitals.isDiskFull) return "full";
  if (vitals.logSyncP99Ms === null) return NONE;
  return `sync p99 ${durationText(vitals.logSyncP99Ms)}`;
}

/** The worst that is wrong with the node itself, in a word. */
const WORDS: Readonly<Record<string, string>> = {
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

function State({ line }: { readonly line: NodeLine }) {
  const vitals = now(line);
  if (line.isAnswering === undefined) return <Badge kind="idle" word="being asked" />;
  if (vitals === undefined) return <Badge kind="bad" word={unreachableText(line)} />;
  const [worst] = findingsOfNode(line.node, vitals, vitals.wallMs).toSorted(
    (a, b) => Number(a.level === "warning") - Number(b.level === "warning"),
  );
  if (worst === undefined) return <Badge kind="good" word="answers" />;
  const kind = worst.level === "warning" ? "warning" : "bad";
  return <Badge kind={kind} word={WORDS[worst.code] ?? worst.code} />;
}

function unreachableText({ silentMs }: NodeLine): string {
  if (silentMs === undefined) return "unreachable";
  const seconds = Math.max(0, Math.round(silentMs / 1_000)) * 1_000;
  return `unreachable, last heard ${durationText(seconds)} ago`;
}

export function NodeTable({ known }: { readonly known: Known }) {
  const { nodes, members, own, nowMs } = known;
  const lines = nodes.map((node): NodeLine => {
    const member = members?.members.find(({ id }) => id === node.node);
    const peer = own?.peers.find((each) => each.node === node.node);
    const heardMs = heardAtMs(node.node, known);
    const silentMs = heardMs === undefined ? undefined : nowMs - heardMs;
    return { ...node, member, endpoint: member?.endpoint ?? peer?.endpoint ?? "", silentMs };
  });
  return (
    <DataTable
      caption="Nodes"
      columns={COLUMNS}
      rows={lines}
      rowKey={({ node }) => node}
      empty="No node has answered yet."
    />
  );
}
