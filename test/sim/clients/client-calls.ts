/** The commands of one session of a client: what was asked, what was answered, what was read. */
import type { Result, SequencedCommand } from "../../../src/protocol/index.js";
import { OP, STATUS } from "../../../src/protocol/index.js";

export interface Call {
  readonly command: SequencedCommand;
  /** By the client's clock. */
  readonly firstSentMs: number;
  result: Result | undefined;
  /** The node refused it without an entry: it does not execute. */
  isRefused: boolean;
  isAcknowledged: boolean;
  /** Of an acquire: a cancel was sent, which may end the wait or the hold. */
  isCancelled: boolean;
}

export class ClientCalls {
  readonly #calls = new Map<number, Call>();
  #lastSequence = 0;

  get nextSequence(): number {
    return this.#lastSequence + 1;
  }

  get(sequence: number): Call | undefined {
    return this.#calls.get(sequence);
  }

  add(command: SequencedCommand, firstSentMs: number): Call {
    const call = {
      command,
      firstSentMs,
      result: undefined,
      isRefused: false,
      isAcknowledged: false,
      isCancelled: false,
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

  /** The mark, and outcomes that were read and are to be forgotten. */
  get read(): { readonly mark: number; readonly acknowledged: readonly number[] } {
    const acknowledged: number[] = [];
    let mark = this.#lastSequence + 1;
    for (const [sequence, call] of this.#calls) {
      if (isOpen(call)) {
        mark = Math.min(mark, sequence);
        continue;
      }
      if (call.command.op !== OP.acquire || call.isAcknowledged) continue;
      if (call.result?.status !== STATUS.queued) acknowledged.push(sequence);
    }
    return { mark, acknowledged };
  }

  /** A command that named them was executed: they need not be named again. */
  onRead(acknowledged: readonly number[]): void {
    for (const sequence of acknowledged) {
      const call = this.#calls.get(sequence);
      if (call !== undefined) call.isAcknowledged = true;
    }
  }

  /** Forgets what nobody can ask about any more. */
  forget(): void {
    for (const [sequence, call] of this.#calls) {
      if (isOpen(call) || call.result?.status === STATUS.queued) continue;
      if (call.command.op !== OP.acquire || call.isAcknowledged) this.#calls.delete(sequence);
    }
  }
}

function isOpen(call: Call): boolean {
  return call.result === undefined && !call.isRefused;
}
