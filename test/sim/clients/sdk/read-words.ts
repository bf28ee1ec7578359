/**
 * What a client was told in one session, against what it says that it has read. The table forgets what
 * is acknowledged, and everything below the mark: naming what was not read would lose it for ever.
 * It also knows which command a sequence stands for, since the table executes only the first.
 */
import {
  MESSAGE,
  OP,
  RECALL_STATE,
  type Result,
  type SequencedCommand,
  type SessionCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";

export class ReadWords {
  readonly #commands = new Map<number, SequencedCommand>();
  /** Sequences that were answered, `queued` too; or were not executed, and may have been dropped. */
  readonly #answered = new Set<number>();
  /** Sequences of which the end was heard. */
  readonly #ended = new Set<number>();
  /** Tokens of which the loss was heard, be it by a release that came too late. */
  readonly #lost = new Set<number>();
  /** Those among them of which the cluster told it, unasked or when it was asked how they stand. */
  readonly #toldLost = new Set<number>();
  /** What a sequence was granted. */
  readonly #granted = new Map<number, number>();
  /** From a token to the one that replaced it. */
  readonly #newer = new Map<number, number>();
  #mark = 1;

  /** Returns whether it is said for the first time. */
  onSaid(command: SequencedCommand): boolean {
    if (this.#commands.has(command.sequence)) return false;
    this.#commands.set(command.sequence, command);
    return true;
  }

  /** The table never saw what lies behind: commands of earlier connections have no effect any more. */
  onAttached(highestSequence: number): void {
    for (const sequence of this.#commands.keys()) {
      if (sequence > highestSequence) this.#answered.add(sequence);
    }
  }

  onRefused(sequence: number): void {
    this.#answered.add(sequence);
  }

  onHeard(message: SessionMessage): void {
    switch (message.kind) {
      case MESSAGE.reply:
      case MESSAGE.outcome:
        this.#onResult(message.sequence, message.result);
        return;
      case MESSAGE.lost:
        this.#onLost(message.token);
        return;
      case MESSAGE.recalled:
        for (const told of message.sequences) {
          if (told.state === RECALL_STATE.done) this.#onResult(told.sequence, told.result);
        }
        for (const told of message.tokens) {
          if (!told.held) this.#onLost(told.token);
          else if (told.current !== told.token) this.#newer.set(told.token, told.current);
        }
        return;
      default:
    }
  }

  /** Whether nobody may count on a hold of this token any more. */
  isToldLost(token: number): boolean {
    return this.#toldLost.has(token);
  }

  /** What is wrong with what a command says was read. */
  problemOf(command: SessionCommand): string | undefined {
    for (const number of command.acknowledged) {
      const isRead = this.#ended.has(number) || this.#isLost(number);
      if (!isRead) return `acknowledges ${number}, of which it heard no end`;
    }
    for (; this.#mark < command.mark; this.#mark += 1) {
      if (!this.#commands.has(this.#mark) || this.#answered.has(this.#mark)) continue;
      return `needs nothing below ${command.mark}, and has no answer to ${this.#mark}`;
    }
    if (!("sequence" in command)) return undefined;
    const first = this.#commands.get(command.sequence);
    if (first === undefined || nameOf(first) === nameOf(command)) return undefined;
    return `says ${nameOf(command)} as ${command.sequence}, which was ${nameOf(first)}`;
  }

  #onLost(token: number): void {
    this.#lost.add(token);
    this.#toldLost.add(token);
  }

  #onResult(sequence: number, result: Result): void {
    this.#answered.add(sequence);
    if (result.status === STATUS.queued) return;
    this.#ended.add(sequence);
    const command = this.#commands.get(sequence);
    if ("token" in result) this.#granted.set(sequence, result.token);
    if (result.status === STATUS.upgraded && command?.op === OP.upgrade) {
      this.#newer.set(command.token, result.token);
    }
    if (result.status !== STATUS.notReleased) return;
    if (command?.op === OP.release) this.#lost.add(command.token);
    if (command?.op !== OP.cancel) return;
    const token = this.#granted.get(command.target);
    if (token !== undefined) this.#lost.add(token);
  }

  /** By whichever of its tokens: the end of a hold is the end of all of them. */
  #isLost(token: number): boolean {
    if (this.#lost.has(token)) return true;
    const newest = this.#newestOf(token);
    for (const lost of this.#lost) if (this.#newestOf(lost) === newest) return true;
    return false;
  }

  #newestOf(token: number): number {
    let newest = token;
    for (let next = this.#newer.get(newest); next !== undefined && next > newest; ) {
      newest = next;
      next = this.#newer.get(newest);
    }
    return newest;
  }
}

/** What a sequence stands for, whatever is written anew for each transmission. */
function nameOf(command: SequencedCommand): string {
  switch (command.op) {
    case OP.acquire:
      return `acquire "${command.options?.value ?? ""}"`;
    case OP.cancel:
      return `cancel ${command.target}`;
    default:
      return `op ${command.op}`;
  }
}
