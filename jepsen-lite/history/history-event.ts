/**
 * One line of a history, as in `docs/internals/checker.md`, with two fields beyond the format: its
 * workload (or part of one), which decides the file it is written to, and its client. Checkers
 * ignore both.
 */
export type EventType = "invoke" | "ok" | "fail" | "info";

export interface HistoryEvent {
  /** A worker of a client, counted over all clients; `nemesis` for notes of the harness. */
  readonly process: number | "nemesis";
  readonly type: EventType;
  readonly f: string;
  readonly key?: string;
  readonly value?: unknown;
  readonly error?: string;
  readonly session?: number;
  readonly task?: number;
  /** For a `fail`: only the client itself says that it did not happen. */
  readonly denied?: true;
  /** The credential that was shown, in histories by which access is judged. */
  readonly as?: string;
  /** Nanoseconds of the machine's monotonic clock since the run began. */
  readonly time: number;
  readonly workload: string;
  readonly client?: number;
}

/**
 * Workers of one life of one client have neighbouring numbers, and no number occurs twice in a run.
 * Lives take the lower part, so that numbers stay readable: client 2, first life, worker 3 is 2003.
 */
const WORKERS_MAX = 1_000;
const LIVES_STEP = 100_000;

export function processNumber(client: number, life: number, worker: number): number {
  return life * LIVES_STEP + client * WORKERS_MAX + worker;
}

export function clientOfProcess(process: number): number {
  return Math.floor((process % LIVES_STEP) / WORKERS_MAX);
}

/** The name of a history: the workload, or the part of it that is judged separately. */
export function historyName(workload: string, part?: string): string {
  return part === undefined ? workload : `${workload}-${part}`;
}
