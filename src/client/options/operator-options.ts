/** What operators' calls take, and how it becomes complete, checked values. */
import { GRACE_MS_MAX, isValidReason } from "../../protocol/index.js";
import {
  type CallOptions,
  requireBoolean,
  requireInteger,
  requireKnown,
  requireNumber,
  requireObject,
  requireSignal,
  requireTableKey,
  requireText,
  signalOf,
} from "./checks.js";
import { CLIENT_DEFAULTS, requireEndpoints, TIMEOUT_MS_MAX } from "./connect-options.js";

/** What `connectAdmin` takes. */
export interface ConnectAdminOptions {
  /** As of `connect`. Default: the local cluster's. */
  endpoints?: readonly string[] | undefined;
  /** How long connecting may take, and each call. 1 – 2^31 − 1. Default 10,000. */
  timeoutMs?: number | undefined;
  /** Gives up connecting when aborted. */
  signal?: AbortSignal | undefined;
}

export interface AdminSettings {
  readonly endpoints: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

export const ADMIN_DEFAULTS: AdminSettings = Object.freeze({
  endpoints: CLIENT_DEFAULTS.endpoints,
  timeoutMs: 10_000,
  signal: undefined,
});

/** What every call of an `Admin` takes. */
export interface AdminCallOptions {
  /** Aborting rejects with the signal's reason; a change that was asked for may still happen. */
  signal?: AbortSignal | undefined;
}

/** What `Admin.snapshot` takes. */
export interface SnapshotOptions extends AdminCallOptions {
  /**
   * What one node has applied, without asking the others: of a cluster that has lost its majority.
   * It may be old. Default false.
   */
  stale?: boolean | undefined;
}

/** What `clusterStatus` takes. */
export interface ClusterStatusOptions {
  /** How long each node has to answer. 1 – 600,000. Default 2,000. */
  timeoutMs?: number | undefined;
  /** Gives up all of them when aborted. */
  signal?: AbortSignal | undefined;
}

/** Everybody who holds the key and all that keeps it closed, or the hold of that token, whosever it is. */
export type RevokeTarget = { readonly key: string } | { readonly token: number };

/** What `revoke` takes. */
export interface RevokeOptions extends CallOptions {
  /**
   * How long the holder may take to release in peace. Force comes no earlier than the end of the
   * lease that it has now, so its signal is aborted before anybody else is granted. 0 – 3,600,000.
   * Default 0.
   */
  graceMs?: number | undefined;
  /**
   * At once, whether or not the holder hears of it in time: only fencing covers that. Default
   * false.
   */
  now?: boolean | undefined;
  /** For the holder; at most 256 bytes. Default "". */
  reason?: string | undefined;
}

/** What `endSession` takes: an end is a revoke of everything. */
export type EndSessionOptions = RevokeOptions;

/** How something is taken away. */
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
const STATUS_OPTIONS: ReadonlySet<string> = new Set(["timeoutMs", "signal"]);
const STATUS_TIMEOUT_MS_DEFAULT = 2_000;
const STATUS_TIMEOUT_MS_MAX = 600_000;

export function resolveAdminOptions(options: ConnectAdminOptions): AdminSettings {
  requireObject(options, "options");
  requireKnown(options, ADMIN_OPTIONS);
  const { endpoints = ADMIN_DEFAULTS.endpoints, signal } = options;
  const { timeoutMs = ADMIN_DEFAULTS.timeoutMs } = options;
  requireInteger(timeoutMs, "timeoutMs", 1, TIMEOUT_MS_MAX);
  requireSignal(signal);
  return { endpoints: requireEndpoints(endpoints), timeoutMs, signal };
}

/** How long each node has, and the signal that gives them up. */
export function resolveStatusOptions(options: ClusterStatusOptions): {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
} {
  requireObject(options, "options");
  requireKnown(options, STATUS_OPTIONS);
  const { timeoutMs = STATUS_TIMEOUT_MS_DEFAULT, signal } = options;
  requireInteger(timeoutMs, "timeoutMs", 1, STATUS_TIMEOUT_MS_MAX);
  requireSignal(signal);
  return { timeoutMs, signal };
}

export function resolveSnapshotOptions(options: SnapshotOptions | undefined): {
  readonly isStale: boolean;
  readonly signal: AbortSignal | undefined;
} {
  const signal = signalOf(options, SNAPSHOT_OPTIONS);
  if (options?.stale !== undefined) requireBoolean(options.stale, "stale");
  return { isStale: options?.stale === true, signal };
}

/** As on the wire: without a key, or token 0. */
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
