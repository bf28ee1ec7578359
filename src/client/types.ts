/**
 * The public types of the SDK.
 */
import type {
  Blocker,
  ClaimMode,
  ClosingView,
  CycleMember,
  EndReason,
  ExplainedKey,
  ExplainView,
  GraphEdge,
  GraphOwner,
  HoldView,
  KeyView,
  LockMode,
  MembersView,
  MemberView,
  SessionView,
  SettingView,
  VerifyView,
  WaiterView,
  WaitGraphView,
} from "../protocol/index.js";
import type { EndSessionOptions, Revoked, RevokeOptions, RevokeTarget } from "./calls/orders.js";
import type { Election } from "./election.js";
import type { ExportedSession } from "./exported-session.js";
import type {
  AcquireAllOptions,
  AcquireOptions,
  CallOptions,
  Lock,
  Semaphore,
  Ticket,
  TryAcquireOptions,
  WantedItem,
} from "./lock-types.js";
import type { Deadlock } from "./locks/deadlocks.js";
import type { Owner } from "./locks/owner.js";
import type { ExplainOptions, WatchTarget } from "./reads/view-options.js";
import type { History, Watch, WatchOptions } from "./reads/view-types.js";
import type { Resumed } from "./session/resuming.js";
import type { LockManager } from "./web-locks/types.js";

/** What `connect` takes. An option that it does not know is a `TypeError`. */
export interface ConnectOptions {
  /**
   * WebSocket URLs (`ws://host:port`, `wss://…`) of any nodes of one cluster; the client learns the
   * others. Default: the local cluster's, `ws://127.0.0.1:7411` to `:7413`.
   */
  endpoints?: readonly string[] | undefined;
  /**
   * Lease of the session: how long locks outlive a silent client. 1,000 – 600,000. Default 15,000.
   */
  ttlMs?: number | undefined;
  /** Shown to others that wait for what this client holds. At most 256 bytes. Default "". */
  name?: string | undefined;
  /** At most 1 KiB, shown by tools. Default "". */
  metadata?: string | undefined;
  /**
   * Whether to go to the leader, whichever endpoint was given. False: stay with the given endpoints
   * and learn no others, for proxies and for asking one certain node. Default true.
   */
  followLeader?: boolean | undefined;
  /** Gives up the first connection when aborted. */
  signal?: AbortSignal | undefined;
  /**
   * How long `connect` looks for a node that serves, and how long a try or a read waits for an
   * answer. 1 – 2^31 − 1. Default 10,000.
   */
  connectTimeoutMs?: number | undefined;
  /** Release everything and end the session on SIGTERM and SIGINT (Node only). Default false. */
  releaseOnExit?: boolean | undefined;
  /**
   * Whether an acquire that names no owner, made anywhere inside the callback of a `using`, belongs
   * to the task of that lock, as if it were `lock.acquire`: however deep, and without the lock being
   * handed down. Node only; elsewhere `connect` rejects with a `TypeError`. Default false, for two
   * reasons. It is carried by `AsyncLocalStorage`, whose first use makes promise-heavy code of the
   * whole process two to three times slower on Node 20 (hardly on Node 24). And what runs side by
   * side in one callback (`Promise.all`), or goes on behind its end, counts as the same task: two
   * siblings that want the same key are a deadlock of one, or with `reentrant` share the hold.
   *
   * A lock from `acquire` alone has no callback, so it begins no task that others could belong to;
   * nor do Web Locks (`client.locks`), where each request is a task of its own.
   */
  ownerFromContext?: boolean | undefined;
  /**
   * Remembers the stack of every acquire, so that a `DEADLOCK` says in `details.cycle` where this
   * client asked for the locks of the circle (`waitsAt`, `blocksAt`). For debugging: a stack costs
   * some ten microseconds, and memory for as long as the lock is held. Default false.
   */
  captureStacks?: boolean | undefined;
  /**
   * Takes over the session that another process exported (`client.export()`). Its locks, under new
   * tokens and with one handle each, and its waits are in `client.resumed`; what the other process
   * still believes to hold is covered by fencing only. Of several processes that are given the same
   * session the first one gets it: `connect` rejects with `TAKEN_OVER` in the others, also in one that
   * was restarted, whose locks the lease frees. It rejects with `SESSION_EXPIRED` when the session
   * ended before, `FORBIDDEN` for a wrong secret, `QUOTA` when it holds more than one step may renew.
   */
  resume?: ExportedSession | undefined;
  /**
   * With `resume`: takes the session also from a process that took it over already. That one's locks
   * are lost (reason `takenOver`), and its client is closed with `TAKEN_OVER`; until it hears of that
   * only fencing keeps the two apart. At most once a second for a session. Default false.
   */
  force?: boolean | undefined;
}

/** What a `Client` and an `Admin` can see. In time: `connectTimeoutMs`, or `timeoutMs` of an admin. */
export interface Views {
  /**
   * Who holds and who waits; linearizable. `UNAVAILABLE` without an answer in time.
   */
  inspect(key: string, options?: CallOptions): Promise<KeyView>;
  /**
   * Every key in use whose name begins with `prefix`, in byte order; fetched page by page. Each
   * page is linearizable, all together are not one moment. `UNAVAILABLE` as with `inspect`.
   */
  query(prefix?: string, options?: CallOptions): AsyncIterable<KeyView>;
  /**
   * Why a request waits, or what a newcomer who wants the key would meet. Answered like `inspect`.
   */
  explain(key: string, options?: ExplainOptions): Promise<ExplainView>;
  /** Who waits for whom. `limit`: edges, 1 – 2,000 (default). `toDot` draws it. */
  waitGraph(options?: CallOptions & { limit?: number | undefined }): Promise<WaitGraphView>;
  /**
   * Whether `token` is that of a hold of `key`, and the newest token of the key. Advisory: it may
   * change as soon as it was looked at, so the resource must compare tokens itself.
   */
  verify(key: string, token: number, options?: CallOptions): Promise<VerifyView>;
  /** Who held the key, newest first. `limit`: 1 – 1,000, default 100. Of the node that answers. */
  history(key: string, options?: CallOptions & { limit?: number | undefined }): Promise<History>;
  /** Every live session, in the order of their numbers; fetched page by page. */
  sessions(options?: CallOptions): AsyncIterable<SessionView>;
  /** The replicated settings, with their defaults. */
  settings(options?: CallOptions): Promise<readonly SettingView[]>;
}

/** What a `Client` and an `Admin` can take away and set, if they may. In time is as with `Views`. */
export interface Orders {
  /**
   * Ends what is held, and opens a key at once that an ended hold keeps closed. `NOT_HELD` for an
   * unknown token, `FORBIDDEN`, `UNAVAILABLE` without an answer in time.
   */
  revoke(target: RevokeTarget, options?: RevokeOptions): Promise<Revoked>;
  /**
   * Ends a session with all it holds and waits for, as a revoke of everything. `NOT_HELD` when
   * there is no such session, `FORBIDDEN`, `UNAVAILABLE` without an answer in time.
   */
  endSession(session: number, options?: EndSessionOptions): Promise<void>;
  /** As `semaphore(key).setLimit`. `WRONG_KIND` when the key is a lock's. */
  setLimit(key: string, limit: number | undefined, options?: CallOptions): Promise<void>;
  /**
   * Changes a replicated setting, for all clients and at once; `undefined`: to its default.
   * `INVALID_ARGUMENT` for an unknown name or a value beyond its limits.
   */
  changeSetting(name: string, value: number | undefined, options?: CallOptions): Promise<void>;
}

/**
 * A connection to the cluster with one session. Calls take effect in the order in which they are made,
 * with one exception: where a node has no room, what gives something back (a release, a downgrade, a
 * caller that leaves, `close`) may pass what asks for something. Nothing passes what gives back, so a
 * `release` and then an `acquire` need not be waited for in between.
 */
export interface Client extends Views, Orders, AsyncDisposable {
  /** The session's number, 0 while there is none. */
  readonly session: number;
  /** All endpoints known by now. */
  readonly endpoints: readonly string[];
  /**
   * Aborted when the client was closed, by `close` or for good reason by the cluster: `TAKEN_OVER` when
   * another process took its session over (`details.taker`).
   */
  readonly closed: AbortSignal;
  /** What came with a session that was taken over (`connect({ resume })`); else `undefined`. */
  readonly resumed: Resumed | undefined;
  /** The Web Locks API: what is written for `navigator.locks` runs on the cluster. */
  readonly locks: LockManager;
  /**
   * A task of its own, to be named by several acquires. Without one, every acquire is a task, and
   * what is acquired inside a lock (`lock.acquire`) belongs to the lock's; `ownerFromContext` finds
   * that out by itself. Tasks of one process exclude each other; what one task waits for and holds
   * is what deadlocks are found by.
   */
  owner(): Owner;
  /**
   * Waits in the queue of `key` and resolves when the lock is granted. Keeps the process running
   * while it waits or holds; an idle client does not.
   *
   * Rejects with the reason of `signal`, or with a `HoldfastError`: `LOCK_HELD`, `LOCK_TIMEOUT`,
   * `QUEUE_FULL`, `QUOTA`, `INVALID_ARGUMENT`; `DEADLOCK` when waiting would never end
   * (`details.cycle` says who waits for whom, `explainDeadlock` more); `WRONG_KIND` when the key is
   * a semaphore's; `BUSY` when the cluster refused it for a whole TTL; `UNAVAILABLE` when `waitMs`
   * is 0 and no node answered within `connectTimeoutMs`; `SESSION_EXPIRED` when the session ended
   * while it waited, and its place in the queue with it (nothing is held; the next call uses a new
   * session); `CANCELLED` when the client is closed.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lock>;
  /**
   * Like `acquire` with `waitMs: 0`, but resolves to `undefined` when another holds or waits.
   * `UNAVAILABLE` does not mean that it is held: no node answered within `connectTimeoutMs`.
   */
  tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lock | undefined>;
  /**
   * All of 1 – 16 keys in one step or none, locks and permits mixed; fair in each of them. A
   * request that is blocked in one key holds its place in the others. Rejects like `acquire`, and
   * with `LIMIT_MISMATCH` (`details.limit`) when a semaphore in use has another limit.
   */
  acquireAll(items: readonly WantedItem[], options?: AcquireAllOptions): Promise<Lock>;
  /**
   * Runs `callback` while holding the lock and releases it afterwards, whatever happens. Rejects
   * with `LOCK_LOST` when the callback succeeded but the lock was lost before it ended.
   */
  using<T>(key: string, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(
    key: string,
    options: AcquireOptions,
    callback: (lock: Lock) => Promise<T> | T,
  ): Promise<T>;
  /**
   * Permits of `key`. `limit`, 1 – 1,000,000, is needed while nobody uses the key, and must be the
   * one that it has while somebody does (`LIMIT_MISMATCH`).
   */
  semaphore(key: string, options?: { limit?: number | undefined }): Semaphore;
  /**
   * Takes what `lock.detach` left: the same keys, slots and value under a new token. `NOT_HELD`
   * when there is no such ticket (any more), `FORBIDDEN` for a wrong secret, `QUOTA`, `BUSY`,
   * `UNAVAILABLE` without an answer in `connectTimeoutMs`. Aborting gives back what was claimed
   * meanwhile.
   */
  claim(ticket: Ticket, options?: CallOptions & { owner?: Owner | undefined }): Promise<Lock>;
  /** `name` is the key that whoever leads holds. */
  election(name: string): Election;
  /**
   * What was in the way of an acquire that was refused with `DEADLOCK`: for each task of the circle
   * its session's name and metadata, what it holds, since when and under which value, and where in
   * this program it was asked for (`connect({ captureStacks: true })`). It looks at the present, so
   * ask before the locks of the circle are released. Rejects with a `TypeError` for any other error,
   * `UNAVAILABLE` as with `inspect`.
   */
  explainDeadlock(error: unknown, options?: CallOptions): Promise<Deadlock>;
  /**
   * What happens to a key, or to all that begin with a prefix ("orders/"), in the order of the log. Begins with
   * the call, also before the first `next`. While the application does not take them, up to about a
   * thousand changes are kept and then the watch pauses. The iteration fails with `COMPACTED` when
   * what comes next is no longer kept by the cluster, with the reason of `signal`, or with
   * `CANCELLED` when the client is closed.
   */
  watch(target: WatchTarget, options?: WatchOptions): Watch;
  /**
   * Gives the session up for another process to go on with: `connect({ resume: exported })`. Aborts
   * every signal first (`LOCK_LOST`, reason `exported`) and rejects what waits with `CANCELLED`;
   * the client is closed then. What it holds stays held and what it waits for keeps its place until
   * the lease ends. Waits two seconds at most for the cluster to hear what was given back, and does not
   * fail without it: whoever takes over gives it back then. The result is plain data, and as secret as
   * the session. `UNAVAILABLE` while the client has no session.
   */
  export(): Promise<ExportedSession>;
  /**
   * Releases everything and ends the session. Never rejects. Waits for the cluster to say so for a
   * third of the TTL, at most 3,000 ms; without an answer what was held stays so until its lease
   * ends.
   */
  close(): Promise<void>;
}

/** What a node tells about itself on `/status`. */
export interface NodeStatus {
  readonly id: number;
  /**
   * "learner": receives everything and decides nothing. "starting": reads its log. "quarantined":
   * its data are damaged, so it takes part in nothing until it is recovered.
   */
  readonly role:
    | "follower"
    | "learner"
    | "preCandidate"
    | "candidate"
    | "leader"
    | "starting"
    | "quarantined";
  readonly pid: number;
  readonly term: number;
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly endpoint: string;
  /** For how long the cluster opens no session yet, which was restored from a snapshot; else 0. */
  readonly quietMs?: number;
  /** There is no room on its disk; while it is "starting", it waits for that. */
  readonly isDiskFull?: boolean;
  /** Of a quarantined node only. */
  readonly damage?: NodeDamage;
}

/** What is not as it was written, and where it was found. */
export interface NodeDamage {
  readonly file: string;
  readonly reason: string;
}

export type {
  Blocker,
  ClaimMode,
  ClosingView,
  CycleMember,
  EndReason,
  ExplainedKey,
  ExplainView,
  GraphEdge,
  GraphOwner,
  HoldView,
  KeyView,
  LockMode,
  MembersView,
  MemberView,
  SessionView,
  SettingView,
  VerifyView,
  WaiterView,
  WaitGraphView,
};
