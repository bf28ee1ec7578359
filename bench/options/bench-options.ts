/**
 * The settings of one measurement: a workload and its numbers. An option that the workload does not
 * use is refused rather than ignored.
 */
import { UsageError } from "../../lab/command-line.js";
import type { MeasureFlags } from "./bench-flags.js";
import {
  COMPARED_WORKLOADS,
  LOAD_WORKLOADS,
  type LoadWorkload,
  NUMBER_NAMES,
  NUMBERS,
  type NumberName,
  type NumberRule,
  type Workload,
} from "./bench-numbers.js";
import { bestConnections } from "./best-connections.js";
import { type Attachment, isPeer, OWN_SYSTEM, type SystemName } from "./system-names.js";

/** `NUMBERS` says what they mean. */
type Numbers<Name extends NumberName> = Readonly<Record<Name, number>>;

interface EveryOptions<Name extends Workload> {
  readonly workload: Name;
  /** Time in which the processes are warmed up; 0 for none. */
  readonly warmupSeconds: number;
}

/** A number that the workload does not use is 0. */
export interface LoadOptions
  extends EveryOptions<LoadWorkload>,
    Numbers<"workers" | "connections" | "seconds" | "keys" | "limit" | "rate"> {
  readonly system: SystemName;
  readonly attach: Attachment;
  /** TLS on both ports of an own cluster, with client certificates. */
  readonly tls: boolean;
  /** A running cluster, or `undefined` to start one. */
  readonly endpoints: readonly string[] | undefined;
}

export type QueueOptions = EveryOptions<"queue"> & Numbers<"connections" | "waiters" | "rounds">;
export type TableOptions = EveryOptions<"table"> &
  Numbers<"workers" | "connections" | "seconds" | "rounds" | "holds">;
export type SessionsOptions = EveryOptions<"sessions"> & Numbers<"seconds" | "holds" | "count">;
export type FailoverOptions = EveryOptions<"failover"> & Numbers<"connections" | "runs">;
export type StormOptions = EveryOptions<"storm"> &
  Numbers<"count" | "runs"> & { readonly tls: boolean };
export type FloodsOptions = EveryOptions<"floods"> & Numbers<"seconds" | "rate" | "rounds">;
export type SnapshotOptions = EveryOptions<"snapshot"> &
  Numbers<"workers" | "connections" | "holds">;

export type PageOptions = EveryOptions<"page"> &
  Numbers<"connections" | "seconds" | "rate" | "rounds" | "holds">;

export type BenchOptions =
  | LoadOptions
  | QueueOptions
  | TableOptions
  | SessionsOptions
  | FailoverOptions
  | StormOptions
  | FloodsOptions
  | SnapshotOptions
  | PageOptions;

/** `multi` needs up to four different locks at once. */
const MULTI_KEYS_MIN = 4;
/** The locks that fill the table are not renewed, and a lease lasts at most ten minutes. */
const TABLE_SECONDS_MAX = 400;

/** Throws `UsageError` for what the workload cannot do. */
export function benchOptions(workload: Workload, flags: MeasureFlags): BenchOptions {
  const { endpoints, system = OWN_SYSTEM, attach = "leader", tls = false } = flags;
  if (system !== OWN_SYSTEM) demandComparable(workload, system, flags);
  const { warmup: warmupSeconds = 0, ...numbers } = numbersOf(workload, flags);
  const { connections = 0, workers = 0, seconds = 0, rounds = 0, keys = 0, limit = 0 } = numbers;
  if (isLoadWorkload(workload)) {
    if (workload === "multi" && keys < MULTI_KEYS_MIN) {
      throw new UsageError(`--keys ${keys}: multi needs at least ${MULTI_KEYS_MIN}`);
    }
    const { rate = 0 } = numbers;
    const isBest = isPeer(system) && workload === "uncontended" && flags.connections === undefined;
    const best = isBest ? bestConnections(system, connections) : connections;
    // A connection without a worker would have nothing to do.
    const used = Math.min(best, workers);
    const load = { workers, connections: used, seconds, keys, limit, rate };
    if (tls && endpoints !== undefined) {
      throw new UsageError("--tls: is for a cluster that the bench starts");
    }
    return { workload, warmupSeconds, system, attach, tls, ...load, endpoints };
  }
  if (endpoints !== undefined) {
    throw new UsageError(`--endpoints: ${workload} starts a cluster of its own`);
  }
  if (attach !== "leader") {
    throw new UsageError(`--attach: clients of ${workload} go to the leader`);
  }
  if (workload === "storm") return { workload, warmupSeconds, tls, ...numbers } as StormOptions;
  if (tls) throw new UsageError(`--tls is not an option of ${workload}`);
  if (workload === "table" && 2 * (rounds + 1) * seconds > TABLE_SECONDS_MAX) {
    throw new UsageError(
      `--rounds ${rounds}, --seconds ${seconds}: table measures at most ${TABLE_SECONDS_MAX} s`,
    );
  }
  if ((workload === "page" || workload === "floods") && numbers.rate === 0) {
    throw new UsageError(`--rate 0: ${workload} needs a fixed rate`);
  }
  // The table of numbers gives each workload the ones that its type has.
  return { workload, warmupSeconds, ...numbers } as BenchOptions;
}

/** Whether a workload uses a number. */
export function takes(workload: Workload, name: string): boolean {
  return defaultsOf(name as NumberName)[workload] !== undefined;
}

function isLoadWorkload(workload: Workload): workload is LoadWorkload {
  return (LOAD_WORKLOADS as readonly Workload[]).includes(workload);
}

/** A compared system has only exclusive locks, and servers that the bench starts. */
function demandComparable(
  workload: Workload,
  system: SystemName,
  { endpoints, attach = "leader", tls = false }: MeasureFlags,
): void {
  if (tls) throw new UsageError(`--tls: ${system} is measured without it`);
  if (!(COMPARED_WORKLOADS as readonly Workload[]).includes(workload)) {
    const names = COMPARED_WORKLOADS.join(" and ");
    throw new UsageError(`--system ${system}: is measured only with ${names}`);
  }
  if (endpoints !== undefined) {
    throw new UsageError(`--endpoints: ${system} is started by the bench`);
  }
  if (attach !== "leader") {
    throw new UsageError(`--attach ${attach}: clients of ${system} go to its leader`);
  }
}

/** The numbers that the workload takes. */
function numbersOf(workload: Workload, flags: MeasureFlags): Partial<Record<NumberName, number>> {
  const numbers: Partial<Record<NumberName, number>> = {};
  for (const name of NUMBER_NAMES) {
    const standard = defaultsOf(name)[workload];
    if (standard !== undefined) numbers[name] = flags[name] ?? standard;
    else if (flags[name] !== undefined) {
      throw new UsageError(`--${name} is not an option of ${workload}`);
    }
  }
  return numbers;
}

function defaultsOf(name: NumberName): NumberRule["defaults"] {
  return NUMBERS[name].defaults;
}
