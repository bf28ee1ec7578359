/**
 * The command line of the bench: which workload, and what it takes. An option that a workload has
 * no use for is refused rather than ignored.
 */
import { parseArgs } from "node:util";

export const THROUGHPUT_WORKLOADS = ["uncontended", "contended"] as const;
export const WORKLOADS = [...THROUGHPUT_WORKLOADS, "failover", "snapshot"] as const;
export type ThroughputWorkload = (typeof THROUGHPUT_WORKLOADS)[number];
export type Workload = (typeof WORKLOADS)[number];

interface EveryOptions {
  /** SDK clients. */
  readonly connections: number;
  /** Time in which the processes are warmed up; 0 for none. */
  readonly warmupSeconds: number;
  readonly isJson: boolean;
}

export interface ThroughputOptions extends EveryOptions {
  readonly workload: ThroughputWorkload;
  /** Closed loops that acquire and release. */
  readonly workers: number;
  /** Measured time, after the warm-up. */
  readonly seconds: number;
  /** A running cluster, or `undefined` to start one. */
  readonly endpoints: readonly string[] | undefined;
}

export interface FailoverOptions extends EveryOptions {
  readonly workload: "failover";
  /** How often each fault happens. */
  readonly runs: number;
}

export interface SnapshotOptions extends EveryOptions {
  readonly workload: "snapshot";
  /** Locks that are held all the time. */
  readonly holds: number;
  /** Closed loops that make the log grow. */
  readonly workers: number;
}

export type BenchOptions = ThroughputOptions | FailoverOptions | SnapshotOptions;

export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Name, workloads that take it (none: all), default as shown, limits. */
const NUMBERS = {
  workers: { of: ["uncontended", "contended", "snapshot"], min: 1, max: 100_000 },
  connections: { of: WORKLOADS, min: 1, max: 10_000 },
  seconds: { of: THROUGHPUT_WORKLOADS, min: 1, max: 86_400 },
  runs: { of: ["failover"], min: 1, max: 10_000 },
  holds: { of: ["snapshot"], min: 1, max: 10_000_000 },
  warmup: { of: WORKLOADS, min: 0, max: 3_600 },
} as const satisfies Record<string, { of: readonly Workload[]; min: number; max: number }>;
type NumberName = keyof typeof NUMBERS;

const DEFAULTS: Readonly<Record<NumberName, number>> = Object.freeze({
  workers: 1_024,
  connections: 8,
  seconds: 10,
  runs: 20,
  holds: 1_000_000,
  warmup: 3,
});
/** On one lock, or beside a full table, more would only wait for each other. */
const WORKERS_OF_FEW = 64;

export const USAGE = `Examples:
  npm run bench -- uncontended --workers 1024   each worker on a lock of its own
  npm run bench -- contended --workers 64       all workers on one lock: hand-overs a second
  npm run bench -- failover --runs 20           time without service when the leader goes
  npm run bench -- snapshot --holds 1000000     stalls while a large table is saved
  npm run bench -- uncontended --json           one JSON object

Usage: npm run bench -- <workload> [options]

Workloads:
  uncontended        closed loops of acquire and release, each on a lock of its own
  contended          the same, all on one lock
  failover           the leader is killed, stopped, cut off: longest time without an acquire
  snapshot           a table of held locks is saved under load: longest stall of the event loop

Options:
  --workers <n>      closed loops (default: 1024; contended, snapshot: 64)
  --connections <n>  clients, over which workers are spread (default: 8)
  --seconds <n>      measured time (default: 10; uncontended, contended)
  --runs <n>         how often each fault happens (default: 20; failover)
  --holds <n>        locks held all the time (default: 1000000; snapshot)
  --warmup <n>       seconds in which 256 workers warm the processes up before (default: 3)
  --endpoints <urls> a running cluster (default: three nodes are started for the run;
                     uncontended, contended)
  --json             one JSON object on standard output`;

/** `undefined` when help was asked for; throws `UsageError`. */
export function parseBenchOptions(argv: readonly string[]): BenchOptions | undefined {
  const { values, positionals } = parse(argv);
  if (values.help === true) return undefined;
  const [name, ...rest] = positionals;
  const workload = WORKLOADS.find((candidate) => candidate === name);
  if (workload === undefined || rest.length > 0) {
    throw new UsageError(`one workload is needed: ${WORKLOADS.join(", ")}`);
  }
  const numberOf = (option: NumberName, standard = DEFAULTS[option]): number =>
    numberIn(workload, option, values[option], standard);
  for (const option of Object.keys(NUMBERS) as NumberName[]) numberOf(option);
  const every = { warmupSeconds: numberOf("warmup"), isJson: values.json === true };
  if (workload === "failover" || workload === "snapshot") {
    if (values.endpoints !== undefined) {
      throw new UsageError(`--endpoints: ${workload} starts a cluster of its own`);
    }
    const connections = numberOf("connections");
    if (workload === "failover") {
      return { workload, ...every, connections, runs: numberOf("runs") };
    }
    const workers = numberOf("workers", WORKERS_OF_FEW);
    return { workload, ...every, connections, workers, holds: numberOf("holds") };
  }
  const isContended = workload === "contended";
  const workers = numberOf("workers", isContended ? WORKERS_OF_FEW : DEFAULTS.workers);
  return {
    workload,
    ...every,
    workers,
    // A connection without a worker would have nothing to do.
    connections: Math.min(numberOf("connections"), workers),
    seconds: numberOf("seconds"),
    endpoints: values.endpoints?.split(",").filter((endpoint) => endpoint !== ""),
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        workers: { type: "string" },
        connections: { type: "string" },
        seconds: { type: "string" },
        runs: { type: "string" },
        holds: { type: "string" },
        warmup: { type: "string" },
        endpoints: { type: "string" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [sentence = ""] = error.message.split(/\. |\n/);
    throw new UsageError(sentence, { cause: error });
  }
}

function numberIn(
  workload: Workload,
  option: NumberName,
  text: string | undefined,
  standard: number,
): number {
  if (text === undefined) return standard;
  const { of, min, max } = NUMBERS[option];
  if (!(of as readonly Workload[]).includes(workload)) {
    throw new UsageError(`--${option} is no option of ${workload}`);
  }
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${option} ${text}: a whole number from ${min} to ${max} is needed`);
}
