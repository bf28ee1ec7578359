/**
 * The interface of a workload: the operations that the workers of all clients repeat, and the model
 * that judges their history. A custom workload is a module that exports one of these as `workload`;
 * `docs/jepsen-lite.md` shows how.
 */
import type { RandomStream } from "../../lab/random-stream.js";
import type { Keyring } from "../access/keyring.js";
import type { EventFields } from "../clients/recorder.js";
import type { Admin, Client, ConnectOptions, Lock } from "../sdk.js";

/** Models for histories (`docs/internals/checker.md`). */
export type HistoryModel = "lock" | "register" | "cas-register";

export type WorkloadModel =
  | HistoryModel
  /** Updates of the guarded store, of which none may be lost unless tokens are not compared. */
  | "updates"
  /**
   * As `updates`, with a store that compares no tokens: losses are shown, and are not violations.
   */
  | "unfenced-updates";

/** The checks for which not every history of locks has data. */
export type LockCheck =
  | "order"
  | "leases"
  | "exactly-once"
  | "wake-ups"
  | "watches"
  | "endings"
  | "heirs"
  | "access"
  | "denials";

export interface Workload {
  /** Lower-case words with hyphens; names its keys, its history and its row in the report. */
  readonly name: string;
  /** One line for `--help` and the report. */
  readonly about: string;
  readonly model: WorkloadModel;
  /** Separate histories in addition to the history of `model`, by name, each with its model. */
  readonly parts?: Readonly<Record<string, WorkloadModel>>;
  /**
   * Checks of the lock model other than `linearizable`, `tokens` and `exclusion` for which its
   * history is made to have data. If one of them gets none, the run reports it.
   */
  readonly compares?: readonly LockCheck[];
  /** The largest number of workers in each client, if less than `--workers`; default: no limit. */
  readonly workersMax?: number;
  /**
   * The identities for which its workers work in turn; its history says which. A run with such a
   * workload closes its cluster, and everybody else works as one identity with all rights.
   */
  readonly identities?: readonly string[];
  /** Whether it uses the guarded store, a process of its own. */
  readonly needsStore?: boolean;
  /** Whether the nodes have to serve lock clients of Redis. */
  readonly needsRedis?: boolean;
  /** One round of one worker. Called again as soon as it resolves, until the load ends. */
  step(worker: Worker): Promise<void>;
  /** The same round with plain locks only: such a workload can be run against other systems too. */
  plainStep?(worker: PlainWorker): Promise<void>;
  /** Runs alongside the rounds, once in each client, until `worker.signal`. */
  background?(worker: Worker): Promise<void>;
  /** After everything was healed, once for each key, by a worker of the first client. */
  finalRead?(worker: Worker, key: string): Promise<void>;
}

/** The name of an operation in the history. */
export interface Operation {
  readonly f: string;
  readonly key?: string;
  readonly value?: unknown;
  /** The number of the task that asks (`client.task()`); default: each acquire is a task of its own. */
  readonly task?: number;
  /** Default: the session of the worker's client. */
  readonly session?: number;
  /**
   * The credential that is shown; default: the worker's credential, in workloads with `identities`.
   */
  readonly as?: string;
  /** One of the workload's `parts`, if it is not judged by `model`. */
  readonly part?: string;
}

/** What every system under attack supports: to acquire and release a lock. */
export interface PlainLocks {
  /** The session of all locks, if the system has sessions. */
  readonly session: number | undefined;
  acquire(key: string, options: { readonly waitMs: number }): Promise<HeldLock>;
  close(): Promise<void>;
}

export type HeldLock = Pick<
  Lock,
  "token" | "items" | "remainingMs" | "isHeld" | "signal" | "release"
>;

/** One thread of control within a client: does one operation at a time. */
export interface PlainWorker {
  /** Its number in the history. */
  readonly process: number;
  /** 0 for the first worker in each client. */
  readonly index: number;
  /** The locks of the system under attack. */
  readonly locks: PlainLocks;
  readonly random: RandomStream;
  /** Aborted when the load ends. */
  readonly signal: AbortSignal;
  /** The keys of this workload. */
  readonly keys: readonly string[];
  readonly ttlMs: number;
  /** Whether the guarded resource compares tokens. */
  readonly isFenced: boolean;
  /** The guarded store, for workloads with `needsStore`. */
  readonly store: StoreCalls;
  /** Nanoseconds since the run began. */
  now(): number;
  /**
   * Does an operation and records its invocation and its end. Resolves to what `act` resolves to,
   * or to `undefined` if it failed or its outcome is unknown. `resultOf` makes the recorded value.
   */
  record<T>(
    operation: Operation,
    act: () => Promise<T>,
    resultOf?: (result: T) => unknown,
  ): Promise<T | undefined>;
  /** A note about an event (`queued`, `lost`, `renewed`, `change`). */
  note(fields: Omit<EventFields, "process">): void;
  /** Resolves after this time, or at once when the load has ended. */
  sleep(milliseconds: number): Promise<void>;
  /** A value that no other worker of the run makes. */
  unique(): number;
}

/** A worker of a run against Holdfast, with all functions of its SDK. */
export interface Worker extends PlainWorker {
  /** Connected; its session is this workload's own in this client process. */
  readonly client: Client;
  /** For which it works, in workloads with `identities`; else "". */
  readonly identity: string;
  /** `host:port` of each node, as this client reaches it. */
  readonly endpoints: readonly string[];
  /** `host:port` for the Redis port of each node; empty unless some workload `needsRedis`. */
  readonly redisEndpoints: readonly string[];
  /** What proves who it is; `undefined`: the cluster is open. */
  readonly accessToken: string | undefined;
  /** The access tokens of the run and where to use them. Only if its cluster is closed. */
  readonly keyring: Keyring;
  /** A further client, with a session of its own; the caller closes it. By default as the worker. */
  connect(options?: ConnectOptions): Promise<Client>;
  /** A connection without a session; the caller closes it. Without a token it is anonymous. */
  connectAdmin(token: string | undefined): Promise<Admin>;
}

/** The calls of the guarded store; see `guarded/store-main.ts`. */
export interface StoreCalls {
  /**
   * The value that was written last, 0 in the beginning; `undefined` if the store refused the
   * token. After that it refuses older ones. `token` 0: it is not compared.
   */
  read(key: string, token: number): Promise<number | undefined>;
  /** Resolves to false if the store refused the token. `token` 0: it is not compared. */
  write(key: string, value: number, token: number): Promise<boolean>;
}
