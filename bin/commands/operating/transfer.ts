/**
 * `holdfast transfer [ID]`: makes another node the leader, before a machine is serviced or because
 * that node is nearer to the clients. Commands of clients wait a moment; none of them fails.
 */
import type { Command } from "commander";
import { withAdmin } from "../../cluster/admin-access.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  explained,
  jsonOption,
} from "../../config/command-options.js";
import { EXIT } from "../../exit/exit-codes.js";
import { print } from "../../output/terminal.js";
import { parseNodeId } from "../../text/addresses.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast transfer", "to the voter whose log is most complete"],
  ["holdfast transfer 3", "to node 3"],
];

const NOTES = `
A node that is stopped by SIGTERM hands leadership over by itself. Exit code 5
if the node cannot lead in the present state, 4 if there is no leader. The JSON
document:
  {"leader":3}`;

export function defineTransfer(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("[id]", "the node that should lead", explained(parseNodeId))
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async (id: number | undefined) => {
      const { json } = command.opts<{ json?: boolean }>();
      const leader = await withAdmin(clusterAccessFor(command), (admin) =>
        admin.transferLeadership(id),
      );
      print(json === true ? JSON.stringify({ leader }) : `node ${leader} leads`);
      finish(EXIT.done);
    });
}
