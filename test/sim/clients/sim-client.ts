/**
 * A client that speaks the protocol by itself: it connects to one node or another, opens a session,
 * acquires, waits, releases, cancels and reads, sends again what was not answered, and trusts its
 * lease exactly as long as the rules of the SDK say, by a clock of its own. What it does next comes
 * from its own stream of random numbers; what it hears goes to the checkers word by word.
 */
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  type Answer,
  type AttachCommand,
  type Attached,
  encodeCommand,
  type KeyView,
  MESSAGE,
  OP,
  type SequencedCommand,
  type ServerMessage,
  type SessionCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import type { RandomStream, RandomStreams } from "../engine/random-stream.js";
import type { Simulation } from "../engine/simulation.js";
import type { ClientPlan } from "../plan/plan.js";
import type { ClientNetwork } from "../world/client-network.js";
import { ProcessClock } from "../world/process-clock.js";
import { ProcessLife } from "../world/process-life.js";
import { type Action, chooseAction } from "./choose-action.js";
import { ClientConnection } from "./client-connection.js";
import { ClientSession } from "./client-session.js";
import type { ClientWatch } from "./client-watch.js";

/** Without any answer for so long a client tries another node. */
const PATIENCE_MS = 600;
const LOOK_AT_TIME_EVERY_MS = 50;

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
  readonly #connection: ClientConnection;
  readonly #session: ClientSession;
  #isAttached = false;
  /** The last time anything was heard, or asked with nothing else open. */
  #heardMs = 0;
  #lastRead = 0;
  /** Tokens that the last read showed in the hands of others. */
  #seenTokens: readonly number[] = [];
  #actionsLeft: number;
  #onGrant: () => void = () => {};
  /** Gives everything back and asks for nothing more. */
  isDraining = false;

  constructor(plan: ClientPlan, world: ClientSurroundings) {
    this.plan = plan;
    this.host = plan.host;
    this.#world = world;
    this.#random = world.streams.of(`client ${plan.host}`);
    this.#clock = new ProcessClock(world.simulation, world.streams.of(`clock ${plan.host}`));
    this.#life = new ProcessLife(world.simulation);
    this.#session = new ClientSession(this, this.#clock, world.watch);
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

  /** The number of its session; 0 while it has none. */
  get session(): number {
    return this.#session.id;
  }

  /** Sequenced commands that were answered by an entry. */
  get answeredCount(): number {
    return this.#session.answeredCount;
  }

  /** Nothing asked, nothing waited for, nothing held. */
  get isIdle(): boolean {
    if (this.session === 0) return true;
    const { calls, holds } = this.#session;
    if (!this.#isAttached || calls.open.length > 0) return false;
    return calls.queued.length === 0 && holds.present.length === 0;
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    return this.#session.business;
  }

  /** Whether the client counts on its lease at this moment. */
  get trustsLease(): boolean {
    return this.#session.trustsLease;
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
      () => LOOK_AT_TIME_EVERY_MS,
    );
  }

  pause(): void {
    this.#life.pause();
  }

  resume(): void {
    this.#life.resume();
  }

  /** In the turn in which it next begins to count on a hold. */
  atNextGrant(task: () => void): void {
    this.#onGrant = task;
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
    const attempt = this.#session.nextAttempt();
    const { id: session, nonce } = this.#session;
    const command: AttachCommand =
      session === 0
        ? { op: OP.open, nonce, attempt, ttlMs: this.plan.ttlMs, name: "", metadata: "" }
        : { op: OP.resume, session, nonce, attempt };
    const bytes = encodeCommand(command);
    this.#connection.say((events, connection) => events.onAttach(connection, command, bytes));
  }

  #onAttached(message: Attached): void {
    if (!this.#session.isAnswerToLastAttempt(message)) return;
    if (message.status === ERROR_NUMBERS.BUSY) {
      this.#connection.leave("busy");
      return;
    }
    this.#world.watch.onAttached(message);
    if (message.status !== STATUS.ok) {
      this.#startAnew();
      return;
    }
    this.#session.onAttached(message.session);
    this.#isAttached = true;
    this.#recall();
  }

  /** Says again what was not answered, and asks what became of the rest. */
  #recall(): void {
    const { calls, holds } = this.#session;
    for (const { command } of calls.open) this.#say(command);
    const sequences = calls.queued.map(({ command }) => command.sequence);
    const tokens = holds.present.map(({ token }) => token);
    if (sequences.length + tokens.length === 0) return;
    const number = this.#session.nextNumber();
    this.#say({ op: OP.recall, number, ...calls.read, sequences, tokens });
  }

  /** The session is no more. */
  #startAnew(): void {
    this.#session.startAnew();
    this.#isAttached = false;
    if (this.#connection.isThere) this.#attach();
  }

  // Saying.

  #act(): void {
    if (!this.#isAttached) return;
    const { holds, waits } = this.#session;
    if (this.isDraining) {
      for (const { token } of holds.present) this.#release(token);
      return;
    }
    if (this.#actionsLeft <= 0) return;
    this.#actionsLeft -= 1;
    const possessions = {
      holds: holds.present.map(({ token }) => token),
      waits,
      seen: this.#seenTokens,
    };
    this.#do(chooseAction(this.#random, this.plan.mix, this.#world.keys, possessions));
  }

  #do(action: Action): void {
    const session = this.#session;
    switch (action.kind) {
      case "acquire": {
        const { items, waitMs } = action;
        this.#call({ op: OP.acquire, ...session.head(), owner: 1, items, waitMs });
        break;
      }
      case "release":
        this.#release(action.token);
        break;
      case "cancel":
        session.giveUpGrantOf(action.target);
        this.#call({ op: OP.cancel, ...session.head(), target: action.target });
        break;
      case "close":
        session.holds.lapseAll();
        session.holds.isClosing = true;
        this.#call({ op: OP.close, ...session.head() });
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

  /** Of a hold of its own, or of somebody else's, which must not be possible. */
  #release(token: number): void {
    const belief = this.#session.holds.of(token);
    if (belief !== undefined) belief.givenUp = "released";
    this.#call({ op: OP.release, ...this.#session.head(), token });
  }

  #inspect(key: string): void {
    this.#lastRead += 1;
    const id = this.#lastRead;
    this.#world.watch.onRead(this.host, id);
    const query = { op: OP.inspect, id, key } as const;
    this.#connection.say((events, connection) => events.onQuery(connection, query));
  }

  #call(command: SequencedCommand): void {
    this.#session.add(command);
    this.#say(command);
  }

  #say(command: SessionCommand): void {
    const bytes = encodeCommand(command);
    this.#connection.say((events, connection) => events.onCommand(connection, command, bytes));
  }

  #keepalive(): void {
    if (!this.#isAttached) return;
    const number = this.#session.nextNumber();
    this.#say({ op: OP.keepalive, number, ...this.#session.calls.read });
  }

  #lookAtTime(): void {
    const nowMs = this.#clock.nowMs();
    this.#session.lookAtTime();
    if (!this.#connection.isThere) return;
    const isWaiting = !this.#isAttached || this.#session.waitsForAnswer;
    if (!isWaiting) this.#heardMs = nowMs;
    else if (nowMs - this.#heardMs > PATIENCE_MS) this.#connection.leave("nobody answers");
  }

  // Hearing.

  #take(message: ServerMessage): void {
    this.#heardMs = this.#clock.nowMs();
    this.#session.lookAtTime();
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
          this.#session.onRefused(message.sequence, message.result);
          return;
        }
        break;
      default:
    }
    const { grantCount } = this.#session;
    if (this.#session.hear(message)) this.#startAnew();
    if (this.#session.grantCount > grantCount) this.#tellGrant();
  }

  #tellGrant(): void {
    const task = this.#onGrant;
    this.#onGrant = () => {};
    task();
  }

  #onAnswer(answer: Answer): void {
    this.#world.watch.onAnswer(this.host, OP.inspect, answer);
    if (answer.status !== STATUS.ok) return;
    const { holds } = answer.payload as KeyView;
    this.#seenTokens = holds.flatMap(({ token, session }) => {
      return session === this.session ? [] : [token];
    });
  }
}
