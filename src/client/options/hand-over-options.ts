/**
 * Holds that are handed over, as plain data on their way to another process, and the options of both
 * sides. Anyone who has the data can adopt the holds, so it is a secret.
 */
import { HoldfastError } from "../../errors/index.js";
import {
  isValidTableKey,
  LEASE_TTL_MS_MAX,
  SECRET_BYTES,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { requireBoolean, requireInteger, requireKnown, requireObject } from "./checks.js";
import { nameDigest } from "./lease-options.js";
import type { Task } from "./task.js";

const VERSION = 1;
const SECRET = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);
const TTL_MS = 60_000;
const HAND_OVER_OPTIONS: ReadonlySet<string> = new Set(["ttlMs", "owner"]);
const HAND_OVER_ALL_OPTIONS: ReadonlySet<string> = new Set(["ttlMs"]);
const ADOPT_OPTIONS: ReadonlySet<string> = new Set(["task", "rest", "signal"]);

/** The options of `lock.handOver`. */
export interface HandOverOptions {
  /**
   * How long the hold waits to be adopted, 1,000 – 600,000; with `owner`, how long the lease of that
   * owner lasts, as in `leases.take`. Default 60,000.
   */
  ttlMs?: number | undefined;
  /**
   * An owner of your choice, 1 … 1,024 bytes of UTF-8: anyone who knows it can go on with the hold
   * as a lease, by `client.leases`, HTTP or the command line. Nothing has to be adopted then.
   */
  owner?: string | undefined;
}

/** The options of `client.handOver`. */
export interface HandOverAllOptions {
  /** How long the holds wait to be adopted, 1,000 – 600,000. Default 60,000. */
  ttlMs?: number | undefined;
}

/** Holds on their way to another process. Can be serialised as JSON without loss. */
export interface HandedOver {
  readonly version: number;
  readonly clusterId: string;
  /** Whether the cluster has said so; otherwise the process that adopts them learns the truth. */
  readonly confirmed: boolean;
  readonly holds: readonly HandedOverHold[];
}

/** One hold that was handed over. */
export interface HandedOverHold {
  readonly keys: readonly string[];
  /** 32 hex digits. Any process that has them can adopt the hold. */
  readonly secret: string;
  /** Equal in the holds of one task. */
  readonly task: number;
}

/** The options of `client.adopt`. */
export interface AdoptOptions {
  /** The task that has the holds from now on. Default: a new one for each task that had them. */
  task?: Task | undefined;
  /**
   * Also adopts what a process left that adopted the first hold and then died. Make sure that it is
   * gone: otherwise two processes may share the holds among themselves. Default false.
   */
  rest?: boolean | undefined;
  /** Aborting releases what was adopted meanwhile. */
  signal?: AbortSignal | undefined;
}

/** A hand-over, complete and checked. */
export interface HandOverWish {
  /** What the table knows the new owner by. */
  readonly to: string;
  readonly isBearer: boolean;
  readonly ttlMs: number;
}

/** @param secret the secret of a bearer, if no owner is named */
export function resolveHandOver(options: HandOverOptions, secret: string): HandOverWish {
  requireObject(options, "options");
  requireKnown(options, HAND_OVER_OPTIONS);
  const { ttlMs = TTL_MS, owner } = options;
  if (owner === undefined) {
    requireInteger(ttlMs, "ttlMs", TTL_MS_MIN, TTL_MS_MAX);
    return { to: secret, isBearer: true, ttlMs };
  }
  requireInteger(ttlMs, "ttlMs", 0, LEASE_TTL_MS_MAX);
  return { to: nameDigest(owner, "owner"), isBearer: false, ttlMs };
}

/** How long the holds wait to be adopted. */
export function resolveHandOverAll(options: HandOverAllOptions): number {
  requireObject(options, "options");
  requireKnown(options, HAND_OVER_ALL_OPTIONS);
  const { ttlMs = TTL_MS } = options;
  requireInteger(ttlMs, "ttlMs", TTL_MS_MIN, TTL_MS_MAX);
  return ttlMs;
}

export function handedOver(handed: Omit<HandedOver, "version">): HandedOver {
  return { version: VERSION, ...handed };
}

export function requireAdoptOptions(options: AdoptOptions): void {
  requireObject(options, "options");
  requireKnown(options, ADOPT_OPTIONS);
  if (options.rest !== undefined) requireBoolean(options.rest, "rest");
}

/**
 * Refuses a value that no hand-over returned, and one of another cluster. Nothing of a wrong one is
 * repeated: its secrets may stand anywhere in it.
 */
export function requireHandedOver(value: unknown, ownClusterId: string): HandedOver {
  const given = value as Partial<HandedOver> | null;
  if (typeof given !== "object" || given === null) throw notHandedOver();
  const { version, clusterId, holds } = given;
  if (typeof version !== "number" || typeof clusterId !== "string") throw notHandedOver();
  if (version !== VERSION) {
    throw new RangeError(`handed over in version ${version}, but this SDK knows ${VERSION}`);
  }
  if (!Array.isArray(holds) || !holds.every(isHold)) throw notHandedOver();
  if (clusterId !== ownClusterId) {
    const text = `handed over in another cluster than this one, which is ${ownClusterId}`;
    throw new HoldfastError("INVALID_ARGUMENT", text);
  }
  return given as HandedOver;
}

function notHandedOver(): TypeError {
  return new TypeError("handed must be what lock.handOver() or client.handOver() returned");
}

function isHold(value: unknown): value is HandedOverHold {
  const { keys, secret, task } = (value ?? {}) as Partial<HandedOverHold>;
  if (typeof secret !== "string" || !SECRET.test(secret)) return false;
  if (!Number.isSafeInteger(task) || !Array.isArray(keys)) return false;
  const isKey = (key: unknown) => typeof key === "string" && isValidTableKey(key) === undefined;
  return keys.length > 0 && keys.every(isKey);
}
