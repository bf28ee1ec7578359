/**
 * The command line of the bench.
 */
import { parseArgs } from "node:util";

export const WORKLOADS = ["uncontended", "contended"] as const;
export type Workload = (typeof WORKLOADS)[number];

export interface BenchOptions {
  readonly workload: Workload;
  /** Closed loops that acquire and release. */
  readonly workers: number;
  /** SDK clients they are spread over. */
  readonly connections: number;
  /** Measured time, after the warm-up. */
  readonly seconds: number;
  /** Time in which the processes are warmed up; 0 for none. */
  readonly warmupSeconds: number;
  /** A running cluster, or `undefined` to start one. */
  readonly endpoints: readonly string[] | undefined;
  readonly isJson: boolean;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const USAGE = `Examples:
  npm run bench -- uncontended --workers 1024   each worker on a lock of its own
  npm run bench -- contended --workers 64       all workers on one lock: hand-overs a second
  npm run bench -- uncontended --json           one JSON object

Usage: npm run bench -- <workload> [options]

Workloads: ${WORKLOADS.join(", ")}

Options:
  --workers <n>      closed loops of acquire and release (default: 1024; contended: 64)
  --connections <n>  clients the workers are spread over (default: 8)
  --seconds <n>      measured time (default: 10)
  --warmup <n>       seconds in which 256 workers warm the processes up before (default: 3)
  --endpoints <urls> a running cluster (default: three nodes are started for the run)
  --json             one JSON object on standard output`;

/** `undefined` when help was asked for; throws `UsageError`. */
export function parseBenchOptions(argv: readonly string[]): BenchOptions | undefined {
  const { values, positionals } = parse(argv);
  if (values.help === true) return undefined;
  const [name, ...rest] = positionals;
  const workload = WORKLOADS.find((candidate) => candidate === name);
  if (workload === undefined || rest.length > 0) {
    throw new UsageError(`one workload is needed: ${WORKLOADS.join(" or ")}`);
  }
  const workersDefault = workload === "contended" ? "64" : "1024";
  const workers = number("--workers", values.workers ?? workersDefault, 1, 100_000);
  const connections = number("--connections", values.connections ?? "8", 1, 10_000);
  return {
    workload,
    workers,
    // A connection without a worker would have nothing to do.
    connections: Math.min(connections, workers),
    seconds: number("--seconds", values.seconds ?? "10", 1, 86_400),
    warmupSeconds: number("--warmup", values.warmup ?? "3", 0, 3_600),
    endpoints: values.endpoints?.split(",").filter((endpoint) => endpoint !== ""),
    isJson: values.json === true,
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

function number(name: string, text: string, smallest: number, largest: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value >= smallest && value <= largest) return value;
  throw new UsageError(`${name} ${text}: a whole number from ${smallest} to ${largest} is needed`);
}
