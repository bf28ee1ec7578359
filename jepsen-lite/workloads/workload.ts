/**
 * What a workload is: the operations that the tasks of all clients do again and again, and the
 * model by which their history is judged. A workload of one's own is a module that exports one of
 * these as `workload`; `docs/jepsen-lite.md` shows how.
 */
import type { RandomStream } from "../../lab/random-stream.js";
import type { EventFields } from "../clients/recorder.js";
import type { Client, ConnectOptions, Lock } from "../sdk.js";

/** Models that a history can be held against (`docs/internals/checker.md`). */
export type WorkloadModel =
  | "lock"
  | "register"
  | "kv"
  | "mutex"
  | "cas-register"
  /** Updates of the guarded store, of which none may be lost unless tokens are not compared. */
  | "updates"
  /** The same of a store that compares no tokens: what is lost is shown, and is no violation. */
  | "unfenced-updates";

/** The checks that not every history of locks can feed. */
export type LockCheck = "order" | "leases" | "exactly-once" | "wake-ups" | "watches";

export interface Workload {
  /** Lower-case words with hyphens; names its keys, its history and its row in the report. */
  readonly name: string;
  /** One line for `--help` and the report. */
  readonly about: string;
  readonly model: WorkloadModel;
  /** Histories of its own beside that of `model`, by name: what else is judged, and how. */
  readonly parts?: Readonly<Record<string, WorkloadModel>>;
  /**
   * Checks of the lock model beside `linearizable`, `tokens` and `exclusion` to which its history is
   * made to give something to compare. Where one of them gets nothing, the run says so.
   */
  readonly compares?: readonly LockCheck[];
  /** Tasks in each client, fewer than `--tasks` says; default: as many. */
  readonly tasksMax?: number;
  /** Whether it uses the guarded store, a process of its own. */
  readonly needsStore?: boolean;
  /** One round of one task. Called again as soon as it resolves, until the load ends. */
  step(task: Task): Promise<void>;
  /** The same round by plain locks alone: what has one can be run against other systems too. */
  plainStep?(task: PlainTask): Promise<void>;
  /** Beside the rounds, once in each client, until `task.signal`. */
  background?(task: Task): Promise<void>;
  /** After everything was healed, once for each key, by a task of the first client. */
  finalRead?(task: Task, key: string): Promise<void>;
}

/** What an operation is called in the history. */
export interface Operation {
  readonly f: string;
  readonly key?: string;
  readonly value?: unknown;
  readonly owner?: number;
  /** Default: that of the task's client. */
  readonly session?: number;
  /** One of the workload's `parts`, where it is not judged by `model`. */
  readonly part?: string;
}

/** What every system under attack can do: lock a key, and give it back. */
export interface PlainLocks {
  /** Of which all locks are, where there is such a thing. */
  readonly session: number | undefined;
  acquire(key: string, options: { readonly waitMs: number }): Promise<HeldLock>;
  close(): Promise<void>;
}

export type HeldLock = Pick<
  Lock,
  "token" | "items" | "remainingMs" | "isHeld" | "signal" | "release"
>;

/** One line of control within a client: does one operation at a time. */
export interface PlainTask {
  /** Its number in the history. */
  readonly process: number;
  /** 0 in each client for the first of its tasks. */
  readonly index: number;
  /** Of the system under attack, whichever it is. */
  readonly locks: PlainLocks;
  readonly random: RandomStream;
  /** Aborted when the load ends. */
  readonly signal: AbortSignal;
  /** The keys of this workload. */
  readonly keys: readonly string[];
  readonly ttlMs: number;
  /** Whether what guards a resource compares tokens. */
  readonly isFenced: boolean;
  /** The guarded store, of workloads with `needsStore`. */
  readonly store: StoreCalls;
  /** Nanoseconds since the run began. */
  now(): number;
  /**
   * Does an operation and records its invocation and its end. Resolves to what `act` resolves to,
   * or to `undefined` when it failed or its outcome is unknown. `resultOf` makes the recorded value.
   */
  record<T>(
    operation: Operation,
    act: () => Promise<T>,
    resultOf?: (result: T) => unknown,
  ): Promise<T | undefined>;
  /** A note about something that happened (`queued`, `lost`, `renewed`, `change`). */
  note(fields: Omit<EventFields, "process">): void;
  /** Resolves after so long, or at once when the load ended. */
  sleep(milliseconds: number): Promise<void>;
  /** A value that no other task of the run makes. */
  unique(): number;
}

/** A task of a run against Holdfast, which can do all that its SDK can. */
export interface Task extends PlainTask {
  /** Connected; its session is this workload's own in this client process. */
  readonly client: Client;
  /** A further client, with a session of its own; whoever opens it closes it. */
  connect(options?: ConnectOptions): Promise<Client>;
}

/** What the guarded store can be asked; see `guarded/store-main.ts`. */
export interface StoreCalls {
  /**
   * The value that was written last, 0 in the beginning; `undefined` when the store refused the
   * token. From then on it refuses older ones. `token` 0: it is not compared.
   */
  read(key: string, token: number): Promise<number | undefined>;
  /** Resolves to false when the store refused the token. `token` 0: it is not compared. */
  write(key: string, value: number, token: number): Promise<boolean>;
}
