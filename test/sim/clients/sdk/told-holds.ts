/**
 * The holds of one session that one process was told of and not told the end of, each with the call that
 * asked for it. It goes by what was said and heard, and knows nothing of what the SDK makes of it.
 */
import {
  MESSAGE,
  OP,
  RECALL_STATE,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";

const GRANTS: readonly number[] = [STATUS.granted, STATUS.claimed];
/** Of what asks for no hold. */
const NOTHING = "";

export class ToldHolds {
  /** What each number of this process asks for, in the words of the application. */
  readonly #calls = new Map<number, string>();
  #held = new Set<number>();

  get numbers(): readonly number[] {
    return [...this.#held];
  }

  /** The call that brought, or is to bring, that hold; `undefined`: one of an earlier process. */
  callOf(number: number): string | undefined {
    return this.#calls.get(number);
  }

  onSaid(command: SequencedCommand): void {
    this.#held.delete(command.sequence);
    this.#calls.set(command.sequence, callIn(command));
  }

  onHeard(message: SessionMessage): void {
    switch (message.kind) {
      case MESSAGE.reply:
      case MESSAGE.outcome:
        if (GRANTS.includes(message.result.status)) this.#hold(message.sequence);
        return;
      case MESSAGE.lost:
        this.#held.delete(message.sequence);
        return;
      case MESSAGE.recalled:
        for (const { sequence, state } of message.sequences) {
          if (state === RECALL_STATE.held) this.#hold(sequence);
          else this.#held.delete(sequence);
        }
        return;
      case MESSAGE.ended:
        this.#held = new Set();
        return;
      default:
    }
  }

  #hold(number: number): void {
    if (this.#calls.get(number) !== NOTHING) this.#held.add(number);
  }
}

function callIn(command: SequencedCommand): string {
  if (command.op === OP.acquire) return command.options?.value ?? NOTHING;
  return command.op === OP.claim ? `claim ${command.token}` : NOTHING;
}
