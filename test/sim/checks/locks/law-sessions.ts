/**
 * Sessions according to the messages in the log: leases, announced ends, what was executed.
 */
import { type AttachCommand, type Attached, OP, STATUS } from "../../../../src/protocol/index.js";

interface LawSession {
  readonly nonce: string;
  readonly ttlMs: number;
  epoch: number;
  /** The highest number that was executed, */
  highest: number;
  /** and as of its last attachment. */
  highestThen: number;
  leaseEndsAt: number;
  /** 0: no end was announced. */
  endsAt: number;
}

export class LawSessions {
  readonly #sessions = new Map<number, LawSession>();
  readonly #over = new Set<number>();
  readonly #torn = new Set<number>();

  /** An attach was answered. Returns what is wrong with that. */
  attach(message: Attached, command: AttachCommand): string | undefined {
    if (message.status !== STATUS.ok) return undefined;
    const { session, epoch, stamp, ttlMs, highestSequence } = message;
    const known = this.#sessions.get(session);
    if (known === undefined) {
      const { nonce } = command;
      const unused = { highest: 0, highestThen: 0, endsAt: 0 };
      const leaseEndsAt = stamp + ttlMs;
      this.#sessions.set(session, { nonce, ttlMs, epoch, leaseEndsAt, ...unused });
      return command.op === OP.open ? undefined : "is resumed, and nobody opened it";
    }
    const isNew = epoch !== known.epoch;
    const problem = problemOf(message, command, known);
    known.epoch = epoch;
    if (isNew) known.highestThen = known.highest;
    if (isNew) known.leaseEndsAt = Math.max(known.leaseEndsAt, stamp + known.ttlMs);
    const isRight = highestSequence === known.highestThen;
    const highest = `gets ${highestSequence} as the highest, not ${known.highestThen}`;
    return problem ?? (isRight ? undefined : highest);
  }

  /** A command of that number was executed. Returns what is wrong. */
  execute(session: number, epoch: number, sequence: number): string | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    const { highest } = known;
    known.highest = sequence;
    if (epoch !== known.epoch) return `is executed in epoch ${epoch}, it is ${known.epoch}`;
    return sequence === highest + 1 ? undefined : `is executed after ${highest}`;
  }

  highestOf(session: number): number {
    return this.#sessions.get(session)?.highest ?? 0;
  }

  renew(session: number, stamp: number): void {
    const known = this.#sessions.get(session);
    if (known !== undefined) known.leaseEndsAt = Math.max(known.leaseEndsAt, stamp + known.ttlMs);
  }

  leaseOf(session: number): number {
    return this.#sessions.get(session)?.leaseEndsAt ?? 0;
  }

  endOf(session: number): number {
    return this.#sessions.get(session)?.endsAt ?? 0;
  }

  /** Returns what is wrong. */
  announceEnd(session: number, endsAt: number): string | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return "nobody opened it";
    if (known.endsAt === endsAt) return undefined;
    known.endsAt = endsAt;
    if (endsAt >= known.leaseEndsAt) return undefined;
    return `is to end at ${endsAt}, its lease ends at ${known.leaseEndsAt}`;
  }

  end(session: number): void {
    this.#over.add(session);
  }

  isOver(session: number): boolean {
    return this.#over.has(session);
  }

  tear(session: number): void {
    this.#torn.add(session);
  }

  isTorn(session: number): boolean {
    return this.#torn.has(session);
  }
}

/** What is wrong with an attach that was let through. */
function problemOf(
  { epoch }: Attached,
  command: AttachCommand,
  known: LawSession,
): string | undefined {
  if (command.nonce !== known.nonce) return "is attached with another secret";
  const isNext = epoch === known.epoch || epoch === known.epoch + 1;
  return isNext ? undefined : `goes from ${known.epoch} to ${epoch}`;
}
