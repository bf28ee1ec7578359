/**
 * The calls of one session of a client, in program order (docs/internals/semantics.md, 2): which
 * is sent next, under which number, and which are sent again under another one. Written from the
 * rules, not from the SDK, which has a way of its own.
 */
import { OP } from "../../../../src/protocol/index.js";
import { Call, type Wish } from "./call.js";

/**
 * Commands from the mark on. A node takes 1,024, but one recall, which may have to name all of them and
 * what is held and waited for besides, only 1,000.
 */
const WINDOW_MAX = 512;

/** After a refusal strong calls wait, then one of them is tried. */
type Flow = "full" | "paused" | "trying";

export class ClientCalls {
  /** Without a number, in the order of calls. */
  #queue: Call[] = [];
  /** By number: what was sent, until it is over. */
  readonly #sent = new Map<number, Call>();
  /** Numbers whose end was heard, until a command that says so was executed. */
  readonly #ends = new Set<number>();
  #flow: Flow = "full";
  #next = 1;
  #lastOrder = 0;

  get(sequence: number): Call | undefined {
    return this.#sent.get(sequence);
  }

  add(wish: Wish, leaves?: Call): Call {
    this.#lastOrder += 1;
    const call = new Call(wish, this.#lastOrder, leaves);
    if (leaves !== undefined) leaves.isLeft = true;
    this.#queue.push(call);
    return call;
  }

  /** What was not sent yet is not wanted any more. Returns whether it was so. */
  drop(call: Call): boolean {
    if (call.sequence > 0) return false;
    this.#dropAll((other) => other === call);
    return true;
  }

  /** All of which it is not known what became of them. */
  get all(): Call[] {
    return [...this.#queue, ...this.#sent.values()].filter(({ isOver }) => !isOver);
  }

  /** Sent and without an answer. */
  get open(): Call[] {
    return [...this.#sent.values()].filter(({ isOpen }) => isOpen);
  }

  /** Whether a call has that number, or may have it later. */
  isUsed(sequence: number): boolean {
    return sequence >= this.#next || this.#sent.has(sequence);
  }

  /** What stands in a queue of the table. */
  get queued(): Call[] {
    return [...this.#sent.values()].filter(({ isQueued }) => isQueued);
  }

  /** The mark, and numbers that are to be forgotten since it was heard how they ended. */
  get read(): { readonly mark: number; readonly acknowledged: readonly number[] } {
    const mark = Math.min(this.#next, ...this.open.map(({ sequence }) => sequence));
    return { mark, acknowledged: [...this.#ends] };
  }

  /** A command that named them was executed: they need not be named again. */
  onRead(acknowledged: readonly number[]): void {
    for (const sequence of acknowledged) this.#ends.delete(sequence);
  }

  noteEnd(sequence: number): void {
    this.#ends.add(sequence);
  }

  /** The next one to be sent, with its number; `undefined`: none may go now. */
  takeNext(): Call | undefined {
    if (this.#next - this.read.mark >= WINDOW_MAX) return undefined;
    const isTrying = this.open.some(({ isStrong }) => isStrong);
    const mayAll = this.#flow === "full" || (this.#flow === "trying" && !isTrying);
    const call = mayAll ? this.#queue[0] : this.#queue.find(({ isStrong }) => !isStrong);
    if (call === undefined) return undefined;
    this.#failWhatItPasses(call);
    this.#queue = this.#queue.filter((other) => other !== call);
    call.sequence = this.#next;
    this.#next += 1;
    this.#sent.set(call.sequence, call);
    return call;
  }

  /** What would make a hold stronger, or change it, is not wanted any more when it is given back. */
  #failWhatItPasses({ order, target }: Call): void {
    this.#dropAll(({ wish, order: before, target: other }) => {
      const isChange = wish.op === OP.upgrade || wish.op === OP.update;
      return isChange && before < order && other === target;
    });
  }

  /** An answer was heard: after one to a strong call all may go again. */
  onAnswered(call: Call): void {
    if (this.#flow === "trying" && call.isStrong) this.#flow = "full";
  }

  /** `isFinal`: it would be refused again. */
  onRefused(sequence: number, isFinal: boolean): void {
    const refused = this.#sent.get(sequence);
    this.#takeBackFrom(sequence);
    if (isFinal && refused !== undefined) this.#dropAll((call) => call === refused);
    this.#flow = "paused";
  }

  endPause(): void {
    if (this.#flow === "paused") this.#flow = "trying";
  }

  /** Nothing above `highest` was executed, or will be under the number that it had. */
  onAttached(highest: number): void {
    this.#takeBackFrom(highest + 1);
    this.#flow = "full";
  }

  settle(call: Call): void {
    call.isOver = true;
    call.tell(undefined);
    this.#sent.delete(call.sequence);
  }

  /** The session is no more, nor what was asked in it. */
  end(): void {
    for (const call of this.all) this.settle(call);
  }

  #takeBackFrom(next: number): void {
    this.#next = next;
    for (const [sequence, call] of this.#sent) {
      if (sequence < next) continue;
      this.#sent.delete(sequence);
      call.sequence = 0;
      this.#queue.push(call);
    }
    this.#queue.sort((one, other) => one.order - other.order);
    // What its caller left is not sent again, and neither is what was to give it up.
    this.#dropAll(({ isLeft }) => isLeft);
  }

  #dropAll(isMeant: (call: Call) => boolean): void {
    const dropped = this.#queue.filter(isMeant);
    for (const call of dropped) {
      call.isOver = true;
      call.tell(undefined);
    }
    this.#queue = this.#queue.filter(({ isOver, leaves }) => {
      return !isOver && !(leaves?.isOver === true && leaves.sequence === 0);
    });
  }
}
