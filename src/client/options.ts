/**
 * Turns what callers pass into complete, checked values. What has the wrong type or range is a
 * programmer's error and a plain `TypeError` or `RangeError`; a name that the cluster would refuse is
 * `INVALID_ARGUMENT`, as if the cluster had refused it.
 */
import { HoldfastError } from "../errors.js";
import {
  isValidAddress,
  isValidKey,
  isValidMetadata,
  isValidPrefix,
  isValidSessionName,
  NODE_ID_MAX,
  TTL_MS_DEFAULT,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../protocol/index.js";
import type { AcquireWish } from "./acquire-call.js";
import { normalizeEndpoint } from "./endpoints.js";
import type { AcquireOptions, ConnectOptions } from "./types.js";

const TIMEOUT_MS_MAX = 2 ** 31 - 1;

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
  readonly signal: AbortSignal | undefined;
}

export const CLIENT_DEFAULTS: ClientSettings = Object.freeze({
  endpoints: LOCAL_CLUSTER,
  ttlMs: TTL_MS_DEFAULT,
  name: "",
  metadata: "",
  followLeader: true,
  connectTimeoutMs: 10_000,
  releaseOnExit: false,
  signal: undefined,
});

export interface ConnectAdminOptions {
  /** As of `connect`. Default: the local cluster's. */
  endpoints?: readonly string[];
  /** How long connecting may take, and each call. 1 – 2^31 − 1. Default 10,000. */
  timeoutMs?: number;
  /** Gives up connecting when aborted. */
  signal?: AbortSignal;
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
const TRY_OPTIONS: ReadonlySet<string> = new Set(["mode", "signal"]);
const ACQUIRE_OPTIONS: ReadonlySet<string> = new Set([...TRY_OPTIONS, "waitMs"]);

export function resolveConnectOptions(options: ConnectOptions): ClientSettings {
  requireObject(options, "options");
  requireKnown(options, CONNECT_OPTIONS);
  const settings: ClientSettings = {
    endpoints: options.endpoints ?? CLIENT_DEFAULTS.endpoints,
    ttlMs: options.ttlMs ?? CLIENT_DEFAULTS.ttlMs,
    name: options.name ?? CLIENT_DEFAULTS.name,
    metadata: options.metadata ?? CLIENT_DEFAULTS.metadata,
    followLeader: options.followLeader ?? CLIENT_DEFAULTS.followLeader,
    connectTimeoutMs: options.connectTimeoutMs ?? CLIENT_DEFAULTS.connectTimeoutMs,
    releaseOnExit: options.releaseOnExit ?? CLIENT_DEFAULTS.releaseOnExit,
    signal: options.signal,
  };
  requireInteger(settings.ttlMs, "ttlMs", TTL_MS_MIN, TTL_MS_MAX);
  requireInteger(settings.connectTimeoutMs, "connectTimeoutMs", 1, TIMEOUT_MS_MAX);
  requireBoolean(settings.followLeader, "followLeader");
  requireBoolean(settings.releaseOnExit, "releaseOnExit");
  requireText(settings.name, "name", isValidSessionName);
  requireText(settings.metadata, "metadata", isValidMetadata);
  requireSignal(settings.signal);
  return { ...settings, endpoints: requireEndpoints(settings.endpoints) };
}

export function resolveAdminOptions(options: ConnectAdminOptions): AdminSettings {
  requireObject(options, "options");
  requireKnown(options, ADMIN_OPTIONS);
  const { endpoints, timeoutMs = ADMIN_DEFAULTS.timeoutMs, signal } = options;
  requireInteger(timeoutMs, "timeoutMs", 1, TIMEOUT_MS_MAX);
  requireSignal(signal);
  return { endpoints: requireEndpoints(endpoints ?? ADMIN_DEFAULTS.endpoints), timeoutMs, signal };
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

export function resolveAcquire(
  key: string,
  options: AcquireOptions | undefined,
  owner: number,
  isTry: boolean,
): AcquireWish {
  requireText(key, "key", isValidKey);
  if (options !== undefined) {
    requireObject(options, "options");
    requireKnown(options, isTry ? TRY_OPTIONS : ACQUIRE_OPTIONS);
  }
  const mode = options?.mode ?? "exclusive";
  if (mode !== "exclusive" && mode !== "shared") {
    throw new TypeError(`mode must be "exclusive" or "shared", not ${describe(mode)}`);
  }
  const signal = options?.signal;
  requireSignal(signal);
  let waitMs = WAIT_FOREVER;
  if (isTry) waitMs = 0;
  else if (options?.waitMs !== undefined && options.waitMs !== Number.POSITIVE_INFINITY) {
    waitMs = Math.ceil(requireNumber(options.waitMs, "waitMs", 0, WAIT_MS_MAX));
  }
  return { key, mode, owner, waitMs, isTry, signal };
}

export function requireKey(key: string): void {
  requireText(key, "key", isValidKey);
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

export function requireInteger(value: unknown, name: string, min: number, max: number): void {
  const number = requireNumber(value, name, min, max);
  if (!Number.isInteger(number)) throw new RangeError(`${name} must be an integer, not ${number}`);
}

/** A misspelt option would be ignored in silence: `timeout` for `waitMs` waits for ever. */
function requireKnown(options: object, known: ReadonlySet<string>): void {
  for (const name in options) {
    if (known.has(name)) continue;
    throw new TypeError(`unknown option ${name}; there are ${[...known].join(", ")}`);
  }
}

function requireBoolean(value: unknown, name: string): void {
  if (typeof value !== "boolean") {
    throw new TypeError(`${name} must be a boolean, not ${describe(value)}`);
  }
}

function requireNumber(value: unknown, name: string, min: number, max: number): number {
  if (typeof value !== "number") {
    throw new TypeError(`${name} must be a number, not ${describe(value)}`);
  }
  // Written so that NaN fails too.
  if (!(value >= min && value <= max)) {
    throw new RangeError(`${name} must be between ${min} and ${max}, not ${value}`);
  }
  return value;
}

function requireText(
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

function describe(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "string" ? JSON.stringify(value) : typeof value;
}
