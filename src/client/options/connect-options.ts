/** The options of `connect`, and the complete, checked settings that are made of them. */
import { HoldfastError } from "../../errors/index.js";
import {
  isValidMetadata,
  isValidSessionName,
  LOG_LEVELS,
  TTL_MS_DEFAULT,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { isProtected } from "../../reach/portable.js";
import { accessTokenProblem } from "../transport/access-token.js";
import type { Logger } from "../transport/client-log.js";
import { defaultEndpoints, LOCAL_CLUSTER } from "../transport/default-endpoints.js";
import { isLocal, normalizeEndpoint } from "../transport/endpoints.js";
import type { TlsSettings } from "../transport/platform.js";
import type { TokenSource } from "../transport/sign-in.js";
import {
  requireBoolean,
  requireInteger,
  requireKnown,
  requireObject,
  requireSignal,
  requireText,
} from "./checks.js";
import { NO_TLS, requireTls, type TlsOptions } from "./tls-options.js";

export const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** The options of `connect`. An unknown option is a `TypeError`. */
export interface ConnectOptions extends TlsOptions {
  /**
   * Addresses (`ws://host:port`, `wss://…`, or `http…` for the same; a bare `host` has port 7411) of any
   * nodes of one cluster; the client learns the others. Or, on the machine of a node, `unix:/path/to/local.sock`, or `unix:` and the directory that
   * has it, alone and in Node only: the socket in the node's data directory, through which the client
   * is `local` and may do everything. It learns no other nodes. Default: the nodes in the
   * environment variable `HOLDFAST_ENDPOINTS`, separated by commas, or the local cluster's,
   * `ws://127.0.0.1:7411` to `:7413`.
   */
  endpoints?: readonly string[] | undefined;
  /**
   * The access token that proves who this client is, or a function that gives it at each connection.
   * It is sent through `wss:` only, except to this machine. Without a token and a client certificate
   * the client is `anonymous`. If the function fails, other nodes are tried, and it is asked again.
   *
   * `INVALID_ARGUMENT` for a text that cannot be a token, also if the function gives it three times,
   * and if no endpoint may be sent it.
   * `UNAUTHENTICATED` if the cluster does not know the token, or it has expired: `connect` rejects,
   * and a client whose token is removed later is closed, with that as the reason of `closed`.
   */
  token?: TokenSource | undefined;
  /**
   * Lease of the session: how long locks outlive a silent client. 1,000 – 600,000. Default 15,000.
   */
  ttlMs?: number | undefined;
  /** Shown to others that wait for a lock of this client. At most 256 bytes. Default "". */
  name?: string | undefined;
  /** Shown by tools. At most 1 KiB. Default "". */
  metadata?: string | undefined;
  /**
   * Whether to connect to the leader, whichever endpoint was given. After a lost connection the
   * first node that serves will do, for 30 to 60 s. False: use only the given endpoints and learn
   * no others, for proxies and to ask one certain node. Default true.
   */
  followLeader?: boolean | undefined;
  /**
   * Hears of connections made and lost, sessions opened and lost, lost locks, and retries: an
   * object with `debug`, `info`, `warn` and `error`, such as a pino logger. It gets no
   * secrets. It must not call the client. If it throws, the client goes on, and the process gets
   * one warning. Default: nothing is logged.
   */
  logger?: Logger | undefined;
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
   * Whether an acquire without a `task` that is called anywhere inside the callback of a `using`,
   * however deep, belongs to the task of that lock, as if `lock.acquire` had been called. Node
   * only; elsewhere `connect` rejects with a `TypeError`. Default false, for two reasons. It uses
   * `AsyncLocalStorage`, whose first use makes promise-heavy code of the whole process two to three
   * times slower on Node 20 (hardly on Node 24). And code that runs concurrently in one callback
   * (`Promise.all`), or continues after its end, counts as the same task: if two such branches want
   * the same key, that is a deadlock of one task, or with `reentrant` they share the hold.
   *
   * A lock from `acquire` has no callback, so it begins no task that others could belong to.
   * Neither do Web Locks (`client.locks`), where each request is a task of its own.
   */
  taskFromContext?: boolean | undefined;
  /**
   * Remembers the stack of every acquire, so that `details.cycle` of a `DEADLOCK` shows where this
   * client asked for the locks of the cycle (`waitsAt`, `blocksAt`). For debugging: a stack costs
   * about ten microseconds, and memory while the lock is held. Default false.
   */
  captureStacks?: boolean | undefined;
}

export interface ClientSettings extends TlsSettings {
  readonly endpoints: readonly string[];
  readonly token: TokenSource | undefined;
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
  readonly followLeader: boolean;
  readonly connectTimeoutMs: number;
  readonly releaseOnExit: boolean;
  readonly taskFromContext: boolean;
  readonly captureStacks: boolean;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
}

export const CLIENT_DEFAULTS: ClientSettings = Object.freeze({
  endpoints: LOCAL_CLUSTER,
  token: undefined,
  ttlMs: TTL_MS_DEFAULT,
  name: "",
  metadata: "",
  followLeader: true,
  connectTimeoutMs: 10_000,
  releaseOnExit: false,
  taskFromContext: false,
  captureStacks: false,
  signal: undefined,
  logger: undefined,
  ...NO_TLS,
});

const CONNECT_OPTIONS: ReadonlySet<string> = new Set(Object.keys(CLIENT_DEFAULTS));

export function resolveConnectOptions(options: ConnectOptions): ClientSettings {
  requireObject(options, "options");
  requireKnown(options, CONNECT_OPTIONS);
  const {
    endpoints = defaultEndpoints(),
    ttlMs = CLIENT_DEFAULTS.ttlMs,
    name = CLIENT_DEFAULTS.name,
    metadata = CLIENT_DEFAULTS.metadata,
    followLeader = CLIENT_DEFAULTS.followLeader,
    connectTimeoutMs = CLIENT_DEFAULTS.connectTimeoutMs,
    releaseOnExit = CLIENT_DEFAULTS.releaseOnExit,
    taskFromContext = CLIENT_DEFAULTS.taskFromContext,
    captureStacks = CLIENT_DEFAULTS.captureStacks,
    signal,
    logger,
    token,
  } = options;
  requireInteger(ttlMs, "ttlMs", TTL_MS_MIN, TTL_MS_MAX);
  requireInteger(connectTimeoutMs, "connectTimeoutMs", 1, TIMEOUT_MS_MAX);
  const switches = { followLeader, releaseOnExit, taskFromContext, captureStacks };
  for (const [switchName, value] of Object.entries(switches)) requireBoolean(value, switchName);
  requireText(name, "name", isValidSessionName);
  requireText(metadata, "metadata", isValidMetadata);
  requireSignal(signal);
  requireLogger(logger);
  const urls = requireEndpoints(endpoints);
  requireToken(token, urls);
  const tls = requireTls(options, urls);
  const session = { ttlMs, name, metadata, ...switches, connectTimeoutMs };
  return { endpoints: urls, token, ...session, signal, logger, ...tls };
}

export function requireLogger(logger: unknown): void {
  if (logger === undefined) return;
  requireObject(logger, "logger");
  for (const level of LOG_LEVELS) {
    if (typeof (logger as Record<string, unknown>)[level] === "function") continue;
    throw new TypeError(`logger must have a method ${level}(fields, message), as pino's`);
  }
}

/** A text that can be a token, or a function; an error never shows it. */
export function requireToken(token: unknown, endpoints: readonly string[]): void {
  if (token === undefined) return;
  if (typeof token === "string") requireText(token, "token", accessTokenProblem);
  else if (typeof token !== "function") {
    throw new TypeError(`token must be a string or a function, not ${typeof token}`);
  }
  if (endpoints.some(isProtected)) return;
  throw new HoldfastError(
    "INVALID_ARGUMENT",
    "an access token is sent only through wss:// or to this machine, and no endpoint is either",
  );
}

export function requireEndpoints(endpoints: unknown): string[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new TypeError("endpoints must be an array of at least one URL");
  }
  const urls = endpoints.map((endpoint: unknown) => {
    if (typeof endpoint !== "string") throw new TypeError("an endpoint must be a string");
    return normalizeEndpoint(endpoint);
  });
  if (urls.length > 1 && urls.some(isLocal)) {
    throw new TypeError(
      "a unix: endpoint must be the only one: others know this client by another name",
    );
  }
  return urls;
}
