/**
 * The holds of one session that one process heard of and did not hear the end of, each with the
 * call that asked for it, and what was reported of it. It goes by what was said and heard, and
 * knows nothing of what the SDK makes of it.
 */
import {
  MESSAGE,
  OP,
  RECALL_STATE,
  type RecalledHold,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";

/** Stands for a call that asks for no hold. */
const NOTHING = "";
/** How the call begins that adopts a hold, in front of its secret. */
export const ADOPT = "adopt ";
const NEVER = Number.POSITIVE_INFINITY;

/** What was reported of a hold. */
interface Told {
  /** The newest. */
  token: number;
  isContended: boolean;
  /** It is to end by an order before it ends by itself. */
  isRevoked: boolean;
  /** When it ends by itself, in cluster time; `Infinity`: with its session. */
  endsAt: number;
}

export class ToldHolds {
  /** What each number of this process asks for, in the words of the application. */
  readonly #calls = new Map<number, string>();
  /** The caps of holds that are to have one. */
  readonly #caps = new Map<number, number>();
  /** The numbers of what upgrades are to make exclusive, by theirs. */
  readonly #upgrades = new Map<number, number>();
  #held = new Map<number, Told>();
  /** The session is to end. */
  #isRevoked = false;

  get numbers(): readonly number[] {
    return [...this.#held.keys()];
  }

  /** The call that brought, or is to bring, that hold. */
  callOf(number: number): string {
    return this.#calls.get(number) ?? NOTHING;
  }

  /** What was reported of that hold; `undefined`: nothing, or its end. */
  of(number: number): Readonly<Told> | undefined {
    const told = this.#held.get(number);
    return told && { ...told, isRevoked: told.isRevoked || this.#isRevoked };
  }

  onSaid(command: SequencedCommand): void {
    this.#held.delete(command.sequence);
    this.#calls.set(command.sequence, callIn(command));
    const cap = command.op === OP.acquire ? (command.options?.maxHoldMs ?? 0) : 0;
    if (cap > 0) this.#caps.set(command.sequence, cap);
    if (command.op === OP.upgrade) this.#upgrades.set(command.sequence, command.target);
  }

  onHeard(message: SessionMessage): void {
    switch (message.kind) {
      case MESSAGE.reply:
      case MESSAGE.outcome:
        this.#onResult(message.sequence, message.result, message.stamp);
        return;
      case MESSAGE.contended:
        this.#change(message.sequence, { isContended: true });
        return;
      case MESSAGE.revoking:
        if (message.sequence === 0) this.#isRevoked = true;
        else if (message.endsAt < (this.#held.get(message.sequence)?.endsAt ?? 0)) {
          this.#change(message.sequence, { isRevoked: true });
        }
        return;
      case MESSAGE.lost:
        this.#held.delete(message.sequence);
        return;
      case MESSAGE.recalled:
        for (const told of message.sequences) {
          if (told.state === RECALL_STATE.held) this.#onStillHeld(told);
          else this.#held.delete(told.sequence);
          if (told.state !== RECALL_STATE.replied) continue;
          this.#onResult(told.sequence, told.result, told.stamp);
        }
        return;
      case MESSAGE.ended:
        this.#held = new Map();
        return;
      default:
    }
  }

  #onResult(number: number, result: Result, stamp: number): void {
    const cap = this.#caps.get(number);
    if (result.status === STATUS.granted) {
      this.#hold(number, result.token, cap === undefined ? NEVER : stamp + cap);
    } else if (result.status === STATUS.adopted) {
      this.#hold(number, result.token, result.endsAt || NEVER);
    } else if (result.status === STATUS.upgraded) {
      this.#change(this.#upgrades.get(number) ?? 0, { token: result.token });
    }
  }

  #onStillHeld({ sequence, token, endsAt, isContended, isRevoked }: RecalledHold): void {
    this.#hold(sequence, token, endsAt || NEVER);
    this.#change(sequence, { token });
    if (isContended) this.#change(sequence, { isContended });
    if (isRevoked) this.#change(sequence, { isRevoked });
  }

  #hold(number: number, token: number, endsAt: number): void {
    if (this.#calls.get(number) === NOTHING || this.#held.has(number)) return;
    this.#held.set(number, { token, isContended: false, isRevoked: false, endsAt });
  }

  #change(number: number, change: Partial<Told>): void {
    const told = this.#held.get(number);
    if (told === undefined) return;
    Object.assign(told, change, { token: Math.max(told.token, change.token ?? 0) });
  }
}

function callIn(command: SequencedCommand): string {
  if (command.op === OP.acquire) return command.options?.value ?? NOTHING;
  return command.op === OP.adopt ? `${ADOPT}${command.secret}` : NOTHING;
}
