/**
 * The command line of the bench: which workload, and what it takes. An option that a workload has
 * no use for is refused rather than ignored.
 */
import { parseArgs } from "node:util";
import {
  COMPARED_WORKLOADS,
  LOAD_WORKLOADS,
  type LoadWorkload,
  NUMBER_NAMES,
  NUMBERS,
  type NumberName,
  type NumberRule,
  WORKLOADS,
  type Workload,
} from "./bench-numbers.js";
import {
  ATTACHMENTS,
  type Attachment,
  OWN_SYSTEM,
  SYSTEM_NAMES,
  type SystemName,
} from "./system-names.js";

interface EveryOptions {
  /** Time in which the processes are warmed up; 0 for none. */
  readonly warmupSeconds: number;
  readonly isJson: boolean;
}

export interface LoadOptions extends EveryOptions {
  readonly workload: LoadWorkload;
  readonly system: SystemName;
  readonly attach: Attachment;
  /** SDK clients. */
  readonly connections: number;
  /** Closed loops that acquire and release, or the cycles that may be under way at once. */
  readonly workers: number;
  /** Cycles a second that begin; 0: closed loops. */
  readonly rate: number;
  /** Measured time, after the warm-up. */
  readonly seconds: number;
  /** Locks of `hot-set`, `rw` and `multi`. */
  readonly keys: number;
  /** Permits of `semaphore`. */
  readonly limit: number;
  /** A running cluster, or `undefined` to start one. */
  readonly endpoints: readonly string[] | undefined;
}

export interface QueueOptions extends EveryOptions {
  readonly workload: "queue";
  /** Sessions, over which waiters are spread. */
  readonly connections: number;
  /** Of the long queue. */
  readonly waiters: number;
  /** How often both queues are measured. */
  readonly rounds: number;
}

export interface TableOptions extends EveryOptions {
  readonly workload: "table";
  readonly connections: number;
  readonly workers: number;
  /** Measured time of either table in one round. */
  readonly seconds: number;
  readonly rounds: number;
  /** Locks that are held in the full one. */
  readonly holds: number;
}

export interface SessionsOptions extends EveryOptions {
  readonly workload: "sessions";
  /** Sessions that are connected and only renew. */
  readonly count: number;
  /** Locks of the session that expires. */
  readonly holds: number;
  /** Measured time without anything else. */
  readonly seconds: number;
}

export interface FailoverOptions extends EveryOptions {
  readonly workload: "failover";
  readonly connections: number;
  /** How often each fault happens. */
  readonly runs: number;
}

export interface SnapshotOptions extends EveryOptions {
  readonly workload: "snapshot";
  readonly connections: number;
  /** Locks that are held all the time. */
  readonly holds: number;
  /** Closed loops that make the log grow. */
  readonly workers: number;
}

export type BenchOptions =
  | LoadOptions
  | QueueOptions
  | TableOptions
  | SessionsOptions
  | FailoverOptions
  | SnapshotOptions;

export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** `multi` wants up to four different locks at once. */
const MULTI_KEYS_MIN = 4;
/** The locks that fill the table are renewed by nobody, and leases last ten minutes at most. */
const TABLE_SECONDS_MAX = 400;

/** Of one measurement. */
export const OPTION_TYPES = {
  workers: { type: "string" },
  connections: { type: "string" },
  seconds: { type: "string" },
  keys: { type: "string" },
  limit: { type: "string" },
  waiters: { type: "string" },
  rounds: { type: "string" },
  runs: { type: "string" },
  holds: { type: "string" },
  count: { type: "string" },
  warmup: { type: "string" },
  rate: { type: "string" },
  system: { type: "string" },
  attach: { type: "string" },
  endpoints: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** `undefined` when help was asked for; throws `UsageError`. */
export function parseBenchOptions(argv: readonly string[]): BenchOptions | undefined {
  const { values, positionals } = parse(argv);
  if (values.help === true) return undefined;
  const [name, ...rest] = positionals;
  const workload = WORKLOADS.find((candidate) => candidate === name);
  if (workload === undefined || rest.length > 0) {
    throw new UsageError(`one workload is needed: ${WORKLOADS.join(", ")}`);
  }
  const isLoad = isLoadWorkload(workload);
  if (values.endpoints !== undefined && !isLoad) {
    throw new UsageError(`--endpoints: ${workload} starts a cluster of its own`);
  }
  const system = choiceOf("system", values.system, SYSTEM_NAMES, OWN_SYSTEM);
  const attach = choiceOf("attach", values.attach, ATTACHMENTS, "leader");
  if (attach !== "leader" && !isLoad) {
    throw new UsageError(`--attach: clients of ${workload} go to the leader`);
  }
  if (system !== OWN_SYSTEM) demandComparable(workload, system, attach, values.endpoints);
  const numbers = numbersOf(workload, values);
  const every = { warmupSeconds: numbers.warmup, isJson: values.json === true };
  const { connections, workers, seconds, holds, rounds } = numbers;
  if (isLoad) {
    const { keys, limit, rate } = numbers;
    if (workload === "multi" && keys < MULTI_KEYS_MIN) {
      throw new UsageError(`--keys ${keys}: multi needs ${MULTI_KEYS_MIN} at least`);
    }
    const endpoints = values.endpoints?.split(",").filter((endpoint) => endpoint !== "");
    // A connection without a worker would have nothing to do.
    const used = Math.min(connections, workers);
    const load = { workers, rate, seconds, keys, limit, connections: used };
    return { workload, ...every, system, attach, ...load, endpoints };
  }
  switch (workload) {
    case "queue":
      return { workload, ...every, connections, waiters: numbers.waiters, rounds };
    case "table":
      if (2 * (rounds + 1) * seconds > TABLE_SECONDS_MAX) {
        throw new UsageError(
          `--rounds ${rounds}, --seconds ${seconds}: table measures ${TABLE_SECONDS_MAX} s at most`,
        );
      }
      return { workload, ...every, connections, workers, seconds, rounds, holds };
    case "sessions":
      return { workload, ...every, count: numbers.count, holds, seconds };
    case "failover":
      return { workload, ...every, connections, runs: numbers.runs };
    case "snapshot":
      return { workload, ...every, connections, workers, holds };
  }
}

function isLoadWorkload(workload: Workload): workload is LoadWorkload {
  return (LOAD_WORKLOADS as readonly Workload[]).includes(workload);
}

/** A peer has exclusive locks and servers of its own, and nothing else. */
function demandComparable(
  workload: Workload,
  system: SystemName,
  attach: Attachment,
  endpoints: string | undefined,
): void {
  if (!(COMPARED_WORKLOADS as readonly Workload[]).includes(workload)) {
    const names = COMPARED_WORKLOADS.join(" and ");
    throw new UsageError(`--system ${system}: peers are measured by ${names} alone`);
  }
  if (endpoints !== undefined) {
    throw new UsageError(`--endpoints: ${system} is started by the bench`);
  }
  if (attach !== "leader") {
    throw new UsageError(`--attach ${attach}: clients of ${system} go to its leader`);
  }
}

function choiceOf<Choice extends string>(
  option: string,
  text: string | undefined,
  choices: readonly Choice[],
  standard: Choice,
): Choice {
  if (text === undefined) return standard;
  const choice = choices.find((each) => each === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`--${option} ${text}: one of ${choices.join(", ")} is needed`);
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: OPTION_TYPES,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [sentence = ""] = error.message.split(/\. |\n/);
    throw new UsageError(sentence, { cause: error });
  }
}

/** All of them; one that the workload has no use for is 0. */
function numbersOf(
  workload: Workload,
  texts: Readonly<Partial<Record<NumberName, string | undefined>>>,
): Record<NumberName, number> {
  const numbers = {} as Record<NumberName, number>;
  for (const name of NUMBER_NAMES) {
    numbers[name] = numberOf(workload, name, texts[name]);
  }
  return numbers;
}

function numberOf(workload: Workload, name: NumberName, text: string | undefined): number {
  const { defaults, min, max }: NumberRule = NUMBERS[name];
  const standard = defaults[workload];
  if (text === undefined) return standard ?? 0;
  if (standard === undefined) throw new UsageError(`--${name} is no option of ${workload}`);
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name} ${text}: a whole number from ${min} to ${max} is needed`);
}
