/**
 * `holdfast top`: the locks and the nodes of a cluster, live, in a terminal. Where standard output is
 * no terminal, and with `--once`, it prints one table and ends.
 */
import { type Command, Option } from "commander";
import type { Admin } from "../../../src/index.js";
import { clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { askCluster } from "../../cluster/cluster-connections.js";
import { withOutageReport } from "../../cluster/cluster-outage.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  durationArgument,
} from "../../config/command-options.js";
import type { Ending, Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { print, printJson } from "../../output/terminal.js";
import { untilStopped } from "../../run/until-stopped.js";
import { formatDuration } from "../../text/durations.js";
import { SORTS, type Sort } from "../../top/cluster-facts.js";

interface TopFlags {
  readonly once?: boolean;
  readonly interval: number;
  readonly prefix: string;
  readonly sort: Sort;
  readonly json?: boolean;
}

const INTERVAL_MS_DEFAULT = 1_000;
const INTERVAL_MS_MIN = 200;

const EXAMPLES: Examples = [
  ["holdfast top", "until q or Ctrl-C"],
  ["holdfast top --prefix orders/ --sort held", "those held longest among orders/"],
  ["holdfast top --once", "one table, as into a pipe or a file"],
  ["holdfast top --json", "one JSON document"],
];

const NOTES = `
Keys: arrows, PgUp and PgDn move, Enter shows one lock with its queue and why
it waits, / asks for a prefix, s sorts, l and c show locks and nodes, p pauses,
? shows these keys, q quits.

It shows the first 1,000 locks in that order, settled among all of them: it
looks at 2,000 in each interval, so that a large table costs the cluster little,
and at the lines on the screen in every one. With NO_COLOR it uses
no colour. Exit code 130 after Ctrl-C.`;

export function defineTop(command: Command, finish: Finish): void {
  command
    .addOption(new Option("--once", "print one table and end"))
    .addOption(
      new Option("--interval <duration>", "time between two looks at the cluster")
        .argParser(intervalArgument)
        .default(INTERVAL_MS_DEFAULT, formatDuration(INTERVAL_MS_DEFAULT)),
    )
    .addOption(new Option("--prefix <text>", "only names that begin with this").default("", "all"))
    .addOption(
      new Option("--sort <order>", "most waiters, longest held, or names")
        .choices(SORTS)
        .default("waiters" satisfies Sort),
    );
  clusterCommand(command, {
    examples: EXAMPLES,
    notes: NOTES,
    json: "print one JSON document and end",
  }).action(async () => {
    const flags = command.opts<TopFlags>();
    const access = clusterAccessFor(command);
    const isOnce = flags.once === true || flags.json === true || !isInteractive();
    finish(isOnce ? await printOnce(access, flags) : await live(access, flags));
  });
}

function intervalArgument(text: string): number {
  const intervalMs = durationArgument(text);
  if (intervalMs >= INTERVAL_MS_MIN) return intervalMs;
  throw new Failure(EXIT.usage, `--interval is at least ${formatDuration(INTERVAL_MS_MIN)}`);
}

/** Both ends of the terminal: it draws, and it reads keys. */
function isInteractive(): boolean {
  return process.stdout.isTTY && process.stdin.isTTY && process.env["TERM"] !== "dumb";
}

async function printOnce(access: ClusterAccess, flags: TopFlags): Promise<number> {
  const { prefix, sort, json } = flags;
  const { lookOnce, onceDocument, onceLines } = await import("../../top/once.js");
  const look = (admin: Admin): ReturnType<typeof lookOnce> => {
    return lookOnce(admin, access, { prefix, sort });
  };
  const seen = await askCluster(access, look, { prefix });
  if (json === true) printJson(onceDocument(seen));
  else for (const line of onceLines(seen)) print(line);
  return EXIT.done;
}

function live(access: ClusterAccess, { interval, prefix, sort }: TopFlags): Promise<Ending> {
  return untilStopped(async (signal) => {
    const { connectAdmin, requirePrefix } = await import("../../../src/client/index.js");
    const { runTop } = await import("../../top/run-top.js");
    requirePrefix(prefix);
    const { connectTimeoutMs: timeoutMs, ...nodes } = access;
    await using admin = await withOutageReport(
      connectAdmin({ ...nodes, timeoutMs, signal }),
      access,
    );
    await runTop({ admin, access, intervalMs: interval, prefix, sort, signal });
    return EXIT.done;
  });
}
