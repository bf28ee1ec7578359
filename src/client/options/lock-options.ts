/**
 * The options of locks, semaphores and elections, and the complete, checked wishes that are made of
 * them. What the cluster would refuse because of a key, a value or a combination of items is
 * `INVALID_ARGUMENT` here too; a wrong type or range is a plain `TypeError` or `RangeError`.
 */
import { HoldfastError } from "../../errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  type HeldItem,
  ITEMS_MAX,
  type Item,
  isLockMode,
  isValidKey,
  isValidTableKey,
  isValidValue,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  type LockMode,
  MAX_HOLD_MS_MIN,
  PERMITS_MAX,
  PRIORITY_MAX,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../../protocol/index.js";
import { quotedKey } from "../../text/index.js";

export type { HeldItem };

import { nameOf } from "../failures.js";
import {
  describe,
  requireBoolean,
  requireInteger,
  requireKnown,
  requireNumber,
  requireObject,
  requireSignal,
  requireText,
} from "./checks.js";
import type { Task } from "./task.js";

/** The options of every kind of acquire. */
export interface HoldOptions {
  /**
   * How long to wait in the queue, counted from the call; then `LOCK_TIMEOUT`. 0 – 2^32 − 1, or
   * `Infinity`. Default: forever. 0: `LOCK_HELD` at once.
   */
  waitMs?: number | undefined;
  /** Aborting leaves the queue and rejects with the signal's reason. No effect after the grant. */
  signal?: AbortSignal | undefined;
  /**
   * A head start in the queue: the request is placed as if it had arrived this many steps earlier
   * (setting `priorityStepMs`, by default one second). An urgent request overtakes others, but
   * requests behind it are not overtaken forever. 0 – 60. Default 0.
   */
  priority?: number | undefined;
  /**
   * If the same task holds exactly these keys already, their hold is shared: one more handle,
   * under the same token, without a request to the cluster. If the hold is shared and exclusive is
   * asked for, it is upgraded. That changes the token of the outer handles too, so a write that
   * they have under way may be refused by a fence. Some of the held keys, or more keys, or more
   * permits than are held, is `DEADLOCK`. Such acquires of one task go one after the other; one
   * that does not wait is refused while another is under way. Only the options `waitMs`, `signal`,
   * `detect` and `mode` have a meaning then. Without `reentrant` a task would wait for itself:
   * `DEADLOCK`. Default false.
   */
  reentrant?: boolean | undefined;
  /**
   * The hold ends this long after its grant, whatever its holder does. 1,000 – 2^32 − 1. Default:
   * never.
   */
  maxHoldMs?: number | undefined;
  /**
   * Cooldown: the keys stay closed for at least this long after the grant, however early the hold
   * ends. Default 0.
   */
  minHoldMs?: number | undefined;
  /**
   * Cooldown: the keys stay closed for this long if the hold ends otherwise than by release, because
   * a dead holder may have writes under way. 0 – 60,000. Default 0.
   */
  lockDelayMs?: number | undefined;
  /** The value that others see with the hold. At most 1 KiB. Default "". */
  value?: string | undefined;
  /** Whether it is refused with `DEADLOCK` if waiting would never end. Default true. */
  detect?: boolean | undefined;
  /** The task that asks (`client.task()`, `lock.task`). Default: a new one. */
  task?: Task | undefined;
}

/** The options of `acquireAll`. */
export interface AcquireAllOptions extends HoldOptions {
  /**
   * Ends every hold of the keys, and goes ahead of all waiting requests. Exclusive locks only, and
   * not with `reentrant`. The former holder may go on for a moment without knowing of it: only
   * fencing covers that.
   */
  steal?: boolean | undefined;
}

/** The options of `acquire` and `using`: as for `acquireAll`, and the mode of the one key. */
export interface AcquireOptions extends AcquireAllOptions {
  /** Default "exclusive". */
  mode?: LockMode | undefined;
}

/** A try does not wait, so it has no `waitMs`. */
export type TryAcquireOptions = Omit<AcquireOptions, "waitMs">;
/** Inside a lock the lock's task asks. */
export type NestedOptions = Omit<AcquireOptions, "task">;

/** The options of a semaphore: permits cannot be stolen, and have no mode. */
export interface PermitOptions extends HoldOptions {
  /** How many permits of the semaphore. 1 – 1,024. Default 1. */
  permits?: number | undefined;
}

/** A try does not wait, so it has no `waitMs`. */
export type TryPermitOptions = Omit<PermitOptions, "waitMs">;

/** One key of `acquireAll`: a lock, or permits of a semaphore. */
export type WantedItem =
  | {
      readonly key: string;
      /** Default "exclusive". */
      readonly mode?: LockMode | undefined;
      readonly permits?: undefined;
      readonly limit?: undefined;
    }
  | {
      readonly key: string;
      /** 1 – 1,024, for all items of a request together. */
      readonly permits: number;
      /** 1 – 1,000,000; required while the key is not in use. */
      readonly limit?: number | undefined;
      readonly mode?: undefined;
    };

/** The options of `lock.upgrade`. */
export interface UpgradeOptions {
  /** Required if the lock has several keys. */
  key?: string | undefined;
  /** As for an acquire. Default: forever. */
  waitMs?: number | undefined;
  /** Aborting cancels the upgrade: the lock stays shared. */
  signal?: AbortSignal | undefined;
  /** As for an acquire: two holders that both want to upgrade wait for each other. Default true. */
  detect?: boolean | undefined;
}

/** The options of `campaign`, as for an acquire; the value is a separate argument. */
export type CampaignOptions = Pick<
  AcquireOptions,
  "waitMs" | "signal" | "priority" | "maxHoldMs" | "minHoldMs" | "lockDelayMs" | "task"
>;

/** What an acquire asks for, complete and checked. */
export interface AcquireWish {
  readonly items: readonly Item[];
  readonly task: Task;
  /** As on the wire: `WAIT_FOREVER`, 0 or a number of milliseconds. */
  readonly waitMs: number;
  /** Resolves to `undefined` instead of rejecting with `LOCK_HELD`. */
  readonly isTry: boolean;
  /** A hold that the task has already is shared. */
  readonly isReentrant: boolean;
  readonly signal: AbortSignal | undefined;
  /** `undefined`: the defaults. */
  readonly options: AcquireTerms | undefined;
}

/** What an upgrade asks for. */
export interface UpgradeWish {
  readonly key: string;
  readonly waitMs: number;
  readonly detect: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The hold to be adopted. */
export interface AdoptWish {
  /** One of its keys. */
  readonly key: string;
  /** The secret of its bearer. */
  readonly secret: string;
  readonly task: Task;
  readonly signal: AbortSignal | undefined;
}

interface Held {
  readonly items: readonly HeldItem[];
}

/** How an acquire is called: each way has its own options. */
export type AcquireKind = "acquire" | "try" | "nested";

const NESTED: readonly (keyof AcquireAllOptions)[] = [
  "waitMs",
  "signal",
  "priority",
  "reentrant",
  "maxHoldMs",
  "minHoldMs",
  "lockDelayMs",
  "value",
  "steal",
  "detect",
];
const ALL: readonly (keyof AcquireAllOptions)[] = [...NESTED, "task"];
const PERMIT_OPTIONS = ALL.filter((name) => name !== "steal");

const LOCK_OPTIONS: Readonly<Record<AcquireKind, ReadonlySet<string>>> = Object.freeze({
  acquire: new Set(["mode", ...ALL]),
  try: new Set(["mode", ...ALL.filter((name) => name !== "waitMs")]),
  nested: new Set(["mode", ...NESTED]),
});
const SEMAPHORE_OPTIONS: Readonly<Record<AcquireKind, ReadonlySet<string>>> = Object.freeze({
  acquire: new Set(["permits", ...PERMIT_OPTIONS]),
  try: new Set(["permits", ...PERMIT_OPTIONS.filter((name) => name !== "waitMs")]),
  nested: new Set<string>(),
});
const WIRE_NAMES = Object.keys(ACQUIRE_DEFAULTS) as readonly (keyof AcquireTerms)[];
const ALL_OPTIONS: ReadonlySet<string> = new Set(ALL);
const CAMPAIGN_OPTIONS: ReadonlySet<string> = new Set<keyof CampaignOptions>([
  "waitMs",
  "signal",
  "priority",
  "maxHoldMs",
  "minHoldMs",
  "lockDelayMs",
  "task",
]);
const ITEM_OPTIONS: ReadonlySet<string> = new Set(["key", "mode", "permits", "limit"]);
const LIMIT_OPTIONS: ReadonlySet<string> = new Set(["limit"]);
const UPGRADE_OPTIONS: ReadonlySet<string> = new Set(["key", "waitMs", "signal", "detect"]);

export function resolveAcquire(
  key: string,
  options: AcquireOptions | undefined,
  task: Task,
  kind: AcquireKind,
): AcquireWish {
  requireText(key, "key", isValidKey);
  checkOptions(options, LOCK_OPTIONS[kind]);
  const item: Item = { key, mode: resolveMode(options?.mode) };
  return resolveWish([item], options, task, kind === "try");
}

export function resolvePermits(
  key: string,
  limit: number | undefined,
  options: PermitOptions | undefined,
  task: Task,
  kind: AcquireKind,
): AcquireWish {
  checkOptions(options, SEMAPHORE_OPTIONS[kind]);
  const { permits = 1 } = options ?? {};
  const item = permitItem(key, permits, limit, isValidKey);
  return resolveWish([item], options, task, kind === "try");
}

export function resolveAcquireAll(
  wanted: readonly WantedItem[],
  options: AcquireAllOptions | undefined,
  task: Task,
): AcquireWish {
  checkOptions(options, ALL_OPTIONS);
  return resolveWish(resolveItems(wanted, isValidKey), options, task, false);
}

function resolveItems(wanted: readonly WantedItem[], rule: KeyRule): Item[] {
  if (!Array.isArray(wanted))
    throw new TypeError(`items must be an array, not ${describe(wanted)}`);
  if (wanted.length === 0 || wanted.length > ITEMS_MAX) {
    throw new RangeError(`items must be 1 to ${ITEMS_MAX}, not ${wanted.length}`);
  }
  const items = wanted.map((item) => resolveItem(item, rule));
  const keys = new Set(items.map(({ key }) => key));
  if (keys.size < items.length) throw invalid("the same key appears twice in one request");
  let permits = 0;
  for (const item of items) if (item.mode === "permits") permits += item.permits;
  if (permits > PERMITS_MAX)
    throw invalid(`${permits} permits in one request: ${PERMITS_MAX} at most`);
  return items;
}

/** What a take of a lease has in common with an acquire. Its keys may be reserved ones. */
export function resolveLeaseItems(
  wanted: readonly WantedItem[],
  { priority, maxHoldMs, minHoldMs, lockDelayMs, value, waitMs }: LeaseItemOptions,
): Pick<AcquireWish, "items" | "options" | "waitMs"> {
  const items = resolveItems(wanted, isValidTableKey);
  const options = resolveOptions(items, { priority, maxHoldMs, minHoldMs, lockDelayMs, value });
  return { items, options, waitMs: resolveWait(waitMs) };
}

type LeaseItemOptions = Pick<
  AcquireAllOptions,
  "priority" | "maxHoldMs" | "minHoldMs" | "lockDelayMs" | "value" | "waitMs"
>;

/** `undefined`: the lock is exclusive already. */
export function resolveUpgrade(
  lock: Held,
  options: UpgradeOptions | undefined,
): UpgradeWish | undefined {
  if (options !== undefined) {
    requireObject(options, "options");
    requireKnown(options, UPGRADE_OPTIONS);
  }
  const { items } = lock;
  const only = items.length === 1 ? items[0]?.key : undefined;
  const { key = only, signal, detect = true } = options ?? {};
  if (key === undefined) throw new TypeError("upgrade needs a key because the lock has several");
  requireSignal(signal);
  requireBoolean(detect, "detect");
  const waitMs = resolveWait(options?.waitMs);
  requireLockKeyOf(lock, key);
  if (items.some((item) => item.key === key && item.mode === "exclusive")) return undefined;
  return { key, waitMs, detect, signal };
}

/** Throws unless this key, or, without one, any key, can be exclusive or shared. */
export function requireLockKeyOf({ items }: Held, key: string | undefined): void {
  if (key !== undefined) requireText(key, "key", isValidKey);
  const meant = items.filter((item) => key === undefined || item.key === key);
  // A key that was never part of the lock gets the same error as one that was lost.
  if (meant.length === 0) {
    throw new HoldfastError("NOT_HELD", `${quotedKey(key ?? "")} is not a key of this lock`);
  }
  if (meant.every(({ mode }) => mode === "permits")) {
    const text = `${nameOf(meant)}: permits are neither exclusive nor shared`;
    throw new HoldfastError("WRONG_KIND", text);
  }
}

/** The only option is the limit. */
export function limitOf(options: { readonly limit?: number | undefined }): number | undefined {
  requireObject(options, "options");
  requireKnown(options, LIMIT_OPTIONS);
  return options.limit;
}

export function requireCampaign(value: string, options: CampaignOptions): void {
  requireObject(options, "options");
  requireKnown(options, CAMPAIGN_OPTIONS);
  resolveValue(value);
}

export function resolveValue(value: string): void {
  requireText(value, "value", isValidValue);
}

export function requireLimit(limit: number | undefined): void {
  if (limit !== undefined) requireInteger(limit, "limit", 1, LIMIT_MAX);
}

type KeyRule = (key: string) => string | undefined;

function resolveItem(wanted: WantedItem, rule: KeyRule): Item {
  requireObject(wanted, "an item");
  requireKnown(wanted, ITEM_OPTIONS);
  const { key, mode, permits, limit } = wanted;
  if (permits !== undefined) {
    if (mode === undefined) return permitItem(key, permits, limit, rule);
    throw new TypeError("an item has either a mode (a lock) or permits (a semaphore), not both");
  }
  if (limit !== undefined) throw new TypeError("an item with a limit needs permits");
  requireText(key, "key", rule);
  return { key, mode: resolveMode(mode) };
}

function permitItem(key: string, permits: number, limit: number | undefined, rule: KeyRule): Item {
  requireText(key, "key", rule);
  requireInteger(permits, "permits", 1, PERMITS_MAX);
  requireLimit(limit);
  if (limit !== undefined && permits > limit) throw invalid(`${permits} permits of ${limit}`);
  return { key, mode: "permits", permits, limit };
}

function resolveMode(mode: LockMode | undefined): LockMode {
  if (mode === undefined) return "exclusive";
  if (isLockMode(mode)) return mode;
  throw new TypeError(`mode must be "exclusive" or "shared", not ${describe(mode)}`);
}

function resolveWish(
  items: readonly Item[],
  options: AcquireAllOptions | undefined,
  task: Task,
  isTry: boolean,
): AcquireWish {
  const signal = options?.signal;
  requireSignal(signal);
  const waitMs = isTry ? 0 : resolveWait(options?.waitMs);
  const { reentrant: isReentrant = false } = options ?? {};
  requireBoolean(isReentrant, "reentrant");
  if (options?.steal === true && isReentrant) {
    throw invalid("reentrant and steal exclude each other");
  }
  const wire = resolveOptions(items, options);
  return { items, task, waitMs, isTry, isReentrant, signal, options: wire };
}

function resolveWait(waitMs: number | undefined): number {
  if (waitMs === undefined || waitMs === Number.POSITIVE_INFINITY) return WAIT_FOREVER;
  return Math.ceil(requireNumber(waitMs, "waitMs", 0, WAIT_MS_MAX));
}

/** `undefined` if all are defaults, which is the usual case. */
function resolveOptions(
  items: readonly Item[],
  options: AcquireAllOptions | undefined,
): AcquireTerms | undefined {
  if (options === undefined || !saysAny(options)) return undefined;
  const {
    priority = ACQUIRE_DEFAULTS.priority,
    value = ACQUIRE_DEFAULTS.value,
    steal = ACQUIRE_DEFAULTS.steal,
    detect = ACQUIRE_DEFAULTS.detect,
  } = options;
  const wish: AcquireTerms = {
    priority,
    maxHoldMs: resolveCap(options.maxHoldMs),
    minHoldMs: resolveDelay(options.minHoldMs, "minHoldMs", WAIT_MS_MAX),
    lockDelayMs: resolveDelay(options.lockDelayMs, "lockDelayMs", LOCK_DELAY_MS_MAX),
    value,
    steal,
    detect,
  };
  requireInteger(wish.priority, "priority", 0, PRIORITY_MAX);
  resolveValue(wish.value);
  requireBoolean(wish.steal, "steal");
  requireBoolean(wish.detect, "detect");
  if (wish.steal && items.some(({ mode }) => mode !== "exclusive")) {
    throw invalid("only exclusive locks can be stolen");
  }
  return WIRE_NAMES.every((name) => wish[name] === ACQUIRE_DEFAULTS[name]) ? undefined : wish;
}

/** Whether any option is given that is sent: most acquires have at most a signal and a wait. */
function saysAny(options: AcquireAllOptions): boolean {
  return WIRE_NAMES.some((name) => options[name] !== undefined);
}

function resolveCap(maxHoldMs: number | undefined): number {
  if (maxHoldMs === undefined || maxHoldMs === Number.POSITIVE_INFINITY) return 0;
  // Rounded down: the hold must not last longer than asked.
  return Math.floor(requireNumber(maxHoldMs, "maxHoldMs", MAX_HOLD_MS_MIN, WAIT_MS_MAX));
}

function resolveDelay(delayMs: number | undefined, name: string, mostMs: number): number {
  return delayMs === undefined ? 0 : Math.ceil(requireNumber(delayMs, name, 0, mostMs));
}

function checkOptions(options: HoldOptions | undefined, known: ReadonlySet<string>): void {
  if (options === undefined) return;
  requireObject(options, "options");
  requireKnown(options, known);
}

function invalid(text: string): HoldfastError {
  return new HoldfastError("INVALID_ARGUMENT", text);
}
