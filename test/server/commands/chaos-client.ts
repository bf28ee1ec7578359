/**
 * A client for storms. It sends its calls in order, again after a refusal, and after every attach
 * recalls what was executed. It records every promise it was given and fails as soon as two of them
 * contradict each other. The test decides what is asked for, and when.
 */
import { isDeepStrictEqual } from "node:util";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  type AttachCommand,
  END_REASON,
  IN_FLIGHT_MAX,
  type LockMode,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Recalled,
  type RecalledSequence,
  type Result,
  type SequencedCommand,
  type ServerMessage,
  type SessionCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { encodeCommand } from "../../protocol/command-bytes.js";
import type { MemoryConnection, MemoryGateway } from "../world/memory-gateway.js";
import type { World, WorldNode } from "../world/world.js";

/** The result of an acquire of which its client's own end left nothing. */
const WITHDRAWN: Result = { status: STATUS.notReleased, reason: END_REASON.cancelled };

/** After a refusal. */
const PAUSE_MS = 20;

export type Wish =
  | { readonly key: string; readonly mode: LockMode; readonly waitMs: number }
  /** Gives back what that acquire brought, or its wait. */
  | { readonly target: Call };

export class Call {
  readonly wish: Wish;
  /** Under which it was sent last; 0 while it is to be sent. */
  sequence = 0;
  sentMs = 0;
  /** The answer of the entry that executed it; for a wait that ended, how it ended. */
  result: Result | undefined;
  isAcknowledged = false;

  constructor(wish: Wish) {
    this.wish = wish;
  }

  get isOpen(): boolean {
    return this.result === undefined;
  }

  get isQueued(): boolean {
    return this.result?.status === STATUS.queued;
  }

  /** 0 unless it was granted. */
  get token(): number {
    return this.result !== undefined && "token" in this.result ? this.result.token : 0;
  }
}

export class ChaosClient {
  readonly nonce: string;
  /** In the order in which they were made. */
  readonly calls: Call[] = [];
  readonly complaints: string[] = [];
  session = 0;
  /** Until then the lease lasts, by everything that was heard and without any margin. */
  leaseUntilMs = 0;
  isAttached = false;
  readonly #world: World;
  readonly #ttlMs: number;
  #gateway: MemoryGateway | undefined;
  #connection: MemoryConnection | undefined;
  #attempt = 0;
  #attachSentMs = 0;
  /** When keepalives and recalls were sent, by their numbers. */
  readonly #sentMs = new Map<number, number>();
  #next = 1;
  #highest = 0;
  #lastNumber = 0;
  /** Nothing with a number is sent: a recall or the end of a pause is awaited. */
  #isWaiting = false;

  constructor(world: World, number: number, ttlMs: number) {
    this.#world = world;
    this.nonce = number.toString(16).padStart(32, "0");
    this.#ttlMs = ttlMs;
  }

  /** Nothing that was asked for is without an answer. Waits that go on do not count. */
  get isSettled(): boolean {
    return this.isAttached && !this.#isWaiting && !this.calls.some((call) => call.isOpen);
  }

  get waits(): Call[] {
    return this.calls.filter((call) => call.isQueued);
  }

  /** Granted, and not known to be given up. */
  get holds(): Call[] {
    return this.#granted(({ result }) => result !== undefined);
  }

  /** The calls of the holds that it never asked to give up. */
  get keptHolds(): Call[] {
    return this.#granted(() => true);
  }

  /** Less those that an end of these gave back. */
  #granted(counts: (end: Call) => boolean): Call[] {
    const given = new Set<Call>();
    for (const call of this.calls) {
      if ("target" in call.wish && counts(call)) given.add(call.wish.target);
    }
    return this.calls.filter((call) => call.token !== 0 && !given.has(call));
  }

  connect(node: WorldNode): void {
    this.disconnect();
    this.#gateway = node.gateway;
    const connection: MemoryConnection = node.gateway.connect({
      onMessage: (message) => {
        if (this.#connection === connection) this.#take(message);
      },
      onClosed: (code, reason) => {
        if (this.#connection !== connection) return;
        if (reason.startsWith("command")) this.#complain(`closed (${code}): ${reason}`);
        this.disconnect();
      },
    });
    this.#connection = connection;
    this.#attach();
  }

  /** Asks to be attached again on the connection it has. Until the answer it says nothing else. */
  attachAgain(): void {
    this.isAttached = false;
    this.#attach();
  }

  disconnect(): void {
    this.#connection?.leave();
    this.#connection = undefined;
    this.isAttached = false;
  }

  acquire(key: string, mode: LockMode, waitMs: number): void {
    this.calls.push(new Call({ key, mode, waitMs }));
    this.#pump();
  }

  end(target: Call): void {
    this.calls.push(new Call({ target }));
    this.#pump();
  }

  keepalive(): void {
    this.#send({ op: OP.keepalive, number: this.#takeNumber(), ...this.#read() });
  }

  /** What must be true between the answers, once all of them have come. */
  checkAnswers(): void {
    const released = new Map<Call, number>();
    for (const { wish, result } of this.calls) {
      if (!("target" in wish) || result?.status !== STATUS.released) continue;
      released.set(wish.target, (released.get(wish.target) ?? 0) + 1);
    }
    for (const { sequence, wish, result } of this.calls) {
      if (!("target" in wish)) continue;
      const { target } = wish;
      const times = released.get(target) ?? 0;
      if (times > 1) this.#complain(`${target.sequence} was freed ${times} times`);
      if (target.token === 0) continue;
      if (result?.status === STATUS.ok) {
        this.#complain(`${target.sequence} was granted and ${sequence} ended a wait of it`);
      } else if (times === 0) this.#complain(`${target.sequence} was lost, says ${sequence}`);
    }
  }

  #attach(): void {
    this.#attempt += 1;
    this.#attachSentMs = this.#world.nowMs;
    const { nonce, session } = this;
    const attempt = this.#attempt;
    const command: AttachCommand =
      session === 0
        ? { op: OP.open, nonce, attempt, ttlMs: this.#ttlMs, name: "", metadata: "" }
        : { op: OP.resume, session, nonce, attempt };
    const connection = this.#connection;
    this.#gateway?.say((events) => {
      if (connection?.isOpen) events.onAttach(connection, command, encodeCommand(command));
    });
  }

  /** Sends what has no number, in the order of the calls. */
  #pump(): void {
    if (!this.isAttached || this.#isWaiting) return;
    for (const call of this.calls) {
      if (!call.isOpen || call.sequence > 0) continue;
      const { mark, acknowledged } = this.#read();
      if (this.#next - mark >= IN_FLIGHT_MAX) return;
      call.sequence = this.#next;
      call.sentMs = this.#world.nowMs;
      this.#next += 1;
      const head = { sequence: call.sequence, mark, acknowledged };
      this.#send(commandOf(call.wish, head));
    }
  }

  #send(command: SessionCommand): void {
    const connection = this.#connection;
    this.#gateway?.say((events) => {
      if (connection?.isOpen) events.onCommand(connection, command, encodeCommand(command));
    });
  }

  /** The mark, and the ends that were read; these are named until a command with them executed. */
  #read(): { mark: number; acknowledged: readonly number[] } {
    const acknowledged: number[] = [];
    let mark = this.#next;
    for (const call of this.calls) {
      if (call.isOpen && call.sequence > 0) mark = Math.min(mark, call.sequence);
      const hasEnded = !call.isOpen && !call.isQueued && call.token === 0;
      if (!("target" in call.wish) && hasEnded && !call.isAcknowledged) {
        acknowledged.push(call.sequence);
      }
    }
    return { mark, acknowledged };
  }

  #take(message: ServerMessage): void {
    switch (message.kind) {
      case MESSAGE.attached:
        if (message.attempt !== this.#attempt) return;
        if (message.status === STATUS.ok) {
          this.#onAttached(message.session, message.highestSequence);
        } else if (isForNow(message.status)) this.#attach();
        else this.#complain(`attach: ${message.status}`);
        return;
      case MESSAGE.reply:
        this.#onReply(message.sequence, message.result);
        return;
      case MESSAGE.outcome:
        this.#settle(this.#sent(message.sequence), message.result);
        return;
      case MESSAGE.refused:
        this.#onRefused(message.sequence, message.status);
        return;
      case MESSAGE.renewed:
        this.#trust(this.#sentMs.get(message.number) ?? 0);
        return;
      case MESSAGE.recalled:
        this.#onRecalled(message);
        return;
      case MESSAGE.ended:
        this.#complain(`session ended: ${message.reason}`);
        return;
      default:
    }
  }

  #onAttached(session: number, highest: number): void {
    if (this.session !== 0 && this.session !== session) this.#complain("another session");
    if (highest < this.#highest) this.#complain(`${highest} is the highest after ${this.#highest}`);
    this.session = session;
    this.#highest = highest;
    this.#trust(this.#attachSentMs);
    this.isAttached = true;
    this.#isWaiting = true;
    const recalled: number[] = [];
    for (const call of this.calls) {
      if (call.sequence > highest) {
        if (!call.isOpen) this.#complain(`${call.sequence} was answered, and is not executed`);
        call.sequence = 0;
      } else if (call.sequence > 0 && (call.isOpen || call.isQueued || call.token !== 0)) {
        recalled.push(call.sequence);
      }
    }
    this.#next = highest + 1;
    const number = this.#takeNumber();
    this.#send({ op: OP.recall, number, ...this.#read(), sequences: recalled });
  }

  #takeNumber(): number {
    this.#lastNumber += 1;
    this.#sentMs.set(this.#lastNumber, this.#world.nowMs);
    return this.#lastNumber;
  }

  /** An entry executed something that was sent at `sentMs`. */
  #trust(sentMs: number): void {
    this.leaseUntilMs = Math.max(this.leaseUntilMs, sentMs + this.#ttlMs);
  }

  #sent(sequence: number): Call {
    const call = this.calls.find((candidate) => candidate.sequence === sequence);
    if (call === undefined) throw new Error(`${sequence} was never sent`);
    return call;
  }

  #onReply(sequence: number, result: Result): void {
    const call = this.#sent(sequence);
    this.#highest = Math.max(this.#highest, sequence);
    this.#trust(call.sentMs);
    for (const other of this.calls) {
      if (!other.isOpen && !other.isQueued && other.sequence < sequence)
        other.isAcknowledged = true;
    }
    this.#settle(call, result);
  }

  /** That one and everything after it has no number any more. */
  #onRefused(sequence: number, status: number): void {
    if (!isForNow(status)) this.#complain(`${sequence} is refused with ${status}`);
    for (const call of this.calls) {
      if (call.sequence < sequence) continue;
      if (!call.isOpen) this.#complain(`${call.sequence} was executed, and is refused`);
      call.sequence = 0;
    }
    this.#next = sequence;
    this.#isWaiting = true;
    const connection = this.#connection;
    const attempt = this.#attempt;
    this.#world.after(PAUSE_MS, () => {
      if (this.#connection !== connection || this.#attempt !== attempt) return;
      this.#isWaiting = false;
      this.#pump();
    });
  }

  #settle(call: Call, result: Result): void {
    if (call.result !== undefined && !call.isQueued && !isDeepStrictEqual(call.result, result)) {
      this.#complain(`${call.sequence}: ${show(call.result)}, then ${show(result)}`);
    }
    call.result = result;
    if (!("target" in call.wish) || result.status !== STATUS.ok) return;
    // Nothing is reported about a wait that its own client ended.
    const { target } = call.wish;
    if (target.isQueued) target.result = WITHDRAWN;
    else if (target.result !== WITHDRAWN) this.#complain(`${target.sequence} did not wait`);
  }

  #onRecalled({ number, sequences }: Recalled): void {
    if (number !== this.#lastNumber && !this.#sentMs.has(number)) this.#complain("a stray recall");
    this.#trust(this.#sentMs.get(number) ?? 0);
    for (const recalled of sequences) this.#onState(this.#sent(recalled.sequence), recalled);
    this.#isWaiting = false;
    this.#pump();
  }

  #onState(call: Call, recalled: RecalledSequence): void {
    switch (recalled.state) {
      case RECALL_STATE.held: {
        const { token } = recalled;
        if (call.token === 0) this.#settle(call, { status: STATUS.granted, token });
        else if (call.token !== token) this.#complain(`${call.token} is ${token}`);
        return;
      }
      case RECALL_STATE.replied:
        this.#settle(call, recalled.result);
        return;
      case RECALL_STATE.waiting:
        if (!call.isOpen && !call.isQueued) this.#complain(`${call.sequence} waits again`);
        call.result = { status: STATUS.queued };
        return;
      case RECALL_STATE.forgotten:
        if (!this.#isEnded(call)) this.#complain(`${call.sequence} is forgotten`);
        if (call.token > 0) return;
        call.result = WITHDRAWN;
        return;
      default:
        this.#complain(`${call.sequence}: ${show(recalled)}`);
    }
  }

  /** Whether an end of it was executed. */
  #isEnded(call: Call): boolean {
    return this.calls.some(({ wish, sequence }) => {
      return "target" in wish && wish.target === call && sequence > 0 && sequence <= this.#highest;
    });
  }

  #complain(text: string): void {
    this.complaints.push(`${this.#world.nowMs.toFixed(1)} session ${this.session}: ${text}`);
  }
}

function commandOf(
  wish: Wish,
  head: Pick<SequencedCommand, "sequence" | "mark" | "acknowledged">,
): SequencedCommand {
  if ("target" in wish) return { op: OP.end, ...head, target: wish.target.sequence };
  const { key, mode, waitMs } = wish;
  return { op: OP.acquire, ...head, task: 1, items: [{ key, mode }], waitMs };
}

function show(value: unknown): string {
  return JSON.stringify(value);
}

function isForNow(status: number): boolean {
  return status === ERROR_NUMBERS.BUSY || status === ERROR_NUMBERS.DISK_FULL;
}
