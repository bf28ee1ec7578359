/**
 * `holdfast recover --id N --data DIRECTORY`: brings a quarantined or lost node back as a learner,
 * from what the others have. Run on the node's machine while the node does not run.
 */
import type { Command } from "commander";
import { withAdmin } from "../cluster/operating.js";
import { type Recovery, type RecoveryPlan, recoverFromCluster } from "../cluster/recovery.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  explained,
  jsonOption,
} from "../config/command-options.js";
import { parseNodeId } from "../output/addresses.js";
import { EXIT } from "../output/exit-codes.js";
import { directoryFailure } from "../output/start-failure.js";
import { note, print, printJson } from "../output/terminal.js";

interface RecoverFlags {
  readonly id: number;
  readonly data: string;
  readonly json?: boolean;
}

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast recover --id 3 --data n3 --endpoints db-1:7411,db-2:7411", "stop the node first"],
];

const NOTES = `
What happens, in this order: the directory is looked at; the cluster makes the
node a learner, because it may have forgotten what it once vouched for; its
files are set aside inside the directory, which becomes a fresh one. Then the
node is started with its usual command, and promoted when it has caught up. No
file is moved unless the cluster agreed. Cut short at any moment, the command is
repeated.

Exit code 1 if the directory is in use or cannot be used, 2 if it belongs to
another node or cluster, 4 if nobody leads, 5 if the node is no member or the
others cannot spare it. The JSON document:
  {"id":3,"problem":"…","wasVoter":true,"movedTo":"…","incarnation":8}
problem: null when nothing wrong could be seen from outside, as of an old copy
that was put back.`;

export function defineRecover(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .requiredOption("--id <n>", "number of the node", explained(parseNodeId))
    .requiredOption("--data <directory>", "its data directory")
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async () => {
      const { id, data, json } = command.opts<RecoverFlags>();
      const plan = { id, dataDirectory: data };
      const tell = json === true ? note : print;
      const { examineNode, recoverNode } = await import("../../src/server/index.js");
      const steps = {
        examine: explaining(data, examineNode),
        recover: explaining(data, recoverNode),
      };
      const recovery = await withAdmin(clusterAccessFor(command), (admin) =>
        recoverFromCluster(admin, steps, plan, tell),
      );
      if (json === true) printJson(document(plan, recovery));
      else printNextSteps(plan, recovery);
      finish(EXIT.done);
    });
}

/** What goes wrong with the directory is told as of `holdfast server`. */
function explaining<Options, Result>(
  dataDirectory: string,
  step: (options: Options) => Promise<Result>,
): (options: Options) => Promise<Result> {
  return async (options) => {
    try {
      return await step(options);
    } catch (error) {
      throw directoryFailure(error, dataDirectory);
    }
  };
}

function document({ id }: RecoveryPlan, recovery: Recovery): Record<string, unknown> {
  const { finding, wasVoter, recovered } = recovery;
  return {
    id,
    problem: finding.problem ?? null,
    wasVoter,
    movedTo: recovered.movedTo,
    incarnation: recovered.incarnation,
  };
}

function printNextSteps({ id, dataDirectory }: RecoveryPlan, { recovered }: Recovery): void {
  print(`the old files are in ${recovered.movedTo}`);
  print(`${dataDirectory} is a fresh directory of node ${id}. Next:`);
  print("");
  print(`  1. start node ${id} with its usual command; it gets everything from the others`);
  print(`  2. holdfast member promote ${id}`);
}
