/**
 * `holdfast transfer [ID]`: makes another node the leader, before a machine is serviced or because
 * that node is nearer to the clients. Commands of clients wait a moment; none of them fails.
 */
import type { Command } from "commander";
import { clusterCommand, type Examples, operate, tell } from "../../cluster/cluster-command.js";
import { explained } from "../../config/command-options.js";
import { parseNodeId } from "../../text/addresses.js";

const EXAMPLES: Examples = [
  ["holdfast transfer", "to the voter whose log is most complete"],
  ["holdfast transfer 3", "to node 3"],
];

const NOTES = `
A node that is stopped by SIGTERM hands leadership over by itself. Exit code 5
if the node cannot lead in the current state, 4 if there is no leader. The JSON
document:
  {"leader":3}`;

export function defineTransfer(command: Command): void {
  command.argument("[id]", "the node that should lead", explained(parseNodeId));
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(
    async (id: number | undefined) => {
      const leader = await operate(command, (admin) => admin.transferLeadership(id));
      tell(command, { leader }, `node ${leader} leads`);
    },
  );
}
