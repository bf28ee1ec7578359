/**
 * `holdfast elect NAME VALUE`: campaigns in an election and leads until it is stopped, or while a
 * command runs, which is then a `run` with the election's lock. With `--observe` it follows the
 * leaders. It always resigns before the process ends.
 */
import { type Command, Option } from "commander";
import type { Client, Leader, Lock } from "../../../src/index.js";
import { keyText, printable } from "../../../src/text/index.js";
import { phraseText, whoPhrase } from "../../../src/views/index.js";
import { withClient } from "../../cluster/cluster-connections.js";
import {
  type ClusterAccess,
  certificateVariablesFor,
  clusterAccessFor,
  examplesText,
  jsonOption,
  wholeNumberArgument,
} from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import type { Ending, Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { CONNECTION_OPTIONS, ELECT_OPTIONS } from "../../options/option-table.js";
import { isOutputClosed, note, print, printJson } from "../../output/terminal.js";
import { type ElectFlags, type ElectPlan, planElect } from "../../run/elect-plan.js";
import { enclosingHolds, metadataWithin } from "../../run/enclosing-holds.js";
import { untilStopped } from "../../run/until-stopped.js";
import { accessWithin, connectedWithin, NodeSearch, waitForLock } from "../../run/wait-for-lock.js";
import { formatTimeOfDay } from "../../text/wall-time.js";
import { quietExitCode, run } from "./run.js";

type LeadPlan = Extract<ElectPlan, { kind: "lead" }>;

const COUNT_MAX = 1_000_000_000;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast elect scheduler host-7", "lead, when its turn comes, until Ctrl-C"],
  ["holdfast elect scheduler host-7 -- ./scheduler", "lead while a command runs"],
  ["holdfast elect -n scheduler host-7 -- ./once", "do not wait: exit code 3 if another leads"],
  ["holdfast elect scheduler --observe", "the leader, and each change"],
  ["holdfast elect scheduler --observe --count 1", "the current leader"],
];

const NOTES = `
Candidates lead one after the other, in the order in which they campaigned.
VALUE, up to 1 KiB, is what others see of the leader: a name or an address.
A command gets the same environment and signals as in "holdfast run", and is
ended in time when leadership is being lost; HOLDFAST_TOKEN is the fencing token
of the term.

With --json one object is printed when leadership begins; with --observe, one
object per line:
  {"name":"scheduler","value":"host-7","token":1,"session":1}
  {"name":"scheduler","leader":{"value":"host-7","token":1,"session":1,
   "sessionName":"…","identity":"anonymous"}}
leader: null while there is no leader.

The exit code is the command's; 6 if leadership was lost; 3 or 124 if another
candidate leads; 130 after Ctrl-C.`;

export function defineElect(command: Command, finish: Finish): void {
  command
    .usage("[options] <name> <value> [-- <command> [argument...]]")
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("[operands...]")
    .option("--observe", "follow the leaders instead of campaigning")
    .addOption(
      new Option("--count <n>", "with --observe: end after this many lines").argParser(
        wholeNumberArgument(1, COUNT_MAX),
      ),
    );
  addOptions(command, ELECT_OPTIONS);
  addOptions(command, CONNECTION_OPTIONS);
  command
    .addOption(jsonOption("print JSON objects"))
    .addHelpText("after", NOTES)
    .action(async (operands: readonly string[]) => {
      const { observe, count, json } = command.opts<ElectFlags>();
      const flags: ElectFlags = {
        ...Configuration.of(command).settle(ELECT_OPTIONS),
        ...(observe === undefined ? {} : { observe }),
        ...(count === undefined ? {} : { count }),
        ...(json === undefined ? {} : { json }),
      };
      const plan = planElect(operands, flags, process.argv.slice(2));
      finish(await elect(plan, command, json === true));
    });
}

function elect(plan: ElectPlan, command: Command, isJson: boolean): Promise<Ending> {
  const access = clusterAccessFor(command);
  switch (plan.kind) {
    case "run":
      return run(plan.run, access, certificateVariablesFor(command));
    case "lead":
      return untilStopped((signal) => leadFrom(plan, access, isJson, signal)).catch(
        (error: unknown) => quietExitCode(error, plan.run),
      );
    case "observe":
      return untilStopped((signal) =>
        withClient(access, (client) => observe(client, plan, isJson, signal), {
          signal,
          about: { key: plan.name },
        }),
      );
  }
}

function leadFrom(
  plan: LeadPlan,
  access: ClusterAccess,
  isJson: boolean,
  signal: AbortSignal,
): Promise<number> {
  const { ttlMs, name } = plan.run;
  const search = new NodeSearch(plan.run, signal);
  const sinceMs = performance.now();
  const work = (client: Client): Promise<number> =>
    lead(client, plan, access, isJson, signal, sinceMs);
  const { outage } = search;
  const metadata = metadataWithin(enclosingHolds(process.env));
  const options = { signal: search.signal, ttlMs, metadata, about: { key: name }, outage };
  const leading = withClient(accessWithin(plan.run, access), work, options);
  return connectedWithin(leading, plan.run, access);
}

/** Resolves when it is stopped; the caller closes the client and thereby ends the term. */
async function lead(
  client: Client,
  { name, run: plan, value }: LeadPlan,
  access: ClusterAccess,
  isJson: boolean,
  stop: AbortSignal,
  sinceMs: number,
): Promise<number> {
  const term = await waitForLock(client, plan, access, stop, sinceMs);
  const { token } = term;
  if (isJson) printJson({ name, value, token, session: client.session });
  else print(`leading ${plan.name} as ${printable(value)}, token ${token}`);
  const loss = await lossOf(term, stop);
  if (loss === undefined) return EXIT.done;
  throw new Failure(EXIT.lost, `the leadership of ${plan.name} was lost: ${loss}`);
}

/** Why leadership was lost, or `undefined` if it was given up on request. */
function lossOf(term: Lock, stop: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const { signal } = term;
    const onLoss = (): void => {
      const { reason } = signal;
      resolve(reason instanceof Error ? reason.message : String(reason));
    };
    stop.addEventListener("abort", () => resolve(undefined), { once: true });
    // There is no command to end first, so a revoked leadership is given up at once.
    term.on("revoking", ({ reason }) => {
      resolve(reason === "" ? "it was revoked" : `it was revoked (${reason})`);
    });
    signal.addEventListener("abort", onLoss, { once: true });
    if (stop.aborted) resolve(undefined);
    else if (signal.aborted) onLoss();
  });
}

async function observe(
  client: Client,
  { name, count }: Extract<ElectPlan, { kind: "observe" }>,
  isJson: boolean,
  signal: AbortSignal,
): Promise<number> {
  let left = count ?? Number.POSITIVE_INFINITY;
  if (left > 1 && process.stderr.isTTY) note(`following ${keyText(name)}; Ctrl-C ends it`);
  for await (const leader of client.election(name).observe({ signal })) {
    if (isJson) printJson({ name, leader: leader ?? null });
    else print(`${formatTimeOfDay(Date.now())}  ${leaderText(leader)}`);
    left -= 1;
    if (left === 0 || isOutputClosed()) break;
  }
  return EXIT.done;
}

function leaderText(leader: Leader | undefined): string {
  if (leader === undefined) return "there is no leader";
  const { value, token } = leader;
  const session = phraseText(whoPhrase(leader));
  const who = value === "" ? session : printable(value);
  return `${who} leads  token ${token}  ${session}`;
}
