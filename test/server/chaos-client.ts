/**
 * A client for storms: it sends again what was not answered, recalls what it waits for after every
 * attach, and keeps a record of every promise it was given. It complains as soon as two of them
 * contradict each other. It decides nothing: what is asked for, and when, is the test's business.
 */
import { isDeepStrictEqual } from "node:util";
import { ERROR_NUMBERS } from "../../src/errors.js";
import {
  type AttachCommand,
  encodeCommand,
  type LockMode,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Recalled,
  type Result,
  type SequencedCommand,
  type ServerMessage,
  type SessionCommand,
  STATUS,
} from "../../src/protocol/index.js";
import type { MemoryConnection, MemoryGateway } from "./memory-gateway.js";
import type { World, WorldNode } from "./world.js";

export class Call {
  readonly command: SequencedCommand;
  readonly firstSentMs: number;
  /** The answer of the entry that executed it; for a wait that ended, how it ended. */
  result: Result | undefined;
  /** The node it was sent to refused it: it must never execute. */
  isRefused = false;
  isAcknowledged = false;

  constructor(command: SequencedCommand, firstSentMs: number) {
    this.command = command;
    this.firstSentMs = firstSentMs;
  }

  get isOpen(): boolean {
    return this.result === undefined && !this.isRefused;
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
  readonly calls = new Map<number, Call>();
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
  #lastSequence = 0;
  #lastNumber = 0;

  constructor(world: World, number: number, ttlMs: number) {
    this.#world = world;
    this.nonce = number.toString(16).padStart(32, "0");
    this.#ttlMs = ttlMs;
  }

  /** Nothing sent is without an answer. Waits that go on do not count. */
  get isSettled(): boolean {
    return this.isAttached && ![...this.calls.values()].some((call) => call.isOpen);
  }

  get waits(): Call[] {
    return [...this.calls.values()].filter((call) => call.isQueued);
  }

  /** Granted, and not known to be given up. */
  get holds(): Call[] {
    const given = new Set<number>();
    for (const { command, result } of this.calls.values()) {
      if (result === undefined) continue;
      if (command.op === OP.release) given.add(command.token);
      else if (command.op === OP.cancel && result.status !== STATUS.ok) {
        given.add(this.calls.get(command.target)?.token ?? 0);
      }
    }
    return [...this.calls.values()].filter(({ token }) => token !== 0 && !given.has(token));
  }

  /** Of the holds that it never asked to give up. */
  get keptTokens(): number[] {
    const given = new Set<number>();
    for (const { command } of this.calls.values()) {
      if (command.op === OP.release) given.add(command.token);
      else given.add(this.#tokenOfTarget(command));
    }
    return this.holds.map(({ token }) => token).filter((token) => !given.has(token));
  }

  connect(node: WorldNode): void {
    this.disconnect();
    this.#gateway = node.gateway;
    const connection: MemoryConnection = node.gateway.connect({
      onMessage: (message) => {
        if (this.#connection === connection) this.#take(message);
      },
      onClosed: () => {
        if (this.#connection === connection) this.disconnect();
      },
    });
    this.#connection = connection;
    this.#attach();
  }

  /**
   * Asks to be attached anew on the connection it has. Until the answer it says nothing else: a command
   * sent meanwhile and again behind the answer would be two, of which one may be refused.
   */
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
    this.#call({ op: OP.acquire, ...this.#head(), owner: 1, items: [{ key, mode }], waitMs });
  }

  release(token: number): void {
    this.#call({ op: OP.release, ...this.#head(), token });
  }

  cancel(target: number): void {
    this.#call({ op: OP.cancel, ...this.#head(), target });
  }

  keepalive(): void {
    this.#send({ op: OP.keepalive, number: this.#takeNumber(), ...this.#read() });
  }

  /** What must be true between the answers, once all of them have come. */
  checkAnswers(): void {
    const givenUp = new Map<number, number>();
    for (const { command, result } of this.calls.values()) {
      if (result?.status !== STATUS.released) continue;
      const target = command.op === OP.cancel ? command.target : undefined;
      const token = target === undefined ? (command as { token?: number }).token : undefined;
      const freed = token ?? this.calls.get(target ?? 0)?.token ?? 0;
      givenUp.set(freed, (givenUp.get(freed) ?? 0) + 1);
    }
    for (const [token, times] of givenUp) {
      if (token === 0 || times !== 1) this.#complain(`token ${token} was freed ${times} times`);
    }
    for (const { command, result } of this.calls.values()) {
      if (result === undefined) continue;
      const token = command.op === OP.release ? command.token : this.#tokenOfTarget(command);
      if (command.op === OP.cancel && result.status === STATUS.ok && token !== 0) {
        this.#complain(`${command.target} was granted and is cancelled without a hold`);
      }
      if (result.status === STATUS.notReleased && !givenUp.has(token)) {
        this.#complain(`token ${token} was lost`);
      }
    }
  }

  #tokenOfTarget(command: SequencedCommand): number {
    return command.op === OP.cancel ? (this.calls.get(command.target)?.token ?? 0) : 0;
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

  #call(command: SequencedCommand): void {
    this.calls.set(command.sequence, new Call(command, this.#world.nowMs));
    this.#send(command);
  }

  #send(command: SessionCommand): void {
    const connection = this.#connection;
    this.#gateway?.say((events) => {
      if (connection?.isOpen) events.onCommand(connection, command, encodeCommand(command));
    });
  }

  #head(): { sequence: number; mark: number; acknowledged: readonly number[] } {
    this.#lastSequence += 1;
    return { sequence: this.#lastSequence, ...this.#read() };
  }

  /** The mark, and the outcomes that were read; these are named until a command with them executed. */
  #read(): { mark: number; acknowledged: readonly number[] } {
    const acknowledged: number[] = [];
    let mark = this.#lastSequence;
    for (const [sequence, call] of this.calls) {
      if (call.isOpen) mark = Math.min(mark, sequence);
      else if (call.command.op === OP.acquire && !call.isAcknowledged && !call.isQueued) {
        acknowledged.push(sequence);
      }
    }
    return { mark: Math.max(1, mark), acknowledged };
  }

  #take(message: ServerMessage): void {
    switch (message.kind) {
      case MESSAGE.attached:
        if (message.attempt !== this.#attempt) return;
        if (message.status === STATUS.ok) this.#onAttached(message.session);
        else if (isForNow(message.status)) this.#attach();
        else this.#complain(`attach: ${message.status}`);
        return;
      case MESSAGE.reply:
        this.#onReply(message.sequence, message.stamp, message.result);
        return;
      case MESSAGE.outcome:
        this.#settle(message.sequence, message.result);
        return;
      case MESSAGE.pulse:
        this.#trust(this.#sentMs.get(message.number) ?? 0);
        return;
      case MESSAGE.recalled:
        this.#trust(this.#sentMs.get(message.number) ?? 0);
        this.#onRecalled(message);
        return;
      case MESSAGE.ended:
        this.#complain(`session ended: ${message.reason}`);
        return;
      default:
    }
  }

  #onAttached(session: number): void {
    if (this.session !== 0 && this.session !== session) this.#complain("another session");
    this.session = session;
    this.#trust(this.#attachSentMs);
    this.isAttached = true;
    for (const call of this.calls.values()) if (call.isOpen) this.#send(call.command);
    const sequences = this.waits.map(({ command }) => command.sequence);
    const tokens = this.holds.map(({ token }) => token);
    const number = this.#takeNumber();
    this.#send({ op: OP.recall, number, ...this.#read(), sequences, tokens });
  }

  #takeNumber(): number {
    this.#lastNumber += 1;
    this.#sentMs.set(this.#lastNumber, this.#world.nowMs);
    return this.#lastNumber;
  }

  /** An entry executed something that was sent at `sentMs` for the first time. */
  #trust(sentMs: number): void {
    this.leaseUntilMs = Math.max(this.leaseUntilMs, sentMs + this.#ttlMs);
  }

  #onReply(sequence: number, stamp: number, result: Result): void {
    const call = this.calls.get(sequence);
    if (call === undefined) {
      this.#complain(`reply to ${sequence}, never sent`);
      return;
    }
    if (stamp === 0) {
      if (call.result !== undefined) this.#complain(`${sequence} is refused after its answer`);
      call.isRefused = true;
      return;
    }
    this.#trust(call.firstSentMs);
    for (const read of call.command.acknowledged) {
      const acknowledged = this.calls.get(read);
      if (acknowledged !== undefined) acknowledged.isAcknowledged = true;
    }
    this.#settle(sequence, result);
  }

  #settle(sequence: number, result: Result): void {
    const call = this.calls.get(sequence);
    if (call === undefined) {
      this.#complain(`outcome of ${sequence}, never sent`);
      return;
    }
    if (call.isRefused) this.#complain(`${sequence} was refused and executed`);
    if (call.result !== undefined && !call.isQueued && !isDeepStrictEqual(call.result, result)) {
      this.#complain(`${sequence}: ${show(call.result)}, then ${show(result)}`);
    }
    call.result = result;
  }

  #onRecalled({ sequences, tokens }: Recalled): void {
    for (const recalled of sequences) {
      if (recalled.state === RECALL_STATE.done) this.#settle(recalled.sequence, recalled.result);
      else if (recalled.state !== RECALL_STATE.queued && this.#isWaiting(recalled.sequence)) {
        this.#complain(`${recalled.sequence} was queued and is ${show(recalled)}`);
      }
    }
    const kept = new Set(this.keptTokens);
    for (const { token, held } of tokens) {
      if (!held && kept.has(token)) this.#complain(`token ${token} is not held any more`);
    }
  }

  #isWaiting(sequence: number): boolean {
    return this.calls.get(sequence)?.isQueued === true;
  }

  #complain(text: string): void {
    this.complaints.push(`${this.#world.nowMs.toFixed(1)} session ${this.session}: ${text}`);
  }
}

function show(value: unknown): string {
  return JSON.stringify(value);
}

function isForNow(status: number): boolean {
  return status === ERROR_NUMBERS.BUSY || status === ERROR_NUMBERS.DISK_FULL;
}
