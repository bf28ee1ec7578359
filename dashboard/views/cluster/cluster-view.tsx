/** How the cluster is: its nodes, what happened lately, and whether all is well. */
import type { MemberView } from "../../../src/index.js";
import { useCluster } from "../../connection/context.js";
import { Badge } from "../../parts/badge.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { OtherText } from "../../parts/key-text.js";

export function ClusterView() {
  const { members } = useCluster();
  const columns: Column<MemberView>[] = [
    { id: "node", title: "Node", isRowHeader: true, cell: ({ id }) => `Node ${id}` },
    {
      id: "state",
      title: "State",
      cell: ({ isReachable }) => (
        <Badge
          kind={isReachable ? "good" : "bad"}
          word={isReachable ? "reachable" : "not reachable"}
        />
      ),
    },
    {
      id: "role",
      title: "Role",
      cell: ({ id, role }) => (id === members?.leaderId ? "leader" : role),
    },
    { id: "lag", title: "Lag", isNumeric: true, cell: ({ lagEntries }) => lagEntries },
    { id: "endpoint", title: "Endpoint", cell: ({ endpoint }) => <OtherText text={endpoint} /> },
  ];
  return (
    <DataTable
      caption="Nodes"
      columns={columns}
      rows={members?.members ?? []}
      rowKey={({ id }) => id}
      empty="The list of members has not come yet."
    />
  );
}
