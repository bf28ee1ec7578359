/** The nodes of the cluster, a line each. */
import type { MembersView } from "../../../src/index.js";
import { Badge } from "../../parts/badge.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { durationText } from "../../parts/duration-text.js";
import { OtherText } from "../../parts/key-text.js";
import type { NodeHealth } from "./health.js";

interface NodeLine extends NodeHealth {
  readonly member: MembersView["members"][number] | undefined;
  readonly leaderId: number;
}

const NONE = "–";
const COUNT = new Intl.NumberFormat();

const COLUMNS: readonly Column<NodeLine>[] = [
  { id: "node", title: "Node", isRowHeader: true, cell: ({ node }) => `Node ${node}` },
  { id: "state", title: "State", cell: (line) => <State line={line} /> },
  { id: "role", title: "Role", cell: roleOf },
  numeric("term", "Term", ({ vitals }) => vitals?.term),
  numeric("commit", "Commit index", ({ vitals }) => vitals?.commitIndex),
  numeric("applied", "Applied index", ({ vitals }) => vitals?.appliedIndex),
  // Of a member that the leader does not reach nothing is known but what it once had.
  numeric("lag", "Lag", ({ member }) => (member?.isReachable ? member.lagEntries : undefined)),
  { id: "disk", title: "Disk", cell: diskOf },
  {
    id: "stall",
    title: "Longest stall",
    isNumeric: true,
    cell: ({ vitals }) =>
      vitals === undefined ? NONE : durationText(Math.round(vitals.loopDelayMaxMs)),
  },
  numeric("clients", "Clients", ({ vitals }) => vitals?.connections),
  {
    id: "uptime",
    title: "Up for",
    isNumeric: true,
    cell: ({ vitals }) =>
      vitals === undefined ? NONE : durationText(vitals.wallMs - vitals.startedWallMs),
  },
  { id: "version", title: "Version", cell: ({ vitals }) => vitals?.version ?? NONE },
  {
    id: "endpoint",
    title: "Endpoint",
    cell: ({ member }) => <OtherText text={member?.endpoint ?? NONE} />,
  },
];

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

function roleOf({ node, vitals, member, leaderId }: NodeLine): string {
  if (vitals?.role === "leader" || (vitals === undefined && node === leaderId)) return "leader";
  return vitals?.role ?? member?.role ?? NONE;
}

function diskOf({ vitals }: NodeLine): string {
  if (vitals === undefined) return NONE;
  if (vitals.isDiskFull) return "full";
  if (vitals.logSyncP99Ms === null) return NONE;
  return `sync p99 ${durationText(vitals.logSyncP99Ms)}`;
}

function State({ line: { isAnswering, member, vitals } }: { readonly line: NodeLine }) {
  if (isAnswering === false) {
    return member?.isReachable === true ? (
      <Badge kind="idle" word="not asked: this page may not" />
    ) : (
      <Badge kind="bad" word="does not answer" />
    );
  }
  if (vitals === undefined) return <Badge kind="idle" word="being asked" />;
  if (vitals.isDraining) return <Badge kind="busy" word="stopping" />;
  if (!vitals.hasQuorumContact) return <Badge kind="warning" word="no majority" />;
  return <Badge kind="good" word="answers" />;
}

export interface NodeTableProps {
  readonly nodes: readonly NodeHealth[];
  readonly members: MembersView | undefined;
}

export function NodeTable({ nodes, members }: NodeTableProps) {
  const lines = nodes.map((node) => ({
    ...node,
    member: members?.members.find(({ id }) => id === node.node),
    leaderId: members?.leaderId ?? 0,
  }));
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
