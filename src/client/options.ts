/**
 * Turns what callers pass into complete, checked values. What has the wrong type or range is a
 * programmer's error and a plain `TypeError` or `RangeError`; a name that the cluster would refuse
 * is `INVALID_ARGUMENT`, as if the cluster had refused it.
 */
import { HoldfastError } from "../errors.js";
import {
  isValidAddress,
  isValidKey,
  isValidMetadata,
  isValidPrefix,
  isValidSessionName,
  isValidTableKey,
  NODE_ID_MAX,
  TTL_MS_DEFAULT,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../protocol/index.js";
import { type ExportedSession, requireExportedSession } from "./exported-session.js";
import type { CallOptions } from "./lock-types.js";
import { normalizeEndpoint } from "./transport/endpoints.js";
import type { ConnectOptions } from "./types.js";

const TIMEOUT_MS_MAX = 2 ** 31 - 1;
/** Of a wrong value, in a message. */
const SHOWN_LENGTH_MAX = 80;

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
  endpoints: LOCAL_CLUSTER,
  timeoutMs: 10_000,
  signal: undefined,
});

const ADMIN_OPTIONS: ReadonlySet<string> = new Set(Object.keys(ADMIN_DEFAULTS));
const CONNECT_OPTIONS: ReadonlySet<string> = new Set(Object.keys(CLIENT_DEFAULTS));
const CALL_OPTIONS: ReadonlySet<string> = new Set(["signal"]);

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

export function resolveAdminOptions(options: ConnectAdminOptions): AdminSettings {
  requireObject(options, "options");
  requireKnown(options, ADMIN_OPTIONS);
  const { endpoints = ADMIN_DEFAULTS.endpoints, signal } = options;
  const { timeoutMs = ADMIN_DEFAULTS.timeoutMs } = options;
  requireInteger(timeoutMs, "timeoutMs", 1, TIMEOUT_MS_MAX);
  requireSignal(signal);
  return { endpoints: requireEndpoints(endpoints), timeoutMs, signal };
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

/** A key to be asked for. */
export function requireKey(key: string): void {
  requireText(key, "key", isValidKey);
}

/** A key to be looked at, or taken from its holder: also that of a Web Lock. */
export function requireTableKey(key: string): void {
  requireText(key, "key", isValidTableKey);
}

export function requirePrefix(prefix: string): void {
  requireText(prefix, "prefix", isValidPrefix);
}

export function requireNodeId(id: number): void {
  requireInteger(id, "id", 1, NODE_ID_MAX);
}

/** `host:port`. */
export function requireAddress(address: string): void {
  requireText(address, "address", isValidAddress);
}

export function requireSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal must be an AbortSignal, not ${describe(signal)}`);
  }
}

/** The signal of a call that takes nothing else, or only `known`, the signal among them. */
export function signalOf(
  options: CallOptions | undefined,
  known: ReadonlySet<string> = CALL_OPTIONS,
): AbortSignal | undefined {
  if (options === undefined) return undefined;
  requireObject(options, "options");
  requireKnown(options, known);
  requireSignal(options.signal);
  return options.signal;
}

export function requireInteger(value: unknown, name: string, min: number, max: number): void {
  const number = requireNumber(value, name, min, max);
  if (!Number.isInteger(number)) throw new RangeError(`${name} must be an integer, not ${number}`);
}

/** A misspelt option would be ignored in silence: `timeout` for `waitMs` waits for ever. */
export function requireKnown(options: object, known: ReadonlySet<string>): void {
  for (const name in options) {
    if (known.has(name)) continue;
    throw new TypeError(`unknown option ${name}; there are ${[...known].join(", ")}`);
  }
}

export function requireBoolean(value: unknown, name: string): void {
  if (typeof value !== "boolean") {
    throw new TypeError(`${name} must be a boolean, not ${describe(value)}`);
  }
}

export function requireNumber(value: unknown, name: string, min: number, max: number): number {
  if (typeof value !== "number") {
    throw new TypeError(`${name} must be a number, not ${describe(value)}`);
  }
  // Written so that NaN fails too.
  if (!(value >= min && value <= max)) {
    throw new RangeError(`${name} must be between ${min} and ${max}, not ${value}`);
  }
  return value;
}

export function requireText(
  value: unknown,
  name: string,
  problemOf: (text: string) => string | undefined,
): void {
  if (typeof value !== "string") {
    throw new TypeError(`${name} must be a string, not ${describe(value)}`);
  }
  const problem = problemOf(value);
  if (problem !== undefined) throw new HoldfastError("INVALID_ARGUMENT", problem);
}

export function requireObject(value: unknown, name: string): void {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${name} must be an object, not ${describe(value)}`);
  }
}

export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "string") return typeof value;
  // Whoever passes a whole document by mistake is not shown all of it.
  const isShort = value.length <= SHOWN_LENGTH_MAX;
  return isShort ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX))}…`;
}
