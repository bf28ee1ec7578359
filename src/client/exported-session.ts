/**
 * A session on its way to another process: what it holds, what it waits for, and what it sent
 * without an answer, as plain data. Whoever has it has the session; it is as secret as the
 * session's nonce.
 */
import {
  type AcquireCommand,
  ATTEMPT_MAX,
  CLAIM_MODES,
  IN_FLIGHT_MAX,
  type Item,
  NONCE_BYTES,
  OP,
  type SequencedCommand,
} from "../protocol/index.js";
import { AwaitedCall } from "./awaited-call.js";
import type { Call } from "./call.js";
import { CancelCall } from "./grant-call.js";
import { ReleaseCall } from "./hold-calls.js";
import type { HeldItem } from "./lock-types.js";
import type { Locks } from "./locks.js";
import type { Outgoing } from "./outgoing.js";

const VERSION = 3;
const NONCE = new RegExp(`^[0-9a-f]{${2 * NONCE_BYTES}}$`);

/** Serialisable: JSON keeps all of it. Made by `client.export`, used once by `connect`. */
export interface ExportedSession {
  readonly version: number;
  readonly clusterId: string;
  readonly endpoints: readonly string[];
  readonly session: number;
  readonly nonce: string;
  readonly attempt: number;
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
  readonly nextSequence: number;
  readonly acknowledgements: readonly number[];
  readonly holds: readonly ExportedHold[];
  /** Of which the table said `queued`. */
  readonly waiting: readonly ExportedCall[];
  /** Sent, and not answered; by sequence. */
  readonly sent: readonly ExportedCall[];
  /** What gives something back and was not sent. */
  readonly unsent: readonly SequencedCommand[];
}

/** One hold of an exported session. */
export interface ExportedHold {
  readonly token: number;
  readonly owner: number;
  readonly items: readonly HeldItem[];
  readonly value: string;
  /**
   * How often it was held there, apart from what `waiting` and `sent` still bring or give back. 0:
   * all was given back, and what it was made since its grant matters to who is still granted it.
   */
  readonly count: number;
}

/** One unanswered command of an exported session. */
export interface ExportedCall {
  readonly command: SequencedCommand;
  /** Somebody waits for what it brings. */
  readonly isWanted: boolean;
}

/** Who the session is. */
export type Identity = Pick<
  ExportedSession,
  "clusterId" | "endpoints" | "session" | "nonce" | "attempt" | "ttlMs" | "name" | "metadata"
>;

export function describeSession(
  identity: Identity,
  { calls, holds }: Locks,
  { window, pulses }: Outgoing,
  nowMs: number,
): ExportedSession {
  const describe = (call: Call): ExportedCall => {
    const isWanted = call instanceof AwaitedCall && !call.isSettled;
    return { command: call.command(window.mark, nowMs), isWanted };
  };
  const held = [...holds.all()].filter(({ heldCount }) => heldCount > 0);
  const wanted = holds.aside.filter(({ taker }) => !taker.isSettled);
  const unsent = [...window.queued()].filter(
    (call) => call instanceof ReleaseCall || call instanceof CancelCall,
  );
  pulses.abandon(window);
  return {
    version: VERSION,
    ...identity,
    nextSequence: window.nextSequence,
    acknowledgements: window.acknowledgements,
    holds: [
      ...held.map(({ token, owner, items, value, heldCount }) => {
        return { token, owner: owner.id, items, value, count: heldCount };
      }),
      ...wanted.map(({ taker, granted: { token, items, value } }) => {
        const newest = holds.newestOf(token);
        return { token: newest, owner: taker.owner.id, items, value, count: taker.count };
      }),
      ...[...holds.left()].map(({ token, owner, items, value }) => {
        return { token, owner: owner.id, items, value, count: 0 };
      }),
    ],
    waiting: calls.queued().map(describe),
    sent: [...window.sent()].map(describe),
    unsent: unsent.map((call) => call.command(window.mark)),
  };
}

/**
 * What is not as `export` made it is refused here and now: later it would be met where it is sent,
 * and there it is a broken invariant of the client.
 */
export function requireExportedSession(value: unknown): asserts value is ExportedSession {
  const given = value as Partial<ExportedSession> | null;
  if (typeof given !== "object" || given === null || !isNumber(given.version)) throw notExported();
  if (given.version !== VERSION) throw otherVersion(given.version);
  if (!isSession(given) || !isHistory(given) || !isListOf(given.holds, isHold)) throw notExported();
}

function otherVersion(version: number): RangeError {
  const remedy =
    version > VERSION
      ? "update the SDK of the process that takes over"
      : "take over with the SDK that exported it, or update the exporting process before it exports";
  return new RangeError(
    `resume is of version ${version}, and this SDK knows ${VERSION}: ${remedy}`,
  );
}

function notExported(): TypeError {
  return new TypeError("resume must be what client.export() gave");
}

function isSession({ clusterId, session, nonce, attempt }: Partial<ExportedSession>): boolean {
  return (
    typeof clusterId === "string" &&
    isNumber(session, 1) &&
    typeof nonce === "string" &&
    NONCE.test(nonce) &&
    isNumber(attempt) &&
    attempt < ATTEMPT_MAX
  );
}

/** Whether the window of commands can go on from there. */
function isHistory(given: Partial<ExportedSession>): boolean {
  const { nextSequence, acknowledgements, waiting, sent, unsent } = given;
  if (!isNumber(nextSequence, 1) || !isListOf(acknowledgements, isNumber)) return false;
  if (!isListOf(waiting, isCall) || !isListOf(sent, isCall)) return false;
  if (!isListOf(unsent, isCommand)) return false;
  const sequences = (sent as readonly ExportedCall[]).map(({ command }) => command.sequence);
  const lowest = Math.max(nextSequence - IN_FLIGHT_MAX, 1);
  return sequences.every((sequence, at) => {
    return sequence >= lowest && sequence < nextSequence && sequence > (sequences[at - 1] ?? 0);
  });
}

function isCall({ command }: Partial<ExportedCall>): boolean {
  return isCommand(command) && isNumber(command?.sequence, 1);
}

function isCommand(command: Partial<SequencedCommand> | undefined): boolean {
  if (!isNumber(command?.op) || !isListOf(command.acknowledged, isNumber)) return false;
  if (command.op !== OP.acquire) return true;
  const { owner, items } = command as Partial<AcquireCommand>;
  return isNumber(owner) && isListOf(items, isWanted);
}

function isWanted({ key, mode }: Partial<Item>): boolean {
  return typeof key === "string" && CLAIM_MODES.some((known) => known === mode);
}

function isHold({ token, owner, items, value, count }: Partial<ExportedHold>): boolean {
  const isNumbered = isNumber(token, 1) && isNumber(owner) && isNumber(count);
  return isNumbered && typeof value === "string" && isListOf(items, isItem) && items?.length !== 0;
}

function isItem({ key, mode, permits, slots }: Partial<HeldItem>): boolean {
  const isKnown = CLAIM_MODES.some((known) => known === mode);
  return typeof key === "string" && isKnown && isNumber(permits) && isListOf(slots, isNumber);
}

function isListOf(list: unknown, isOne: (each: never) => boolean): boolean {
  const isOneOf = isOne as (each: unknown) => boolean;
  if (!Array.isArray(list)) return false;
  return list.every((each) => each !== null && each !== undefined && isOneOf(each));
}

function isNumber(value: unknown, least = 0): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}
