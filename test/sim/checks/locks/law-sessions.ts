/**
 * Sessions according to the messages in the log: leases, announced ends, which process has them,
 * what was executed.
 */
import { ERROR_NUMBERS } from "../../../../src/errors.js";
import { type AttachCommand, type Attached, OP, STATUS } from "../../../../src/protocol/index.js";

/** Of cluster time, between two takeovers of one session. */
const TAKE_OVER_EVERY_MS = 1_000;

interface LawSession {
  readonly nonce: string;
  readonly ttlMs: number;
  epoch: number;
  generation: number;
  taker: string;
  takenOverAt: number;
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
  /** What is wrong with the last word. */
  problem: string | undefined;

  /** An attach was answered. Returns whether the session was taken over by that. */
  attach(message: Attached, command: AttachCommand): boolean {
    this.problem = undefined;
    if (message.status === STATUS.ok) return this.#attached(message, command);
    if (message.status === ERROR_NUMBERS.TAKEN_OVER) this.problem = this.#refused(message, command);
    return false;
  }

  #attached(message: Attached, command: AttachCommand): boolean {
    const { session, epoch, stamp, ttlMs, generation, highestSequence } = message;
    const known = this.#sessions.get(session);
    if (known === undefined) {
      const { nonce } = command;
      const unused = { taker: "", takenOverAt: 0, highest: 0, highestThen: 0, endsAt: 0 };
      const leaseEndsAt = stamp + ttlMs;
      this.#sessions.set(session, { nonce, ttlMs, epoch, generation, leaseEndsAt, ...unused });
      if (command.op !== OP.open) this.problem = "is resumed, and nobody opened it";
      return false;
    }
    const isNew = epoch !== known.epoch;
    const isTakenOver = generation !== known.generation;
    this.problem = problemOf(message, command, known);
    known.epoch = epoch;
    if (isNew) known.highestThen = known.highest;
    if (highestSequence !== known.highestThen) {
      this.problem ??= `is told ${highestSequence} as the highest, not ${known.highestThen}`;
    }
    if (isNew) known.leaseEndsAt = Math.max(known.leaseEndsAt, stamp + known.ttlMs);
    if (!isTakenOver) return false;
    known.generation = generation;
    known.takenOverAt = stamp;
    if (command.op === OP.takeOver) known.taker = command.taker;
    return true;
  }

  #refused({ generation, taker }: Attached, command: AttachCommand): string | undefined {
    const known =
      command.op === OP.open
        ? [...this.#sessions.values()].find(({ nonce }) => nonce === command.nonce)
        : this.#sessions.get(command.session);
    if (known === undefined) return "is taken over, and nobody opened it";
    if (known.generation !== generation) return `has generation ${known.generation}`;
    if (known.taker !== taker) return `is ${known.taker}'s, not ${taker}'s`;
    const meant = command.op === OP.open ? 0 : command.generation;
    return meant < generation ? undefined : "is refused to who has it";
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

  takerOf(session: number): string {
    return this.#sessions.get(session)?.taker ?? "";
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

/** Of an attach that was let through. */
function problemOf(
  { epoch, generation, stamp }: Attached,
  command: AttachCommand,
  known: LawSession,
): string | undefined {
  if (command.nonce !== known.nonce) return "is attached with another secret";
  if (epoch !== known.epoch && epoch !== known.epoch + 1)
    return `goes from ${known.epoch} to ${epoch}`;
  if (command.op !== OP.takeOver) {
    const meant = command.op === OP.open ? 0 : command.generation;
    if (meant !== known.generation) return `is resumed as of ${meant}, it is ${known.generation}`;
    return generation === known.generation ? undefined : "is taken over by a resume";
  }
  if (command.generation === known.generation) {
    if (generation !== known.generation + 1) return "is taken over, and is not told";
    const sinceMs = stamp - known.takenOverAt;
    const isTooEarly = known.takenOverAt > 0 && sinceMs < TAKE_OVER_EVERY_MS;
    return isTooEarly ? `is taken over again after ${sinceMs} ms` : undefined;
  }
  if (command.generation + 1 !== known.generation || generation !== known.generation) {
    return `is taken over as of ${command.generation}, it is ${known.generation}`;
  }
  return command.taker === known.taker ? undefined : "is another taker's already";
}
