/**
 * `holdfast bench`: measures how fast a running cluster grants locks. It takes a limited time and
 * releases every lock. To compare with other systems, or to measure under faults, use `npm run
 * bench` of the source.
 */
import { setMaxListeners } from "node:events";
import { type Command, Option } from "commander";
import type { Client } from "../../../src/index.js";
import { type BenchSetup, benchDocument, benchLines } from "../../bench/bench-report.js";
import { type LoadResult, LockLoad } from "../../bench/lock-load.js";
import { clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { withOutageReport } from "../../cluster/cluster-outage.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  durationArgument,
  wholeNumberArgument,
} from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { ProgressLine } from "../../output/progress-line.js";
import { print, printJson } from "../../output/terminal.js";
import { untilStopped } from "../../run/until-stopped.js";
import { formatDuration } from "../../text/durations.js";

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

const EXAMPLES: Examples = [
  ["holdfast bench", "32 workers for 10 seconds, one lock each"],
  ["holdfast bench --workers 1", "latency of one lock"],
  ["holdfast bench --workers 64 --keys 1", "64 workers compete for one lock"],
  ["holdfast bench --duration 1m --json", "one JSON document"],
];

const NOTES = `
It writes to the cluster like any client: to keys below --key-prefix, which
others should not use meanwhile. A worker acquires its lock, releases it and
begins again. Ctrl-C ends it early and shows the results so far (exit code 130).
Exit code 1 if requests failed or no lock was granted.`;

export function defineBench(command: Command, finish: Finish): void {
  command
    .addOption(
      new Option("--workers <n>", "number of workers, which take locks at the same time")
        .argParser(wholeNumberArgument(1, WORKERS_MAX))
        .default(32),
    )
    .addOption(
      new Option("--clients <n>", "number of connections")
        .argParser(wholeNumberArgument(1, CLIENTS_MAX))
        .default(1),
    )
    .addOption(
      new Option("--keys <n>", "number of locks (default: one per worker)").argParser(
        wholeNumberArgument(1, WORKERS_MAX),
      ),
    )
    .addOption(new Option("--key-prefix <text>", "prefix of their names").default("bench/"))
    .addOption(
      new Option("--duration <duration>", "time to measure, up to 1h")
        .argParser(durationArgument)
        .default(10_000, "10s"),
    )
    .addOption(
      new Option("--warm-up <duration>", "time to run before that")
        .argParser(durationArgument)
        .default(1_000, "1s"),
    );
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async () => {
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
  // Each worker listens, which is not a leak.
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
  const { connect } = await import("../../../src/index.js");
  const opening = Array.from({ length: count }, (_, index) =>
    connect({ ...access, signal, name: `holdfast bench ${process.pid}/${index + 1}` }),
  );
  const opened = await withOutageReport(Promise.allSettled(opening), access);
  const clients = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = opened.find((each) => each.status === "rejected");
  if (failed === undefined) return clients;
  await Promise.all(clients.map((client) => client.close()));
  throw failed.reason;
}

function exitCodeOf({ isWhole, cycles, failures }: LoadResult): number {
  if (cycles === 0 && isWhole) throw new Failure(EXIT.failed, "no lock was acquired and released");
  return Object.keys(failures).length === 0 ? EXIT.done : EXIT.failed;
}

/** Only on a terminal: a log needs only the result. Returns a function that ends it. */
function showProgress(load: LockLoad, wholeMs: number): () => void {
  if (!process.stderr.isTTY) return () => undefined;
  const progress = new ProgressLine();
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
