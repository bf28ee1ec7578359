/**
 * What callers of locks, semaphores and elections pass, and how it becomes a complete, checked wish.
 * What the cluster would refuse because of a key, a value or how items fit together is
 * `INVALID_ARGUMENT` here too; a wrong type or range is a plain `TypeError` or `RangeError`.
 */
import { HoldfastError } from "../../errors.js";
import {
  ACQUIRE_DEFAULTS,
  type ClaimMode,
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
  SECRET_BYTES,
  TOKEN_MIN,
  TTL_MS_DEFAULT,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_FOREVER,
  WAIT_MS_MAX,
  type AcquireOptions as WireOptions,
} from "../../protocol/index.js";
import { quotedKey } from "../../safe-text.js";
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
import type { Owner } from "./owner.js";

/** What every kind of acquire takes. */
export interface HoldOptions {
  /**
   * How long to wait in the queue, counted from the call; `LOCK_TIMEOUT` after it. 0 – 2^32 − 1, or
   * `Infinity`. Default: for ever. 0: `LOCK_HELD` at once.
   */
  waitMs?: number | undefined;
  /** Aborting leaves the queue and rejects with the signal's reason. No effect after the grant. */
  signal?: AbortSignal | undefined;
  /**
   * A head start in the queue: so many seconds (a setting, `priorityStepMs`) earlier than now. An
   * urgent request overtakes, and those behind are not passed over for ever. 0 – 60. Default 0.
   */
  priority?: number | undefined;
  /**
   * What the same owner holds already, exactly these keys, is shared: one more handle, under the same
   * token, and nothing is asked of the cluster. Exclusive where it is shared so far is upgraded for it,
   * which changes the token of the outer handles too: writes that they have under way may be fenced
   * off. Some of the keys, or more than them, or more permits than are held, is `DEADLOCK`. Such
   * acquires of one owner go one after the other; one that does not wait is refused while another is
   * under way. Of options, only `waitMs`, `signal`, `detect` and the mode mean something then. Without
   * it an owner waits for itself: `DEADLOCK`. Default false.
   */
  reentrant?: boolean | undefined;
  /**
   * The hold ends so long after its grant, whatever its holder does. 1,000 – 2^32 − 1, or never.
   */
  maxHoldMs?: number | undefined;
  /** Its keys stay closed at least so long after the grant, however early it ends. Default 0. */
  minHoldMs?: number | undefined;
  /**
   * Its keys stay closed so long when it ends otherwise than by release, for what a dead holder had
   * under way. 0 – 60,000. Default 0.
   */
  lockDelayMs?: number | undefined;
  /** What others see beside the hold. At most 1 KiB. Default "". */
  value?: string | undefined;
  /** Whether it is refused with `DEADLOCK` where waiting would never end. Default true. */
  detect?: boolean | undefined;
  /** The task that asks (`client.owner()`, `lock.owner`). Default: one of its own. */
  owner?: Owner | undefined;
}

/** What `acquireAll` takes beside its keys. */
export interface AcquireAllOptions extends HoldOptions {
  /**
   * Ends whatever holds one of the keys, and goes ahead of all who wait. Exclusive locks only, and
   * not with `reentrant`. What is stolen may go on for a moment without knowing: only fencing
   * covers that.
   */
  steal?: boolean | undefined;
}

/** What `acquire` and `using` take: everything of `acquireAll`, and the mode of the one key. */
export interface AcquireOptions extends AcquireAllOptions {
  /** Default "exclusive". */
  mode?: LockMode | undefined;
}

/** A try does not wait, so it takes no `waitMs`. */
export type TryAcquireOptions = Omit<AcquireOptions, "waitMs">;
/** Inside a lock the owner is the lock's. */
export type NestedOptions = Omit<AcquireOptions, "owner">;

/** What a semaphore takes: permits cannot be stolen, and have no mode. */
export interface PermitOptions extends HoldOptions {
  /** How many of the semaphore's permits. 1 – 1,024. Default 1. */
  permits?: number | undefined;
}

/** A try does not wait, so it takes no `waitMs`. */
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
      /** 1 – 1,024, of all items of a request together. */
      readonly permits: number;
      /** 1 – 1,000,000; needed while nobody uses the key. */
      readonly limit?: number | undefined;
      readonly mode?: undefined;
    };

/** What `lock.upgrade` takes. */
export interface UpgradeOptions {
  /** Needed when several keys are held. */
  key?: string | undefined;
  /** As of an acquire. Default: for ever. */
  waitMs?: number | undefined;
  /** Aborting gives the wish up: the lock stays shared. */
  signal?: AbortSignal | undefined;
  /** As of an acquire: two holders that both want to upgrade wait for each other. Default true. */
  detect?: boolean | undefined;
}

/** What `lock.detach` takes. */
export interface DetachOptions {
  /** How long the ticket waits to be claimed. 1,000 – 600,000. Default 15,000. */
  ticketTtlMs?: number | undefined;
}

/** One key of what is held. */
export interface HeldItem {
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 of locks. */
  readonly permits: number;
  /** As many numbers of 0 … limit − 1, ascending; none of locks. */
  readonly slots: readonly number[];
}

/** What `detach` makes of a hold: plain data, to be handed to whoever claims it. Keep it secret. */
export interface Ticket {
  readonly token: number;
  /** 32 hex digits: whoever knows them may claim the hold. */
  readonly secret: string;
}

/** What `campaign` takes, as of an acquire; the value is an argument of its own. */
export type CampaignOptions = Pick<
  AcquireOptions,
  "waitMs" | "signal" | "priority" | "maxHoldMs" | "minHoldMs" | "lockDelayMs" | "owner"
>;

/** What is asked for by an acquire, complete and checked. */
export interface AcquireWish {
  readonly items: readonly Item[];
  readonly owner: Owner;
  /** As on the wire: `WAIT_FOREVER`, 0 or a number of milliseconds. */
  readonly waitMs: number;
  /** Resolves to `undefined` instead of rejecting with `LOCK_HELD`. */
  readonly isTry: boolean;
  /** What the owner holds already is shared. */
  readonly isReentrant: boolean;
  readonly signal: AbortSignal | undefined;
  /** `undefined`: the defaults. */
  readonly options: WireOptions | undefined;
}

/** What is asked for by an upgrade. */
export interface UpgradeWish {
  readonly key: string;
  readonly waitMs: number;
  readonly detect: boolean;
  readonly signal: AbortSignal | undefined;
}

/** What is asked for by the claim of a ticket. */
export interface ClaimWish {
  readonly ticket: Ticket;
  readonly owner: Owner;
  readonly signal: AbortSignal | undefined;
}

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
const CAMPAIGN_OPTIONS: ReadonlySet<string> = new Set<keyof CampaignOptions>([
  "waitMs",
  "signal",
  "priority",
  "maxHoldMs",
  "minHoldMs",
  "lockDelayMs",
  "owner",
]);
const ITEM_OPTIONS: ReadonlySet<string> = new Set(["key", "mode", "permits", "limit"]);
const LIMIT_OPTIONS: ReadonlySet<string> = new Set(["limit"]);
const DETACH_OPTIONS: ReadonlySet<string> = new Set(["ticketTtlMs"]);
const UPGRADE_OPTIONS: ReadonlySet<string> = new Set(["key", "waitMs", "signal", "detect"]);
/** What `client.claim` takes beside the ticket. */
export const CLAIM_OPTIONS: ReadonlySet<string> = new Set(["owner", "signal"]);

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

/** Its options name the limit or nothing. */
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

export function resolveTicketTtl(options: DetachOptions): number {
  requireObject(options, "options");
  requireKnown(options, DETACH_OPTIONS);
  const { ticketTtlMs } = options;
  if (ticketTtlMs === undefined) return TTL_MS_DEFAULT;
  requireInteger(ticketTtlMs, "ticketTtlMs", TTL_MS_MIN, TTL_MS_MAX);
  return ticketTtlMs;
}

export function resolveClaim(ticket: Ticket): Ticket {
  requireObject(ticket, "ticket");
  const { token, secret } = ticket;
  requireInteger(token, "ticket.token", TOKEN_MIN, Number.MAX_SAFE_INTEGER);
  const isSecret = typeof secret === "string" && /^[0-9a-f]+$/.test(secret);
  if (!isSecret || secret.length !== 2 * SECRET_BYTES) {
    throw new TypeError("ticket must be what detach gave");
  }
  return { token, secret };
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
