/**
 * A client that speaks the protocol by itself: it connects to one node or another, opens a session,
 * acquires, waits, releases, cancels and reads, sends again what was not answered, and trusts its
 * lease exactly as long as the rules of the SDK say, by a clock of its own. What it does next comes
 * from its own stream of random numbers; what it hears goes to the checkers word by word.
 */
import { Lease } from "../../../src/client/lease.js";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  type Answer,
  type AttachCommand,
  type Attached,
  encodeCommand,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Recalled,
  type Result,
  type SequencedCommand,
  type ServerMessage,
  type SessionCommand,
  type SessionMessage,
  STATUS,
} from "../../../src/protocol/index.js";
import type { RandomStream, RandomStreams } from "../engine/random-stream.js";
import type { Simulation } from "../engine/simulation.js";
import type { ClientPlan } from "../plan/plan.js";
import type { ClientNetwork } from "../world/client-network.js";
import { ProcessClock } from "../world/process-clock.js";
import { ProcessLife } from "../world/process-life.js";
import { chooseAction } from "./choose-action.js";
import { type Call, ClientCalls } from "./client-calls.js";
import { ClientConnection } from "./client-connection.js";
import { ClientHolds } from "./client-holds.js";
import type { Belief, ClientWatch } from "./client-watch.js";

/** Without any answer for so long a client tries another node. */
const PATIENCE_MS = 600;

export interface ClientSurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  readonly network: ClientNetwork;
  readonly watch: ClientWatch;
  readonly nodes: readonly number[];
  readonly keys: readonly string[];
}

export class SimClient {
  readonly host: number;
  readonly plan: ClientPlan;
  readonly #world: ClientSurroundings;
  readonly #random: RandomStream;
  readonly #clock: ProcessClock;
  readonly #life: ProcessLife;
  readonly #lease: Lease;
  #calls = new ClientCalls();
  #nonceNumber = 0;
  #attempt = 0;
  #attachSentMs = 0;
  session = 0;
  readonly #connection: ClientConnection;
  #isAttached = false;
  /** The last time anything was heard, or asked with nothing else open. */
  #heardMs = 0;
  #numbers = new Map<number, number>();
  #lastNumber = 0;
  #lastRead = 0;
  #actionsLeft: number;
  readonly #holds = new ClientHolds(this);
  /** Gives everything back and asks for nothing more. */
  isDraining = false;
  /** Sequenced commands that were answered by an entry. */
  answeredCount = 0;

  constructor(plan: ClientPlan, world: ClientSurroundings) {
    this.plan = plan;
    this.host = plan.host;
    this.#world = world;
    this.#random = world.streams.of(`client ${plan.host}`);
    this.#clock = new ProcessClock(world.simulation, world.streams.of(`clock ${plan.host}`));
    this.#life = new ProcessLife(world.simulation);
    this.#lease = new Lease(plan.ttlMs);
    this.#actionsLeft = plan.actions;
    const { network, nodes } = world;
    const around = { network, nodes, random: this.#random };
    this.#connection = new ClientConnection(this.host, this.#life, around, {
      onOpen: () => this.#attach(),
      onMessage: (message) => this.#take(message),
      onLeft: () => {
        this.#isAttached = false;
      },
      onNote: (text) => world.watch.onNote(this, text),
    });
  }

  get isSettled(): boolean {
    return this.#isAttached && this.#calls.open.length === 0;
  }

  /** Nothing asked, nothing waited for, nothing held. */
  get isIdle(): boolean {
    if (this.session === 0) return true;
    return this.isSettled && this.#calls.queued.length === 0 && this.#holds.present.length === 0;
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    const sequences = (calls: readonly Call[]): string =>
      calls.map(({ command }) => command.sequence).join(",");
    const open = sequences(this.#calls.open);
    const queued = sequences(this.#calls.queued);
    const tokens = this.#holds.present.map(({ token }) => token).join(",");
    return `session ${this.session} asks [${open}] waits [${queued}] holds [${tokens}]`;
  }

  /** Whether the client counts on its lease at this moment. */
  get trustsLease(): boolean {
    return this.session !== 0 && this.#clock.nowMs() < this.#lease.deadlineMs;
  }

  get isPaused(): boolean {
    return this.#life.isPaused;
  }

  start(): void {
    this.#world.simulation.after(this.plan.startMs, () =>
      this.#life.deliver(() => this.#connection.open()),
    );
    this.#every(
      () => this.#act(),
      () => this.plan.thinkMs * 2 * this.#random.next(),
    );
    this.#every(
      () => this.#keepalive(),
      () => this.plan.ttlMs / 3,
    );
    this.#every(
      () => this.#lookAtTime(),
      () => 50,
    );
  }

  pause(): void {
    this.#life.pause();
  }

  resume(): void {
    this.#life.resume();
  }

  /** From now on it connects to these only. */
  prefer(nodes: readonly number[]): void {
    this.#connection.prefer(nodes);
  }

  reconnect(): void {
    this.#connection.leave("told to");
  }

  /** Acts at once, beyond its plan: for the end of a run. */
  allow(actions: number): void {
    this.#actionsLeft = actions;
  }

  #every(task: () => void, delayMs: () => number): void {
    this.#world.simulation.after(delayMs(), () => {
      this.#life.deliver(() => {
        task();
        this.#every(task, delayMs);
      });
    });
  }

  // Attaching.

  #attach(): void {
    this.#attempt += 1;
    this.#attachSentMs = this.#clock.nowMs();
    const { session } = this;
    const attempt = this.#attempt;
    const nonce = this.#nonce;
    const command: AttachCommand =
      session === 0
        ? { op: OP.open, nonce, attempt, ttlMs: this.plan.ttlMs, name: "", metadata: "" }
        : { op: OP.resume, session, nonce, attempt };
    const bytes = encodeCommand(command);
    this.#connection.say((events, connection) => events.onAttach(connection, command, bytes));
  }

  get #nonce(): string {
    return (this.host * 1_000_000 + this.#nonceNumber).toString(16).padStart(32, "0");
  }

  // Saying.

  #act(): void {
    if (!this.#isAttached) return;
    if (this.isDraining) {
      for (const belief of this.#holds.present) this.#release(belief);
      return;
    }
    if (this.#actionsLeft <= 0) return;
    this.#actionsLeft -= 1;
    const action = chooseAction(this.#random, this.plan.mix, this.#world.keys, {
      holds: this.#holds.present.map(({ token }) => token),
      waits: [...this.#calls.open, ...this.#calls.queued]
        .filter(({ command }) => command.op === OP.acquire)
        .map(({ command }) => command.sequence),
    });
    switch (action.kind) {
      case "acquire": {
        const { items, waitMs } = action;
        this.#call({ op: OP.acquire, ...this.#head(), owner: 1, items, waitMs });
        break;
      }
      case "release": {
        const belief = this.#holds.of(action.token);
        if (belief !== undefined) this.#release(belief);
        break;
      }
      case "cancel":
        this.#giveUpGrantOf(action.target);
        this.#call({ op: OP.cancel, ...this.#head(), target: action.target });
        break;
      case "close":
        this.#holds.lapseAll();
        this.#holds.isClosing = true;
        this.#call({ op: OP.close, ...this.#head() });
        break;
      case "inspect":
        this.#inspect(action.key);
        break;
      case "reconnect":
        this.#connection.leave("on a whim");
        break;
      case "none":
        break;
    }
  }

  #release(belief: Belief): void {
    belief.givenUp = "released";
    this.#call({ op: OP.release, ...this.#head(), token: belief.token });
  }

  /** What a cancel may end must not be counted on any more. */
  #giveUpGrantOf(sequence: number): void {
    const call = this.#calls.get(sequence);
    if (call === undefined) return;
    call.isCancelled = true;
    const { result } = call;
    if (result === undefined || !("token" in result)) return;
    this.#holds.lapse(result.token);
  }

  #inspect(key: string): void {
    this.#lastRead += 1;
    const id = this.#lastRead;
    this.#world.watch.onRead(this.host, id);
    const query = { op: OP.inspect, id, key } as const;
    this.#connection.say((events, connection) => events.onQuery(connection, query));
  }

  #call(command: SequencedCommand): void {
    this.#calls.add(command, this.#clock.nowMs());
    this.#world.watch.onInvoke(this.session, command.sequence);
    this.#say(command);
  }

  #say(command: SessionCommand): void {
    const bytes = encodeCommand(command);
    this.#connection.say((events, connection) => events.onCommand(connection, command, bytes));
  }

  #head(): { sequence: number; mark: number; acknowledged: readonly number[] } {
    return { sequence: this.#calls.nextSequence, ...this.#calls.read };
  }

  #keepalive(): void {
    if (!this.#isAttached) return;
    this.#say({ op: OP.keepalive, number: this.#takeNumber(), ...this.#calls.read });
  }

  #takeNumber(): number {
    this.#lastNumber += 1;
    this.#numbers.set(this.#lastNumber, this.#clock.nowMs());
    return this.#lastNumber;
  }

  #lookAtTime(): void {
    const nowMs = this.#clock.nowMs();
    if (!this.trustsLease) this.#holds.lapseAll();
    if (!this.#connection.isThere) return;
    const isWaiting = !this.#isAttached || this.#calls.open.length > 0 || this.#numbers.size > 0;
    if (!isWaiting) this.#heardMs = nowMs;
    else if (nowMs - this.#heardMs > PATIENCE_MS) this.#connection.leave("nobody answers");
  }

  // Hearing.

  #take(message: ServerMessage): void {
    this.#heardMs = this.#clock.nowMs();
    // A lease that ended while nobody looked has ended all the same.
    if (!this.trustsLease) this.#holds.lapseAll();
    switch (message.kind) {
      case MESSAGE.attached:
        this.#onAttached(message);
        return;
      case MESSAGE.move:
        this.#connection.leave("told to move");
        return;
      case MESSAGE.answer:
        this.#onAnswer(message);
        return;
      case MESSAGE.hello:
      case MESSAGE.leader:
        return;
      case MESSAGE.reply:
        if (message.stamp === 0) {
          this.#onRefused(message.sequence, message.result);
          return;
        }
        break;
      default:
    }
    this.#onSessionMessage(message);
  }

  #onSessionMessage(message: SessionMessage): void {
    // The last words about a session that this client has buried already.
    if (this.session === 0) return;
    this.#world.watch.onMessage(this, this.session, message);
    switch (message.kind) {
      case MESSAGE.reply:
        this.#onReply(message.sequence, message.result);
        return;
      case MESSAGE.outcome:
        this.#settle(message.sequence, message.result);
        return;
      case MESSAGE.pulse:
        this.#onNumber(message.number);
        return;
      case MESSAGE.recalled:
        this.#onNumber(message.number);
        this.#onRecalled(message);
        return;
      case MESSAGE.ended:
        this.#startAnew();
        return;
      default:
    }
  }

  #onAttached(message: Attached): void {
    if (message.attempt !== this.#attempt || message.nonce !== this.#nonce) return;
    if (message.status === ERROR_NUMBERS.BUSY) {
      this.#connection.leave("busy");
      return;
    }
    this.#world.watch.onAttached(message);
    if (message.status !== STATUS.ok) {
      this.#startAnew();
      return;
    }
    this.session = message.session;
    this.#isAttached = true;
    this.#lease.renew(this.#attachSentMs);
    for (const call of this.#calls.open) this.#say(call.command);
    const sequences = this.#calls.queued.map(({ command }) => command.sequence);
    const tokens = this.#holds.present.map(({ token }) => token);
    if (sequences.length + tokens.length === 0) return;
    this.#say({
      op: OP.recall,
      number: this.#takeNumber(),
      ...this.#calls.read,
      sequences,
      tokens,
    });
  }

  /** The session is no more. */
  #startAnew(): void {
    this.#world.watch.onNote(this, `session ${this.session} is over`);
    this.#lease.reset(this.plan.ttlMs);
    this.#holds.end();
    this.session = 0;
    this.#nonceNumber += 1;
    this.#attempt = 0;
    this.#calls = new ClientCalls();
    this.#numbers.clear();
    this.#isAttached = false;
    if (this.#connection.isThere) this.#attach();
  }

  #onRefused(sequence: number, result: Result): void {
    if (this.session === 0) return;
    this.#world.watch.onRefused(this.session, sequence, result);
    const call = this.#calls.get(sequence);
    if (call === undefined || call.result !== undefined) return;
    call.isRefused = true;
    const { command } = call;
    if (command.op === OP.close) this.#holds.isClosing = false;
    if (command.op === OP.release) this.#holds.keep(command.token);
  }

  #onReply(sequence: number, result: Result): void {
    const call = this.#calls.get(sequence);
    if (result.status === ERROR_NUMBERS.SESSION_EXPIRED) {
      this.#startAnew();
      return;
    }
    if (call === undefined) return;
    this.#lease.renew(call.firstSentMs);
    this.#calls.onRead(call.command.acknowledged);
    if (call.result === undefined) {
      this.answeredCount += 1;
      this.#world.watch.onExecuted(call.command.op, result.status);
    }
    this.#settle(sequence, result);
    const { command } = call;
    if (command.op === OP.close) this.#startAnew();
    if (command.op === OP.release) this.#holds.forget(command.token);
  }

  #settle(sequence: number, result: Result): void {
    const call = this.#calls.get(sequence);
    if (call === undefined) return;
    const isNews = call.result === undefined || call.result.status === STATUS.queued;
    call.result = result;
    if (isNews && call.command.op === OP.acquire && "token" in result) {
      const belief = this.#holds.grant(call.command.items, result.token, call.isCancelled);
      if (belief !== undefined) this.#world.watch.onBelief(belief);
    }
    this.#calls.forget();
  }

  #onNumber(number: number): void {
    const sentMs = this.#numbers.get(number);
    // Answers come in order: what was asked before and is not answered never will be.
    for (const earlier of this.#numbers.keys()) {
      if (earlier <= number) this.#numbers.delete(earlier);
    }
    if (sentMs !== undefined) this.#lease.renew(sentMs);
  }

  #onRecalled({ sequences, tokens }: Recalled): void {
    for (const recalled of sequences) {
      if (recalled.state === RECALL_STATE.done) this.#settle(recalled.sequence, recalled.result);
    }
    for (const { token, held } of tokens) {
      const belief = held ? undefined : this.#holds.of(token);
      if (belief !== undefined) belief.givenUp = "released";
    }
  }

  #onAnswer(answer: Answer): void {
    this.#world.watch.onAnswer(this.host, OP.inspect, answer);
  }
}
