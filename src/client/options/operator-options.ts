/** The options of operators' calls, and the complete, checked values that are made of them. */
import {
  AUDIT_KINDS,
  AUDIT_NUMBER_MAX,
  AUDIT_PAGE_MAX,
  type AuditKind,
  type AuditPlace,
  type AuditQuery,
  GRACE_MS_MAX,
  isValidIdentityName,
  isValidReason,
  LOG_LEVEL_MS_MAX,
  LOG_LEVELS,
  type LogLevel,
  OP,
  WALL_MS_MAX,
} from "../../protocol/index.js";
import type { Logger } from "../transport/client-log.js";
import { defaultEndpoints } from "../transport/default-endpoints.js";
import type { TlsSettings } from "../transport/platform.js";
import type { TokenSource } from "../transport/sign-in.js";
import {
  type CallOptions,
  requireBoolean,
  requireInteger,
  requireKnown,
  requireNodeId,
  requireNumber,
  requireObject,
  requirePrefix,
  requireSignal,
  requireTableKey,
  requireText,
  signalOf,
} from "./checks.js";
import {
  CLIENT_DEFAULTS,
  requireEndpoints,
  requireLogger,
  requireToken,
  TIMEOUT_MS_MAX,
} from "./connect-options.js";
import { NO_TLS, requireTls, type TlsOptions } from "./tls-options.js";

/** The options of `connectAdmin`. */
export interface ConnectAdminOptions extends TlsOptions {
  /** As for `connect`. Default: the local cluster's. */
  endpoints?: readonly string[] | undefined;
  /** As for `connect`. */
  token?: TokenSource | undefined;
  /** How long connecting, and each call, may take. 1 – 2^31 − 1. Default 10,000. */
  timeoutMs?: number | undefined;
  /**
   * Whether to learn the other nodes and prefer the leader. `false` uses only the given endpoints: for
   * an `Admin` of one node, or for a proxy. Default true.
   */
  followLeader?: boolean | undefined;
  /** As for `connect`. */
  logger?: Logger | undefined;
  /**
   * Only to read, whatever else the identity may do: each node refuses every change on these
   * connections (`FORBIDDEN`), so that a mistake in the program, or somebody who gets hold of its
   * `Admin`, cannot change anything. Snapshots are refused too. Default false.
   */
  readOnly?: boolean | undefined;
  /**
   * Called each time the connection to a node ends that this side did not end. The `Admin` connects
   * again by itself.
   */
  onLost?: (() => void) | undefined;
  /** Gives up connecting when aborted. */
  signal?: AbortSignal | undefined;
}

export interface AdminSettings extends TlsSettings {
  readonly endpoints: readonly string[];
  readonly token: TokenSource | undefined;
  readonly timeoutMs: number;
  readonly followLeader: boolean;
  readonly readOnly: boolean;
  readonly onLost: (() => void) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
}

export const ADMIN_DEFAULTS: AdminSettings = Object.freeze({
  endpoints: CLIENT_DEFAULTS.endpoints,
  token: undefined,
  timeoutMs: 10_000,
  followLeader: true,
  readOnly: false,
  onLost: undefined,
  signal: undefined,
  logger: undefined,
  ...NO_TLS,
});

/** The option of every call of an `Admin`. */
export interface AdminCallOptions {
  /** Aborting rejects with the signal's reason; a change that was sent may still happen. */
  signal?: AbortSignal | undefined;
}

/** The option of `Admin.logLevel`. */
export interface LogLevelOptions extends AdminCallOptions {
  /** Which node. Default: the one that answers. */
  node?: number | undefined;
}

/** The options of `Admin.setLogLevel`. */
export interface SetLogLevelOptions extends LogLevelOptions {
  /**
   * After how many milliseconds the node goes back to the level that it was started with. 0: at once.
   * At most 86,400,000, a day. Default 600,000, ten minutes.
   */
  forMs?: number | undefined;
}

/** The options of `Admin.snapshot`. */
export interface SnapshotOptions extends AdminCallOptions {
  /**
   * A snapshot of what one node has applied, without asking the others, for a cluster that has lost
   * its majority. It may be old. Default false.
   */
  stale?: boolean | undefined;
}

/** The options of `Admin.vitals`. */
export interface VitalsOptions extends AdminCallOptions {
  /** Only points and events after this wall time of the node, in milliseconds. Default 0: all. */
  after?: number | undefined;
}

/** The options of `Admin.audit`. */
export interface AuditOptions extends AdminCallOptions {
  /** `next` of the page before. Default: begins with the newest record. */
  before?: AuditPlace | undefined;
  /** 1 – 200 records. Default 200. */
  limit?: number | undefined;
  /** Only records about this key; not together with `prefix`. */
  key?: string | undefined;
  /** Only records about keys that begin so. */
  prefix?: string | undefined;
  /** Only records of this identity. */
  identity?: string | undefined;
  /** Only records of this kind. */
  kind?: AuditKind | undefined;
  /** Only records of this wall time, in milliseconds since 1970, or later. */
  since?: number | undefined;
  /** Only records of this wall time, in milliseconds since 1970, or earlier. */
  until?: number | undefined;
}

/** The options of `clusterStatus`. */
export interface ClusterStatusOptions extends TlsOptions {
  /** As for `connect`: a secured cluster shows its status to those with a permission on some key. */
  token?: TokenSource | undefined;
  /** How long each node has to answer. 1 – 600,000. Default 2,000. */
  timeoutMs?: number | undefined;
  /** Gives up all requests when aborted. */
  signal?: AbortSignal | undefined;
}

/**
 * All holds of the key and everything that keeps it closed, or the hold with that token, in any
 * session.
 */
export type RevokeTarget = { readonly key: string } | { readonly token: number };

/** The options of `revoke`. */
export interface RevokeOptions extends CallOptions {
  /**
   * How long the holder has to release the lock itself. The revoke is never forced before the end
   * of the lease that the holder has now, so its signal is aborted before another task gets the
   * lock. 0 – 3,600,000. Default 0.
   */
  graceMs?: number | undefined;
  /**
   * Revoke at once, even if the holder does not hear of it in time: only fencing covers that.
   * Default false.
   */
  now?: boolean | undefined;
  /** Text for the holder; at most 256 bytes. Default "". */
  reason?: string | undefined;
}

/** The options of `endSession`: to end a session is to revoke everything it has. */
export type EndSessionOptions = RevokeOptions;

/** When and why a hold is taken away. */
export interface Force {
  readonly graceMs: number;
  readonly now: boolean;
  readonly reason: string;
}

export const FORCE_OPTIONS: ReadonlySet<string> = new Set(["graceMs", "now", "reason", "signal"]);
const TARGET_OPTIONS: ReadonlySet<string> = new Set(["key", "token"]);
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;
const ADMIN_OPTIONS: ReadonlySet<string> = new Set(Object.keys(ADMIN_DEFAULTS));
const SNAPSHOT_OPTIONS: ReadonlySet<string> = new Set(["signal", "stale"]);
const AUDIT_OPTIONS: ReadonlySet<string> = new Set([
  ...["before", "limit", "key", "prefix", "identity", "kind", "since", "until", "signal"],
]);
const VITALS_OPTIONS: ReadonlySet<string> = new Set(["after", "signal"]);
const STATUS_OPTIONS: ReadonlySet<string> = new Set([
  "token",
  "timeoutMs",
  "signal",
  ...Object.keys(NO_TLS),
]);
const STATUS_TIMEOUT_MS_DEFAULT = 2_000;
const STATUS_TIMEOUT_MS_MAX = 600_000;

export function resolveAdminOptions(options: ConnectAdminOptions): AdminSettings {
  requireObject(options, "options");
  requireKnown(options, ADMIN_OPTIONS);
  const { endpoints = defaultEndpoints(), signal, logger, token, onLost } = options;
  const { timeoutMs = ADMIN_DEFAULTS.timeoutMs, followLeader = true, readOnly = false } = options;
  requireInteger(timeoutMs, "timeoutMs", 1, TIMEOUT_MS_MAX);
  requireBoolean(followLeader, "followLeader");
  requireBoolean(readOnly, "readOnly");
  if (onLost !== undefined && typeof onLost !== "function") {
    throw new TypeError("onLost must be a function");
  }
  requireSignal(signal);
  requireLogger(logger);
  const urls = requireEndpoints(endpoints);
  requireToken(token, urls);
  const tls = requireTls(options, urls);
  const how = { timeoutMs, followLeader, readOnly, onLost, signal, logger };
  return { endpoints: urls, token, ...how, ...tls };
}

/** The timeout of each node, the signal that gives all of them up, and the certificates. */
export function resolveStatusOptions(
  options: ClusterStatusOptions,
  endpoints: readonly string[],
): {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly token: TokenSource | undefined;
  readonly tls: TlsSettings;
} {
  requireObject(options, "options");
  requireKnown(options, STATUS_OPTIONS);
  const { timeoutMs = STATUS_TIMEOUT_MS_DEFAULT, signal, token } = options;
  requireInteger(timeoutMs, "timeoutMs", 1, STATUS_TIMEOUT_MS_MAX);
  requireSignal(signal);
  requireToken(token, endpoints);
  return { timeoutMs, signal, token, tls: requireTls(options, endpoints) };
}

const LOG_LEVEL_MS_DEFAULT = 600_000;
const LOG_LEVEL_OPTIONS: ReadonlySet<string> = new Set(["node", "signal"]);
const SET_LOG_LEVEL_OPTIONS: ReadonlySet<string> = new Set(["node", "forMs", "signal"]);

export function requireLogLevel(level: unknown): void {
  if (LOG_LEVELS.some((one) => one === level)) return;
  throw new TypeError(`level must be one of ${LOG_LEVELS.join(", ")}`);
}

/** `node` 0: the one that answers. */
export function resolveLogLevelOptions(
  options: SetLogLevelOptions | undefined,
  level: LogLevel | undefined,
): {
  readonly node: number;
  readonly forMs: number;
  readonly signal: AbortSignal | undefined;
} {
  const isChange = level !== undefined;
  const signal = signalOf(options, isChange ? SET_LOG_LEVEL_OPTIONS : LOG_LEVEL_OPTIONS);
  const { node, forMs = isChange ? LOG_LEVEL_MS_DEFAULT : 0 } = options ?? {};
  if (node !== undefined) requireNodeId(node);
  requireInteger(forMs, "forMs", 0, LOG_LEVEL_MS_MAX);
  return { node: node ?? 0, forMs, signal };
}

export function resolveSnapshotOptions(options: SnapshotOptions | undefined): {
  readonly isStale: boolean;
  readonly signal: AbortSignal | undefined;
} {
  const signal = signalOf(options, SNAPSHOT_OPTIONS);
  if (options?.stale !== undefined) requireBoolean(options.stale, "stale");
  return { isStale: options?.stale === true, signal };
}

export function resolveVitalsOptions(options: VitalsOptions | undefined): {
  readonly after: number;
  readonly signal: AbortSignal | undefined;
} {
  const signal = signalOf(options, VITALS_OPTIONS);
  const { after = 0 } = options ?? {};
  return { after: Math.floor(requireNumber(after, "after", 0, WALL_MS_MAX)), signal };
}

/** As on the wire, without its number. */
export function resolveAuditOptions(options: AuditOptions | undefined): {
  readonly query: Omit<AuditQuery, "id">;
  readonly signal: AbortSignal | undefined;
} {
  const signal = signalOf(options, AUDIT_OPTIONS);
  const { before, limit = AUDIT_PAGE_MAX, key, prefix, identity, kind } = options ?? {};
  const { since = 0, until = WALL_MS_MAX } = options ?? {};
  requireInteger(limit, "limit", 1, AUDIT_PAGE_MAX);
  if (key !== undefined && prefix !== undefined)
    throw new TypeError("key and prefix exclude each other");
  if (key !== undefined) requireTableKey(key);
  if (prefix !== undefined) requirePrefix(prefix);
  if (identity !== undefined) requireText(identity, "identity", isValidIdentityName);
  if (kind !== undefined && !AUDIT_KINDS.includes(kind))
    throw new TypeError(`kind must be one of ${AUDIT_KINDS.join(", ")}`);
  const { block = 0, at = 0 } = before ?? {};
  requireInteger(block, "before.block", 0, AUDIT_NUMBER_MAX);
  requireInteger(at, "before.at", 0, AUDIT_NUMBER_MAX);
  const query = {
    ...{ op: OP.audit, block, at, limit, key: key ?? prefix, isPrefix: prefix !== undefined },
    ...{ identity, kind, since: Math.floor(requireNumber(since, "since", 0, WALL_MS_MAX)) },
    until: Math.floor(requireNumber(until, "until", 0, WALL_MS_MAX)),
  };
  return { query, signal };
}

/** As on the wire: without a key, or with token 0. */
export function resolveTarget(target: RevokeTarget): { key: string | undefined; token: number } {
  requireObject(target, "target");
  requireKnown(target, TARGET_OPTIONS);
  const { key, token } = target as { readonly key?: string; readonly token?: number };
  if ((key === undefined) === (token === undefined)) {
    throw new TypeError("target must have a key or a token: one of them");
  }
  if (token !== undefined) {
    requireInteger(token, "token", 1, NUMBER_MAX);
    return { key: undefined, token };
  }
  requireTableKey(key as string);
  return { key, token: 0 };
}

export function resolveForce(options: RevokeOptions | undefined): Force {
  if (options === undefined) return { graceMs: 0, now: false, reason: "" };
  requireObject(options, "options");
  requireKnown(options, FORCE_OPTIONS);
  const { graceMs = 0, now = false, reason = "" } = options;
  requireBoolean(now, "now");
  requireText(reason, "reason", isValidReason);
  return { graceMs: Math.ceil(requireNumber(graceMs, "graceMs", 0, GRACE_MS_MAX)), now, reason };
}
