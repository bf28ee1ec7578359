/**
 * What one process received in one session, against what it says that it has read. The table
 * forgets what is acknowledged, and everything below the mark: a process that names what it has not
 * read loses it forever. The table also knows which number comes next: a node sends a client away
 * that leaves one out.
 */
import {
  MESSAGE,
  RECALL_STATE,
  type RecalledSequence,
  type SequencedCommand,
  type SessionCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";

export class ReadWords {
  /** Numbers of what was sent and is not answered. */
  readonly #open = new Set<number>();
  /** Numbers of which it was heard how they ended, otherwise than by a grant. */
  readonly #ended = new Set<number>();
  /** Tokens that the cluster reported as lost. */
  readonly #lost = new Set<number>();
  #next = 0;
  /** The session is no more, or another process's. */
  #isOver = false;

  /** What lies above was taken back. */
  onAttached(highestSequence: number): void {
    this.#takeBackFrom(highestSequence + 1);
  }

  onRefused(sequence: number): void {
    this.#takeBackFrom(sequence);
  }

  #takeBackFrom(next: number): void {
    this.#next = next;
    for (const sequence of this.#open) if (sequence >= next) this.#open.delete(sequence);
  }

  /** Returns what is wrong with its number. */
  onSaid({ sequence }: SequencedCommand): string | undefined {
    const next = this.#next;
    this.#next = sequence + 1;
    this.#open.add(sequence);
    return sequence === next ? undefined : `says ${sequence}, and ${next} comes next`;
  }

  onHeard(message: SessionMessage): void {
    switch (message.kind) {
      case MESSAGE.reply:
        this.#open.delete(message.sequence);
        return;
      case MESSAGE.outcome:
        // For what waited it is the whole answer, even if the reply before it was lost.
        this.#open.delete(message.sequence);
        if (message.result.status !== STATUS.granted) this.#ended.add(message.sequence);
        return;
      case MESSAGE.lost:
        this.#open.delete(message.sequence);
        this.#ended.add(message.sequence);
        this.#lost.add(message.token);
        return;
      case MESSAGE.ended:
        this.#isOver = true;
        return;
      case MESSAGE.recalled:
        for (const told of message.sequences) this.#onRecalled(told);
        return;
      default:
    }
  }

  #onRecalled(told: RecalledSequence): void {
    if (told.state !== RECALL_STATE.unseen) this.#open.delete(told.sequence);
    const isOver = told.state === RECALL_STATE.replied || told.state === RECALL_STATE.forgotten;
    if (isOver) this.#ended.add(told.sequence);
    if (told.state !== RECALL_STATE.ended) return;
    this.#ended.add(told.sequence);
    this.#lost.add(told.token);
  }

  /** Whether nobody may count on a hold of this token any more. */
  isToldLost(token: number): boolean {
    return this.#isOver || this.#lost.has(token);
  }

  /** What is wrong with what a command says was read. */
  problemOf({ acknowledged, mark }: SessionCommand): string | undefined {
    const unheard = acknowledged.find((sequence) => !this.#ended.has(sequence));
    if (unheard !== undefined) return `acknowledges ${unheard}, of which it heard no end`;
    const open = [...this.#open].find((sequence) => sequence < mark);
    if (open !== undefined) return `needs nothing below ${mark}, and has no answer to ${open}`;
    return mark > this.#next ? `needs nothing below ${mark}, and never said it` : undefined;
  }
}
