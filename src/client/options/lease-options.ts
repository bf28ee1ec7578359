/** The options of calls on leases: their checks, and the commands that they become. */
import {
  ACT_VALUES_BYTES_MAX,
  type ActStep,
  digestOf,
  digestOfBytes,
  EXTEND_MODE,
  type ExtendMode,
  ITEMS_MAX,
  isValidSessionName,
  isValidValue,
  LEASE_TTL_MS_MAX,
  valueBytesOf,
} from "../../protocol/index.js";
import {
  describe,
  requireInteger,
  requireKnown,
  requireObject,
  requireSignal,
  requireTableKey,
  requireText,
} from "./checks.js";

/** The limit on an owner, and on a request, in UTF-8. */
const NAME_BYTES_MAX = 1_024;

/**
 * One key of `leases.compareAndAct`: what it must be like, and what becomes of it. A lease that it makes,
 * changes or ends is of this key alone.
 */
export interface LeaseStep {
  readonly key: string;
  /** As of a take. */
  readonly owner: string;
  /** The value of the owner's lease; `undefined`: nobody holds the key or keeps it closed. */
  readonly before: string | undefined;
  /** The value of its lease from now on; `undefined`: it has none. */
  readonly after: string | undefined;
  /** How long the lease lasts from now on, as in a take; `undefined`: as long as before. */
  readonly ttlMs?: number | undefined;
}

const STEP_FIELDS: ReadonlySet<string> = new Set(["key", "owner", "before", "after", "ttlMs"]);
const OWNER_OPTIONS = ["owner", "signal"];
const HOLD_OPTIONS = ["priority", "maxHoldMs", "minHoldMs", "lockDelayMs", "value"];
const TAKE_OPTIONS = [...OWNER_OPTIONS, ...HOLD_OPTIONS, "ttlMs", "waitMs", "request", "name"];

/** The options of each call. */
export const LEASE_OPTIONS = Object.freeze({
  take: new Set(TAKE_OPTIONS) as ReadonlySet<string>,
  takeEach: new Set(TAKE_OPTIONS.filter((name) => name !== "waitMs")) as ReadonlySet<string>,
  extend: new Set([...OWNER_OPTIONS, "ttlMs", "mode"]) as ReadonlySet<string>,
  compareAndAct: new Set(["signal"]) as ReadonlySet<string>,
  giveBack: new Set([...OWNER_OPTIONS, "only"]) as ReadonlySet<string>,
});

interface OwnerOptions {
  readonly owner?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Checks what every call has, and that it has nothing unknown. */
export function requireLeaseOptions(options: OwnerOptions, known: ReadonlySet<string>): void {
  requireObject(options, "options");
  requireKnown(options, known);
  requireSignal(options.signal);
}

const encoder = new TextEncoder();
/** Such a text is its own UTF-8. */
const ASCII = /^[ -~]+$/;
/** Half of a pair, which has no UTF-8 form. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The 16 bytes that name an owner or a request in commands, as 32 hex digits. What a text is the
 * digest of cannot be guessed if the text cannot.
 */
export function nameDigest(text: unknown, name: string): string {
  if (typeof text !== "string") {
    // Not the value itself: it may be a secret.
    throw new TypeError(`${name} must be a string, not ${text === null ? "null" : typeof text}`);
  }
  if (text.length <= NAME_BYTES_MAX && ASCII.test(text)) return digestOf(text);
  if (LONE_SURROGATE.test(text)) throw new RangeError(`${name} holds a lone surrogate`);
  const bytes = encoder.encode(text);
  if (bytes.length === 0 || bytes.length > NAME_BYTES_MAX) {
    throw new RangeError(`${name} must have 1 to ${NAME_BYTES_MAX} bytes, not ${bytes.length}`);
  }
  return digestOfBytes(bytes);
}

export function resolveLeaseName(name: string | undefined): string {
  if (name === undefined) return "";
  requireText(name, "name", isValidSessionName);
  return name;
}

/** @param least 0 where a lease without end may be meant */
export function resolveLeaseTtl(ttlMs: number, least: 0 | 1): number {
  requireInteger(ttlMs, "ttlMs", least, LEASE_TTL_MS_MAX);
  return ttlMs;
}

export function resolveLeaseSteps(steps: readonly LeaseStep[]): readonly ActStep[] {
  if (!Array.isArray(steps)) throw new TypeError(`steps must be an array, not ${describe(steps)}`);
  const keys = resolveLeaseKeys(steps.map(({ key }) => key));
  const bytes = valueBytesOf(steps);
  if (bytes > ACT_VALUES_BYTES_MAX) {
    throw new RangeError(
      `the values have ${bytes} bytes, at most ${ACT_VALUES_BYTES_MAX} together`,
    );
  }
  return steps.map((step: LeaseStep, at) => {
    requireObject(step, "a step");
    requireKnown(step, STEP_FIELDS);
    const { owner, before, after, ttlMs } = step;
    if (before !== undefined) requireText(before, "before", isValidValue);
    if (after !== undefined) requireText(after, "after", isValidValue);
    if (ttlMs !== undefined) resolveLeaseTtl(ttlMs, 0);
    const isTimed = after === undefined ? ttlMs === undefined : (before ?? ttlMs) !== undefined;
    if (!isTimed)
      throw new RangeError("ttlMs belongs to a step with a lease, and to each that takes");
    return { owner: nameDigest(owner, "owner"), key: keys[at] as string, before, after, ttlMs };
  });
}

export function resolveExtendMode(mode: ExtendMode = "atLeast"): ExtendMode {
  if (Object.hasOwn(EXTEND_MODE, mode)) return mode;
  throw new TypeError(`mode must be "atLeast", "exactly" or "add", not ${describe(mode)}`);
}

export function resolveLeaseKeys(keys: string | readonly string[]): readonly string[] {
  const list = typeof keys === "string" ? [keys] : keys;
  if (!Array.isArray(list)) throw new TypeError(`keys must be an array, not ${describe(keys)}`);
  if (list.length === 0 || list.length > ITEMS_MAX) {
    throw new RangeError(`keys must be 1 to ${ITEMS_MAX}, not ${list.length}`);
  }
  for (const key of list) requireTableKey(key);
  if (new Set(list).size < list.length) throw new RangeError("the same key appears twice");
  return list;
}
