/**
 * A session on its way to another process: what it holds, what it waits for, and what it sent
 * without an answer, as plain data. Whoever has it has the session; it is as secret as the
 * session's nonce.
 */
import type { SequencedCommand } from "../protocol/index.js";
import { AwaitedCall } from "./awaited-call.js";
import type { Call } from "./call.js";
import { CancelCall } from "./grant-call.js";
import { ReleaseCall } from "./hold-calls.js";
import type { HeldItem } from "./lock-types.js";
import type { Locks } from "./locks.js";
import type { Outgoing } from "./outgoing.js";

const VERSION = 1;

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
      ...held.map(({ token, owner, items, value }) => ({ token, owner: owner.id, items, value })),
      ...holds.aside.map(({ taker, granted: { token, items, value } }) => {
        return { token, owner: taker.owner.id, items, value };
      }),
    ],
    waiting: calls.queued().map(describe),
    sent: [...window.sent()].map(describe),
    unsent: unsent.map((call) => call.command(window.mark)),
  };
}

export function requireExportedSession(value: unknown): asserts value is ExportedSession {
  const given = value as Partial<ExportedSession> | null;
  const isOne =
    typeof given === "object" &&
    given !== null &&
    [given.holds, given.waiting, given.sent, given.unsent, given.endpoints].every(Array.isArray) &&
    typeof given.nonce === "string" &&
    Number.isSafeInteger(given.session) &&
    Number.isSafeInteger(given.attempt) &&
    Number.isSafeInteger(given.nextSequence);
  if (!isOne) throw new TypeError("resume must be what client.export() gave");
  if (given.version !== VERSION) {
    throw new RangeError(`resume is of version ${given.version}; this SDK knows ${VERSION}`);
  }
}
