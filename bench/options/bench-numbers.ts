/**
 * The workloads and their numbers, with defaults and limits. The command line is checked by this
 * table, and its help is made from it.
 */

/** Closed loops for a fixed time: they differ in what a worker asks for. */
export const LOAD_WORKLOADS = [
  "uncontended",
  "contended",
  "hot-set",
  "rw",
  "semaphore",
  "multi",
] as const;
export const WORKLOADS = [
  ...LOAD_WORKLOADS,
  "queue",
  "table",
  "sessions",
  "failover",
  "storm",
  "floods",
  "snapshot",
  "page",
] as const;
/** Those that every system with locks supports: an exclusive lock, and a queue for it. */
export const COMPARED_WORKLOADS = ["uncontended", "contended"] as const;
export type LoadWorkload = (typeof LOAD_WORKLOADS)[number];
export type Workload = (typeof WORKLOADS)[number];

export interface NumberRule {
  readonly about: string;
  /** By each workload that takes it. */
  readonly defaults: Readonly<Partial<Record<Workload, number>>>;
  readonly min: number;
  readonly max: number;
}

/**
 * With few locks, or during the snapshot of a full table, more workers would only wait for each
 * other.
 */
const FEW_WORKERS = {
  contended: 64,
  "hot-set": 256,
  rw: 64,
  semaphore: 64,
  multi: 64,
  snapshot: 64,
};

export const NUMBERS = {
  workers: {
    about: "closed loops of acquire and release",
    defaults: { uncontended: 1_024, table: 1_024, ...FEW_WORKERS },
    min: 1,
    max: 100_000,
  },
  connections: {
    about: "number of clients that share the load; peers without competition: see README",
    defaults: everywhereBut(["sessions", "storm", "floods"], 8),
    min: 1,
    max: 10_000,
  },
  seconds: {
    about: "measured time; for table: per round and table; for page: per turn",
    defaults: { ...ofEach(LOAD_WORKLOADS, 10), table: 5, sessions: 30, page: 5, floods: 5 },
    min: 1,
    max: 86_400,
  },
  keys: {
    about: "locks that the workers share",
    defaults: { "hot-set": 1_024, rw: 4, multi: 64 },
    min: 1,
    max: 1_000_000,
  },
  limit: {
    about: "permits of the semaphore",
    defaults: { semaphore: 8 },
    min: 1,
    max: 1_000_000,
  },
  rate: {
    about:
      "cycles per second that begin, however slow the service is; 0: closed loops; " +
      "for page: takes and releases per second",
    defaults: { ...ofEach(LOAD_WORKLOADS, 0), page: 5_000, floods: 100 },
    min: 0,
    max: 1_000_000,
  },
  // More than the short queue, which has 100.
  waiters: {
    about: "waiters of the long queue",
    defaults: { queue: 100_000 },
    min: 101,
    max: 1_000_000,
  },
  rounds: {
    about: "how often both sides of the comparison are measured",
    defaults: { queue: 5, table: 5, page: 5, floods: 5 },
    min: 1,
    max: 1_000,
  },
  runs: {
    about: "how often each fault happens",
    defaults: { failover: 20, storm: 3 },
    min: 1,
    max: 10_000,
  },
  holds: {
    about: "locks held all the time; for sessions: by the one that expires",
    defaults: { table: 1_000_000, snapshot: 1_000_000, sessions: 100_000, page: 100_000 },
    min: 1,
    max: 10_000_000,
  },
  count: {
    about: "connected sessions",
    defaults: { sessions: 10_000, storm: 2_000 },
    min: 1,
    max: 15_000,
  },
  warmup: {
    about: "seconds of warming up: loads by the measured load, others by 256 workers",
    // The compiler of Node.js works for 15 to 20 seconds after a start, and others do too.
    defaults: { ...ofEach(WORKLOADS, 3), ...ofEach(LOAD_WORKLOADS, 20) },
    min: 0,
    max: 3_600,
  },
} as const satisfies Record<string, NumberRule>;
export type NumberName = keyof typeof NUMBERS;
export const NUMBER_NAMES = Object.keys(NUMBERS) as readonly NumberName[];

function ofEach<Name extends Workload>(names: readonly Name[], value: number) {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, number>;
}

function everywhereBut(left: readonly Workload[], value: number) {
  return ofEach(
    WORKLOADS.filter((name) => !left.includes(name)),
    value,
  );
}
