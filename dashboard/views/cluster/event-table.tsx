/** What happened on the nodes, newest first: elections, members, damage, disk, memory. */
import type { VitalsEvent } from "../../../src/index.js";
import { printable } from "../../../src/text/index.js";
import { Badge, type BadgeKind } from "../../parts/badge.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { Time } from "../../parts/time.js";
import type { NodeHealth } from "./cluster-facts.js";

const LINES_MAX = 50;

interface EventLine extends VitalsEvent {
  readonly node: number;
  /** Its position among the events of its node. */
  readonly at: number;
}

const KINDS: Readonly<Record<string, readonly [BadgeKind, string]>> = {
  started: ["busy", "start"],
  leader: ["good", "leader"],
  noLeader: ["bad", "no leader"],
  members: ["busy", "members"],
  peer: ["idle", "link"],
  disk: ["bad", "disk"],
  memory: ["warning", "memory"],
  snapshot: ["idle", "snapshot"],
  audit: ["warning", "audit"],
  access: ["busy", "access"],
};

const COLUMNS: readonly Column<EventLine>[] = [
  { id: "time", title: "Time", isRowHeader: true, cell: ({ wallMs }) => <Time wallMs={wallMs} /> },
  { id: "node", title: "On", cell: ({ node }) => `Node ${node}` },
  { id: "kind", title: "What", cell: ({ kind }) => <Kind kind={kind} /> },
  { id: "text", title: "What happened", cell: ({ text }) => <bdi>{printable(text)}</bdi> },
];

/** A node of another version may know kinds that this page does not. */
function Kind({ kind }: { readonly kind: string }) {
  const [shape, word] = KINDS[kind] ?? ["idle", kind];
  return <Badge kind={shape} word={word} />;
}

export function EventTable({ nodes }: { readonly nodes: readonly NodeHealth[] }) {
  const lines = nodes
    .flatMap(({ node, vitals }) =>
      (vitals?.events ?? []).map((event, at) => ({ ...event, node, at })),
    )
    .sort((a, b) => b.wallMs - a.wallMs)
    .slice(0, LINES_MAX);
  return (
    <DataTable
      caption="What happened"
      columns={COLUMNS}
      rows={lines}
      rowKey={({ node, wallMs, at }) => `${node} ${wallMs} ${at}`}
      empty="Nothing is remembered."
    />
  );
}
