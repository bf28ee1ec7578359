/** One thing that a client wants, from the wish until its result is known. */
import {
  isStrong as isStrongCommand,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
} from "../../../../src/protocol/index.js";

/** A command that has no number yet. */
type Unnumbered<C> = C extends SequencedCommand
  ? Omit<C, "sequence" | "mark" | "acknowledged">
  : never;
export type Wish = Unnumbered<SequencedCommand>;

/** What may wait in a queue of the table. */
const WAITING: readonly number[] = [OP.acquire, OP.take, OP.upgrade];

/** What becomes of a call, for who asked for it: `undefined` if nobody will ever know. */
export type CallListener = (
  answer: { readonly result: Result; readonly stamp: number } | undefined,
) => void;

export class Call {
  readonly wish: Wish;
  /** Among the calls of its session, in the order in which they were made. */
  readonly order: number;
  /** In an `end`: the call that it gives up, whose number it names. */
  readonly leaves: Call | undefined;
  /** 0 while it has none: it was not sent, or its number was taken back. */
  sequence = 0;
  /** By the client's clock, when it was sent under that number. */
  sentMs = 0;
  /** The connection on which that was. */
  connection = 0;
  /** What it said was read, when it was sent. */
  acknowledged: readonly number[] = [];
  /** The stamp by which it began to wait, or of the first answer that said so. */
  queuedAt: number | undefined;
  #listener: CallListener | undefined;
  /** As far as it was heard: `queued` is not the last word. */
  result: Result | undefined;
  /** Nobody waits for it any more: an `end` gives it up. */
  isLeft = false;
  /** It is known what became of it, be it that it never happened. */
  isOver = false;

  constructor(wish: Wish, order: number, leaves: Call | undefined) {
    this.wish = wish;
    this.order = order;
    this.leaves = leaves;
  }

  /** For somebody who asked for it and is not part of the session. */
  listen(listener: CallListener): void {
    this.#listener = listener;
  }

  /** The last word about it: only the first of them is passed on. */
  tell(...answer: Parameters<CallListener>): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.(...answer);
  }

  get isStrong(): boolean {
    return isStrongCommand(this.wish);
  }

  /** Sent, and not answered. */
  get isOpen(): boolean {
    return this.sequence > 0 && this.result === undefined && !this.isOver;
  }

  get isQueued(): boolean {
    return !this.isOver && this.result?.status === STATUS.queued;
  }

  /** Whether it wants something for which the table may let it wait. */
  get mayWait(): boolean {
    return !this.isOver && WAITING.includes(this.wish.op);
  }

  /** The hold that it is about, by the number of what brought that; 0: none. */
  get target(): number {
    if (this.leaves !== undefined) return this.leaves.sequence;
    return "target" in this.wish ? this.wish.target : 0;
  }

  /** The command as it is sent now, under the number that it was given. */
  command(read: {
    readonly mark: number;
    readonly acknowledged: readonly number[];
  }): SequencedCommand {
    const { sequence, wish } = this;
    const { mark, acknowledged } = read;
    this.acknowledged = acknowledged;
    const named = wish.op === OP.giveBack ? { taken: this.target } : { target: this.target };
    const rest = this.leaves === undefined ? wish : { ...wish, ...named };
    return { ...rest, sequence, mark, acknowledged } as SequencedCommand;
  }
}
