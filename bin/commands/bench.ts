/**
 * `holdfast bench`: how fast a cluster that runs grants locks. Bounded in time, and gives back every
 * lock it took. For comparisons with other systems and under faults there is `npm run bench` of the
 * source.
 */
import { setMaxListeners } from "node:events";
import { type Command, Option } from "commander";
import type { Client } from "../../src/index.js";
import { type BenchSetup, benchDocument, benchLines } from "../bench/bench-report.js";
import { type LoadResult, LockLoad } from "../bench/lock-load.js";
import { withPlightTold } from "../cluster/cluster-plight.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  connectTimeoutOption,
  durationArgument,
  endpointsOption,
  examplesText,
  jsonOption,
  wholeNumberArgument,
} from "../config/command-options.js";
import { formatDuration } from "../output/durations.js";
import { EXIT } from "../output/exit-codes.js";
import { Failure } from "../output/failure.js";
import { Progress } from "../output/progress.js";
import { print, printJson } from "../output/terminal.js";
import { untilStopped } from "../run/until-stopped.js";

interface BenchFlags {
  readonly workers: number;
  readonly clients: number;
  readonly keys?: number;
  readonly keyPrefix: string;
  readonly duration: number;
  readonly warmUp: number;
  readonly json?: boolean;
}

const WORKERS_MAX = 10_000;
const CLIENTS_MAX = 256;
const DURATION_MS_MAX = 3_600_000;
const SHOW_EVERY_MS = 500;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast bench", "32 workers for 10 seconds, a lock each"],
  ["holdfast bench --workers 1", "how long one lock takes"],
  ["holdfast bench --workers 64 --keys 1", "64 workers that want the same lock"],
  ["holdfast bench --duration 1m --json", "one JSON document"],
];

const NOTES = `
It writes to the cluster as any client does: keys below --key-prefix, which
nobody else should use meanwhile. A worker takes its lock, gives it back and
begins anew. Ctrl-C ends it early and shows what was measured until then (exit
code 130). Exit code 1 if requests failed or nothing was granted.`;

export function defineBench(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .addOption(
      new Option("--workers <n>", "how many take locks at the same time")
        .argParser(wholeNumberArgument(1, WORKERS_MAX))
        .default(32),
    )
    .addOption(
      new Option("--clients <n>", "over how many connections")
        .argParser(wholeNumberArgument(1, CLIENTS_MAX))
        .default(1),
    )
    .addOption(
      new Option("--keys <n>", "over how many locks (default: one each)").argParser(
        wholeNumberArgument(1, WORKERS_MAX),
      ),
    )
    .addOption(new Option("--key-prefix <text>", "what their names begin with").default("bench/"))
    .addOption(
      new Option("--duration <duration>", "how long it measures, up to 1h")
        .argParser(durationArgument)
        .default(10_000, "10s"),
    )
    .addOption(
      new Option("--warm-up <duration>", "how long it works before that")
        .argParser(durationArgument)
        .default(1_000, "1s"),
    )
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async () => {
      const flags = command.opts<BenchFlags>();
      requireBounded(flags);
      const access = clusterAccessFor(command);
      finish(await untilStopped((signal) => bench(access, flags, signal)));
    });
}

function requireBounded({ duration, warmUp }: BenchFlags): void {
  if (duration < 1 || duration > DURATION_MS_MAX) {
    throw new Failure(EXIT.usage, `--duration ${formatDuration(duration)}: from 1ms to 1h`);
  }
  if (warmUp > DURATION_MS_MAX) {
    throw new Failure(EXIT.usage, `--warm-up ${formatDuration(warmUp)}: up to 1h`);
  }
}

async function bench(access: ClusterAccess, flags: BenchFlags, stop: AbortSignal): Promise<number> {
  // Each worker listens, which is no leak.
  setMaxListeners(0, stop);
  const setup: BenchSetup = {
    workers: flags.workers,
    clients: Math.min(flags.clients, flags.workers),
    keys: Math.min(flags.keys ?? flags.workers, flags.workers),
  };
  const clients = await connectAll(access, setup.clients, stop);
  try {
    const { keyPrefix, duration: durationMs, warmUp: warmUpMs } = flags;
    const load = new LockLoad(clients, { ...setup, keyPrefix, durationMs, warmUpMs });
    const hide = showProgress(load, warmUpMs + durationMs);
    let result: LoadResult;
    try {
      result = await load.run(stop);
    } finally {
      hide();
    }
    if (flags.json === true) printJson(benchDocument(setup, result));
    else for (const line of benchLines(setup, result)) print(line);
    return exitCodeOf(result);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

async function connectAll(
  access: ClusterAccess,
  count: number,
  signal: AbortSignal,
): Promise<Client[]> {
  const { connect } = await import("../../src/index.js");
  const opening = Array.from({ length: count }, (_, index) =>
    connect({ ...access, signal, name: `holdfast bench ${process.pid}/${index + 1}` }),
  );
  const opened = await withPlightTold(Promise.allSettled(opening), access.endpoints);
  const clients = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = opened.find((each) => each.status === "rejected");
  if (failed === undefined) return clients;
  await Promise.all(clients.map((client) => client.close()));
  throw failed.reason;
}

function exitCodeOf({ isWhole, cycles, failures }: LoadResult): number {
  if (cycles === 0 && isWhole) throw new Failure(EXIT.failed, "no lock was granted and given back");
  return Object.keys(failures).length === 0 ? EXIT.done : EXIT.failed;
}

/** On a terminal alone: a log needs only the result. Returns how to end it. */
function showProgress(load: LockLoad, wholeMs: number): () => void {
  if (!process.stderr.isTTY) return () => undefined;
  const progress = new Progress();
  const startedAtMs = performance.now();
  const timer = setInterval(() => {
    const passedMs = Math.floor((performance.now() - startedAtMs) / 1_000) * 1_000;
    const cycles = load.cycles.toLocaleString("en");
    progress.show(`${formatDuration(passedMs)} of ${formatDuration(wholeMs)}, ${cycles} locks`);
  }, SHOW_EVERY_MS);
  return () => {
    clearInterval(timer);
    progress.end();
  };
}
