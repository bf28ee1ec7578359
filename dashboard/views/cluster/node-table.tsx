/** The nodes of the cluster, a line each. */
import { NODE_COLUMNS, type NodeRow, nodeState } from "../../../src/views/index.js";
import { Badge } from "../../parts/badge.js";
import { DataTable } from "../../parts/data-table.js";
import { viewColumn } from "../../parts/view-column.js";
import { type Known, nodeRow } from "./cluster-facts.js";
import { LEVEL_BADGES } from "./level-badges.js";

const { node, state, problem: _, pid: __, ...others } = NODE_COLUMNS;
const COLUMNS = [
  viewColumn(node, { isRowHeader: true, isNumeric: false, cell: ({ id }) => `Node ${id}` }),
  viewColumn(state, { cell: (row) => <State row={row} /> }),
  ...Object.values(others).map((column) => viewColumn(column)),
];

function State({ row }: { readonly row: NodeRow }) {
  const { level, word } = nodeState(row);
  return <Badge kind={LEVEL_BADGES[level]} word={word} />;
}

export function NodeTable({ known }: { readonly known: Known }) {
  return (
    <DataTable
      caption="Nodes"
      columns={COLUMNS}
      rows={known.nodes.map((each) => nodeRow(each, known))}
      rowKey={({ id }) => id ?? 0}
      empty="No node has answered yet."
    />
  );
}
