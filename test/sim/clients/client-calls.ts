/** The commands of one session of a client: what was asked, what was answered, what was read. */
import type { Result, SequencedCommand } from "../../../src/protocol/index.js";
import { OP, STATUS } from "../../../src/protocol/index.js";
import type { Belief } from "./belief.js";

export interface Call {
  readonly command: SequencedCommand;
  /** By the client's clock. */
  readonly firstSentMs: number;
  /** The number of the connection on which it was first sent. */
  readonly connection: number;
  result: Result | undefined;
  /** The node refused it without an entry: it does not execute. */
  isRefused: boolean;
  isAcknowledged: boolean;
  /** Of an acquire: a cancel was sent, which may end the wait or the hold. */
  isCancelled: boolean;
  /** Of an upgrade: a downgrade of the same key was sent behind it, and may be executed behind it. */
  isLowered: boolean;
  /** Of a release or cancel: the hold that it makes one less. */
  readonly gives: Belief | undefined;
}

/** Commands whose outcome stays with the table until it is said to have been read. */
const WITH_OUTCOME: readonly number[] = [OP.acquire, OP.upgrade, OP.claim];

export class ClientCalls {
  readonly #calls = new Map<number, Call>();
  /** Tokens of holds that ended by themselves, as the client has read. */
  readonly #losses = new Set<number>();
  #lastSequence = 0;

  get nextSequence(): number {
    return this.#lastSequence + 1;
  }

  get(sequence: number): Call | undefined {
    return this.#calls.get(sequence);
  }

  /** `gives`: what a release or cancel makes one less. */
  add(command: SequencedCommand, firstSentMs: number, connection: number, gives?: Belief): Call {
    const call = {
      command,
      firstSentMs,
      connection,
      gives,
      result: undefined,
      isRefused: false,
      isAcknowledged: false,
      isCancelled: false,
      isLowered: false,
    };
    this.#calls.set(command.sequence, call);
    this.#lastSequence = Math.max(this.#lastSequence, command.sequence);
    return call;
  }

  /** Sent and without an answer. */
  get open(): Call[] {
    const open: Call[] = [];
    for (const call of this.#calls.values()) if (isOpen(call)) open.push(call);
    return open;
  }

  /** Acquires that stand in a queue. */
  get queued(): Call[] {
    return [...this.#calls.values()].filter(({ result }) => result?.status === STATUS.queued);
  }

  /** What was granted, as far as that was not said to have been read. */
  get granted(): Call[] {
    return [...this.#calls.values()].filter(({ result }) => {
      return result?.status === STATUS.granted || result?.status === STATUS.upgraded;
    });
  }

  /** The mark, and outcomes that were read and are to be forgotten. */
  get read(): { readonly mark: number; readonly acknowledged: readonly number[] } {
    const acknowledged: number[] = [...this.#losses];
    let mark = this.#lastSequence + 1;
    for (const [sequence, call] of this.#calls) {
      if (isOpen(call)) {
        mark = Math.min(mark, sequence);
        continue;
      }
      if (!WITH_OUTCOME.includes(call.command.op) || call.isAcknowledged) continue;
      if (call.result?.status !== STATUS.queued) acknowledged.push(sequence);
    }
    return { mark, acknowledged };
  }

  /** A command that named them was executed: they need not be named again. */
  onRead(acknowledged: readonly number[]): void {
    for (const sequence of acknowledged) {
      this.#losses.delete(sequence);
      const call = this.#calls.get(sequence);
      if (call !== undefined) call.isAcknowledged = true;
    }
  }

  noteLoss(token: number): void {
    this.#losses.add(token);
  }

  /** Forgets what nobody can ask about any more. */
  forget(): void {
    for (const [sequence, call] of this.#calls) {
      if (isOpen(call) || call.result?.status === STATUS.queued) continue;
      if (WITH_OUTCOME.includes(call.command.op) && !call.isAcknowledged) continue;
      this.#calls.delete(sequence);
    }
  }
}

function isOpen(call: Call): boolean {
  return call.result === undefined && !call.isRefused;
}
