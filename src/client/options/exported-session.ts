/**
 * A session on its way to another process, as plain data: its identity, what it holds and waits
 * for, and what the previous process gave back without a confirmation. It contains no commands: the
 * process that takes over sends its own. Any process that has this object can take the session, so
 * it is as secret as the session's nonce.
 */
import {
  CLAIM_MODES,
  GENERATION_MAX,
  type Item,
  isValidTableKey,
  NONCE_BYTES,
} from "../../protocol/index.js";
import type { HeldItem } from "./lock-options.js";

const VERSION = 4;
const NONCE = new RegExp(`^[0-9a-f]{${2 * NONCE_BYTES}}$`);

/** Can be serialised as JSON without loss. Made by `client.export`, used once by `connect`. */
export interface ExportedSession {
  readonly version: number;
  readonly clusterId: string;
  readonly endpoints: readonly string[];
  readonly session: number;
  readonly nonce: string;
  /**
   * How often it was taken over. Of several processes that take over this generation, the first
   * gets the session.
   */
  readonly generation: number;
  /**
   * Everything up to this number was answered. A higher number that is not named here is not known
   * to be executed, or belongs to another process that took over, which may have used the number
   * again.
   */
  readonly answered: number;
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
  readonly holds: readonly ExportedHold[];
  /** Requests that the table answered with `queued`. */
  readonly waits: readonly ExportedWait[];
  readonly loose: Loose;
}

/** One hold of an exported session, however many handles it had. */
export interface ExportedHold {
  readonly sequence: number;
  readonly owner: number;
  readonly items: readonly HeldItem[];
  readonly value: string;
}

/** One request of an exported session that waits in its queue. */
export interface ExportedWait {
  readonly sequence: number;
  readonly owner: number;
  readonly items: readonly Item[];
  /** The value that the hold will have, as requested. */
  readonly value: string;
  readonly maxHoldMs: number;
}

/** What was given back without a confirmation by the table. */
export interface Loose {
  /** Numbers to end: holds, waits, and ends that were read. */
  readonly ends: number[];
  readonly downgrades: LooseDowngrade[];
}

/** A key of a hold to downgrade to shared. */
export interface LooseDowngrade {
  readonly sequence: number;
  readonly key: string;
}

export function exportedSession(exported: Omit<ExportedSession, "version">): ExportedSession {
  return { version: VERSION, ...exported };
}

/**
 * Refuses a value that `export` did not make. Otherwise the error would show up only when the value
 * is sent, as a broken invariant of the client.
 */
export function requireExportedSession(value: unknown): asserts value is ExportedSession {
  const given = value as Partial<ExportedSession> | null;
  if (typeof given !== "object" || given === null || !isNumber(given.version)) throw notExported();
  if (given.version !== VERSION) throw otherVersion(given.version);
  const { holds, waits, loose } = given;
  const isWhole = isSession(given) && isListOf(holds, isHold) && isListOf(waits, isWait);
  if (!isWhole || !isLoose(loose)) throw notExported();
}

function otherVersion(version: number): RangeError {
  const remedy =
    version > VERSION
      ? "update the SDK of the process that takes over"
      : "take over with the SDK that exported it, or update the exporting process before it exports";
  return new RangeError(`resume has version ${version}, but this SDK knows ${VERSION}: ${remedy}`);
}

function notExported(): TypeError {
  return new TypeError("resume must be what client.export() returned");
}

function isSession(given: Partial<ExportedSession>): boolean {
  const { clusterId, session, nonce, generation, answered } = given;
  const isNamed = typeof clusterId === "string" && isNumber(session, 1);
  const isKnown = typeof nonce === "string" && NONCE.test(nonce);
  const isNumbered = isNumber(generation) && generation < GENERATION_MAX && isNumber(answered);
  return isNamed && isKnown && isNumbered;
}

function isHold({ sequence, owner, items, value }: Partial<ExportedHold>): boolean {
  const isNumbered = isNumber(sequence, 1) && isNumber(owner);
  return isNumbered && typeof value === "string" && isListOf(items, isItem) && items?.length !== 0;
}

function isWait({ sequence, owner, items, value, maxHoldMs }: Partial<ExportedWait>): boolean {
  const isNumbered = isNumber(sequence, 1) && isNumber(owner) && isNumber(maxHoldMs);
  const isWhole = isNumbered && typeof value === "string";
  return isWhole && isListOf(items, isWanted) && items?.length !== 0;
}

function isLoose(loose: Partial<Loose> | undefined): boolean {
  if (typeof loose !== "object" || loose === null) return false;
  const isEnd = (sequence: number): boolean => isNumber(sequence, 1);
  return isListOf(loose.ends, isEnd) && isListOf(loose.downgrades, isDowngrade);
}

function isDowngrade({ sequence, key }: Partial<LooseDowngrade>): boolean {
  return isNumber(sequence, 1) && isKey(key);
}

function isWanted({ key, mode }: Partial<Item>): boolean {
  return isKey(key) && CLAIM_MODES.some((known) => known === mode);
}

function isItem({ key, mode, permits, slots }: Partial<HeldItem>): boolean {
  const isKnown = CLAIM_MODES.some((known) => known === mode);
  return isKey(key) && isKnown && isNumber(permits) && isListOf(slots, isNumber);
}

/** A text that the writer of frames takes. */
function isKey(key: unknown): boolean {
  return typeof key === "string" && isValidTableKey(key) === undefined;
}

function isListOf(list: unknown, isOne: (each: never) => boolean): boolean {
  const isOneOf = isOne as (each: unknown) => boolean;
  if (!Array.isArray(list)) return false;
  return list.every((each) => each !== null && each !== undefined && isOneOf(each));
}

function isNumber(value: unknown, least = 0): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}
