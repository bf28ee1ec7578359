/**
 * `holdfast recover --id N --data DIRECTORY`: brings a quarantined or lost node back as a learner,
 * which gets its data from the other nodes. Run it on the node's machine while the node does not
 * run.
 */
import type { Command } from "commander";
import { clusterCommand, type Examples, operate, tell } from "../../cluster/cluster-command.js";
import { type Recovery, type RecoveryPlan, recoverFromCluster } from "../../cluster/recovery.js";
import { explained } from "../../config/command-options.js";
import { directoryFailure } from "../../exit/start-failure.js";
import { note, print } from "../../output/terminal.js";
import { parseNodeId } from "../../text/addresses.js";

interface RecoverFlags {
  readonly id: number;
  readonly data: string;
  readonly json?: boolean;
}

const EXAMPLES: Examples = [
  ["holdfast recover --id 3 --data n3 --endpoints db-1:7411,db-2:7411", "stop the node first"],
];

const NOTES = `
The steps, in this order: the directory is examined; the cluster makes the node
a learner, because it may have forgotten what it once confirmed; its files are
set aside inside the directory, and the directory becomes a new one. Then start
the node with its usual command, and promote it when it has caught up. No file
is moved unless the cluster has agreed. If the command is interrupted at any
point, repeat it.

Exit code 1 if the directory is in use or cannot be used, 2 if it belongs to
another node or cluster, 4 if there is no leader, 5 if the node is not a member
or the others cannot spare it. The JSON document:
  {"id":3,"problem":"…","wasVoter":true,"movedTo":"…","incarnation":8}
problem: null if nothing wrong is visible, for example in an old copy that was
restored.`;

export function defineRecover(command: Command): void {
  command
    .requiredOption("--id <n>", "number of the node", explained(parseNodeId))
    .requiredOption("--data <directory>", "its data directory");
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async () => {
    const { id, data, json } = command.opts<RecoverFlags>();
    const plan = { id, dataDirectory: data };
    const report = json === true ? note : print;
    const { examineNode, recoverNode } = await import("../../../src/server/index.js");
    const steps = {
      examine: explaining(data, examineNode),
      recover: explaining(data, recoverNode),
    };
    const recovery = await operate(command, (admin) =>
      recoverFromCluster(admin, steps, plan, report),
    );
    tell(command, document(plan, recovery), nextSteps(plan, recovery));
  });
}

/** Explains errors of the directory as `holdfast server` does. */
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

function nextSteps({ id, dataDirectory }: RecoveryPlan, { recovered }: Recovery): string[] {
  return [
    `the old files are in ${recovered.movedTo}`,
    `${dataDirectory} is a new directory of node ${id}. Next:`,
    "",
    `  1. start node ${id} with its usual command; it gets its data from the other nodes`,
    `  2. holdfast member promote ${id}`,
  ];
}
