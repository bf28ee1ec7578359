/** What `connect` takes, and how it becomes the complete, checked settings of a client. */
import {
  isValidMetadata,
  isValidSessionName,
  TTL_MS_DEFAULT,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { normalizeEndpoint } from "../transport/endpoints.js";
import {
  requireBoolean,
  requireInteger,
  requireKnown,
  requireObject,
  requireSignal,
  requireText,
} from "./checks.js";
import { type ExportedSession, requireExportedSession } from "./exported-session.js";

export const TIMEOUT_MS_MAX = 2 ** 31 - 1;

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

/** What `npm start` and `holdfast cluster` listen on. */
const LOCAL_CLUSTER: readonly string[] = [
  "ws://127.0.0.1:7411",
  "ws://127.0.0.1:7412",
  "ws://127.0.0.1:7413",
];

export interface ClientSettings {
  readonly endpoints: readonly string[];
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
  readonly followLeader: boolean;
  readonly connectTimeoutMs: number;
  readonly releaseOnExit: boolean;
  readonly ownerFromContext: boolean;
  readonly captureStacks: boolean;
  readonly signal: AbortSignal | undefined;
  /** The session of another process that is taken over instead of opening one. */
  readonly resume: ExportedSession | undefined;
  /** Also from a process that took it over already. */
  readonly force: boolean;
}

export const CLIENT_DEFAULTS: ClientSettings = Object.freeze({
  endpoints: LOCAL_CLUSTER,
  ttlMs: TTL_MS_DEFAULT,
  name: "",
  metadata: "",
  followLeader: true,
  connectTimeoutMs: 10_000,
  releaseOnExit: false,
  ownerFromContext: false,
  captureStacks: false,
  signal: undefined,
  resume: undefined,
  force: false,
});

const CONNECT_OPTIONS: ReadonlySet<string> = new Set(Object.keys(CLIENT_DEFAULTS));

export function resolveConnectOptions(options: ConnectOptions): ClientSettings {
  requireObject(options, "options");
  requireKnown(options, CONNECT_OPTIONS);
  const { resume } = options;
  if (resume !== undefined) requireExportedSession(resume);
  // Should the session that is taken over end, the next one is as it was.
  const before = { ...CLIENT_DEFAULTS, ...resume };
  const {
    endpoints = before.endpoints,
    ttlMs = before.ttlMs,
    name = before.name,
    metadata = before.metadata,
    followLeader = CLIENT_DEFAULTS.followLeader,
    connectTimeoutMs = CLIENT_DEFAULTS.connectTimeoutMs,
    releaseOnExit = CLIENT_DEFAULTS.releaseOnExit,
    ownerFromContext = CLIENT_DEFAULTS.ownerFromContext,
    captureStacks = CLIENT_DEFAULTS.captureStacks,
    force = CLIENT_DEFAULTS.force,
    signal,
  } = options;
  requireInteger(ttlMs, "ttlMs", TTL_MS_MIN, TTL_MS_MAX);
  requireInteger(connectTimeoutMs, "connectTimeoutMs", 1, TIMEOUT_MS_MAX);
  const switches = { followLeader, releaseOnExit, ownerFromContext, captureStacks, force };
  for (const [switchName, value] of Object.entries(switches)) requireBoolean(value, switchName);
  if (force && resume === undefined) throw new TypeError("force needs resume");
  requireText(name, "name", isValidSessionName);
  requireText(metadata, "metadata", isValidMetadata);
  requireSignal(signal);
  const urls = requireEndpoints(endpoints);
  return { endpoints: urls, ttlMs, name, metadata, ...switches, connectTimeoutMs, signal, resume };
}

export function requireEndpoints(endpoints: unknown): string[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new TypeError("endpoints must be an array of at least one URL");
  }
  return endpoints.map((endpoint: unknown) => {
    if (typeof endpoint !== "string") throw new TypeError("an endpoint must be a string");
    return normalizeEndpoint(endpoint);
  });
}
