/**
 * Turns what callers of locks pass into complete, checked wishes, as `options.ts` does for clients.
 * What the cluster would refuse because of a key, a value or how items fit together is
 * `INVALID_ARGUMENT` here too; a wrong type or range is a plain `TypeError` or `RangeError`.
 */

import { HoldfastError } from "../../errors.js";
import {
  ACQUIRE_DEFAULTS,
  ITEMS_MAX,
  type Item,
  isValidKey,
  isValidValue,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  type LockMode,
  MAX_HOLD_MS_MIN,
  PERMITS_MAX,
  PRIORITY_MAX,
  TTL_MS_DEFAULT,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_FOREVER,
  WAIT_MS_MAX,
  type AcquireOptions as WireOptions,
} from "../../protocol/index.js";
import { quotedKey } from "../../safe-text.js";
import { nameOf } from "../failures.js";
import type {
  AcquireAllOptions,
  AcquireOptions,
  DetachOptions,
  HeldItem,
  HoldOptions,
  PermitOptions,
  UpgradeOptions,
  WantedItem,
} from "../lock-types.js";
import {
  describe,
  requireBoolean,
  requireInteger,
  requireKnown,
  requireNumber,
  requireObject,
  requireSignal,
  requireText,
} from "../options.js";
import type { AcquireWish } from "./acquire-call.js";
import type { Owner } from "./owner.js";
import type { UpgradeWish } from "./upgrade-join.js";

interface Held {
  readonly items: readonly HeldItem[];
}

/** From where an acquire is called: each takes options of its own. */
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
const ALL: readonly (keyof AcquireAllOptions)[] = [...NESTED, "owner"];
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
const WIRE_NAMES = Object.keys(ACQUIRE_DEFAULTS) as readonly (keyof WireOptions)[];
const ALL_OPTIONS: ReadonlySet<string> = new Set(ALL);
const ITEM_OPTIONS: ReadonlySet<string> = new Set(["key", "mode", "permits", "limit"]);
const DETACH_OPTIONS: ReadonlySet<string> = new Set(["ticketTtlMs"]);
const UPGRADE_OPTIONS: ReadonlySet<string> = new Set(["key", "waitMs", "signal", "detect"]);

export function resolveAcquire(
  key: string,
  options: AcquireOptions | undefined,
  owner: Owner,
  kind: AcquireKind,
): AcquireWish {
  requireText(key, "key", isValidKey);
  checkOptions(options, LOCK_OPTIONS[kind]);
  const item: Item = { key, mode: resolveMode(options?.mode) };
  return resolveWish([item], options, owner, kind === "try");
}

export function resolvePermits(
  key: string,
  limit: number | undefined,
  options: PermitOptions | undefined,
  owner: Owner,
  kind: AcquireKind,
): AcquireWish {
  checkOptions(options, SEMAPHORE_OPTIONS[kind]);
  const { permits = 1 } = options ?? {};
  const item = permitItem(key, permits, limit);
  return resolveWish([item], options, owner, kind === "try");
}

export function resolveAcquireAll(
  wanted: readonly WantedItem[],
  options: AcquireAllOptions | undefined,
  owner: Owner,
): AcquireWish {
  if (!Array.isArray(wanted))
    throw new TypeError(`items must be an array, not ${describe(wanted)}`);
  if (wanted.length === 0 || wanted.length > ITEMS_MAX) {
    throw new RangeError(`items must be 1 to ${ITEMS_MAX}, not ${wanted.length}`);
  }
  checkOptions(options, ALL_OPTIONS);
  const items = wanted.map(resolveItem);
  const keys = new Set(items.map(({ key }) => key));
  if (keys.size < items.length) throw invalid("a key stands twice in one request");
  let permits = 0;
  for (const item of items) if (item.mode === "permits") permits += item.permits;
  if (permits > PERMITS_MAX)
    throw invalid(`${permits} permits in one request: ${PERMITS_MAX} at most`);
  return resolveWish(items, options, owner, false);
}

/** `undefined`: there is nothing to wish for. */
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
  if (key === undefined) throw new TypeError("upgrade needs a key where several are held");
  requireSignal(signal);
  requireBoolean(detect, "detect");
  const waitMs = resolveWait(options?.waitMs);
  requireLockKeyOf(lock, key);
  if (items.some((item) => item.key === key && item.mode === "exclusive")) return undefined;
  return { key, waitMs, detect, signal };
}

/** That this key, or without one any, can be exclusive or shared. */
export function requireLockKeyOf({ items }: Held, key: string | undefined): void {
  if (key !== undefined) requireText(key, "key", isValidKey);
  const meant = items.filter((item) => key === undefined || item.key === key);
  // A key that was never part of the lock is no more held than one that was lost.
  if (meant.length === 0) {
    throw new HoldfastError("NOT_HELD", `${quotedKey(key ?? "")} is no key of this lock`);
  }
  if (meant.every(({ mode }) => mode === "permits")) {
    const text = `${nameOf(meant)}: permits are neither exclusive nor shared`;
    throw new HoldfastError("WRONG_KIND", text);
  }
}

export function resolveTicketTtl(options: DetachOptions): number {
  requireObject(options, "options");
  requireKnown(options, DETACH_OPTIONS);
  const { ticketTtlMs } = options;
  if (ticketTtlMs === undefined) return TTL_MS_DEFAULT;
  requireInteger(ticketTtlMs, "ticketTtlMs", TTL_MS_MIN, TTL_MS_MAX);
  return ticketTtlMs;
}

export function resolveValue(value: string): void {
  requireText(value, "value", isValidValue);
}

export function requireLimit(limit: number | undefined): void {
  if (limit !== undefined) requireInteger(limit, "limit", 1, LIMIT_MAX);
}

function resolveItem(wanted: WantedItem): Item {
  requireObject(wanted, "an item");
  requireKnown(wanted, ITEM_OPTIONS);
  const { key, mode, permits, limit } = wanted;
  if (permits !== undefined) {
    if (mode === undefined) return permitItem(key, permits, limit);
    throw new TypeError("an item has a mode or permits: its key is a lock or a semaphore");
  }
  if (limit !== undefined) throw new TypeError("an item with a limit needs permits");
  requireText(key, "key", isValidKey);
  return { key, mode: resolveMode(mode) };
}

function permitItem(key: string, permits: number, limit: number | undefined): Item {
  requireText(key, "key", isValidKey);
  requireInteger(permits, "permits", 1, PERMITS_MAX);
  requireLimit(limit);
  if (limit !== undefined && permits > limit) throw invalid(`${permits} permits of ${limit}`);
  return { key, mode: "permits", permits, limit };
}

function resolveMode(mode: LockMode | undefined): LockMode {
  if (mode === undefined) return "exclusive";
  if (mode === "exclusive" || mode === "shared") return mode;
  throw new TypeError(`mode must be "exclusive" or "shared", not ${describe(mode)}`);
}

function resolveWish(
  items: readonly Item[],
  options: AcquireAllOptions | undefined,
  owner: Owner,
  isTry: boolean,
): AcquireWish {
  const signal = options?.signal;
  requireSignal(signal);
  const waitMs = isTry ? 0 : resolveWait(options?.waitMs);
  const { reentrant: isReentrant = false } = options ?? {};
  requireBoolean(isReentrant, "reentrant");
  if (options?.steal === true && isReentrant) {
    throw invalid("what one holds is shared, or stolen: not both");
  }
  const wire = resolveOptions(items, options);
  return { items, owner, waitMs, isTry, isReentrant, signal, options: wire };
}

function resolveWait(waitMs: number | undefined): number {
  if (waitMs === undefined || waitMs === Number.POSITIVE_INFINITY) return WAIT_FOREVER;
  return Math.ceil(requireNumber(waitMs, "waitMs", 0, WAIT_MS_MAX));
}

/** `undefined` where all have their defaults, which is mostly so. */
function resolveOptions(
  items: readonly Item[],
  options: AcquireAllOptions | undefined,
): WireOptions | undefined {
  if (options === undefined || !saysAny(options)) return undefined;
  const {
    priority = ACQUIRE_DEFAULTS.priority,
    value = ACQUIRE_DEFAULTS.value,
    steal = ACQUIRE_DEFAULTS.steal,
    detect = ACQUIRE_DEFAULTS.detect,
  } = options;
  const wish: WireOptions = {
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

/** Whether anything is said that travels: most acquires have a signal and a wait at most. */
function saysAny(options: AcquireAllOptions): boolean {
  return WIRE_NAMES.some((name) => options[name] !== undefined);
}

function resolveCap(maxHoldMs: number | undefined): number {
  if (maxHoldMs === undefined || maxHoldMs === Number.POSITIVE_INFINITY) return 0;
  // Rounded down: the cap is a promise that it ends.
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
