/**
 * A client that speaks the protocol by itself: it connects to one node or another, opens a session,
 * acquires, waits, releases, cancels and reads, sends again what was not answered, and trusts its
 * lease exactly as long as the rules of the SDK say, by a clock of its own. What it does next comes
 * from its own stream of random numbers; what it hears goes to the checkers word by word.
 */
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  type AttachCommand,
  type Attached,
  decodeCommand,
  encodeCommand,
  MESSAGE,
  OP,
  type SequencedCommand,
  type ServerMessage,
  type SessionCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { wordsOf } from "../checks/words.js";
import type { RandomStream, RandomStreams } from "../engine/random-stream.js";
import type { Simulation } from "../engine/simulation.js";
import type { ClientPlan, SemaphorePlan } from "../plan/plan.js";
import type { ClientNetwork } from "../world/client-network.js";
import { ProcessClock } from "../world/process-clock.js";
import { ProcessLife } from "../world/process-life.js";
import type { Belief } from "./belief.js";
import { type Action, chooseAction } from "./choose-action.js";
import { ClientConnection } from "./client-connection.js";
import { ClientReads } from "./client-reads.js";
import { ClientSession } from "./client-session.js";
import type { ClientWatch } from "./client-watch.js";
import { GuardedWrites } from "./guarded-writes.js";
import { LockActions } from "./lock-actions.js";
import type { TicketBoard } from "./ticket-board.js";
import type { WorldClient } from "./world-client.js";

/** Without any answer for so long a client tries another node. */
const PATIENCE_MS = 600;
const LOOK_AT_TIME_EVERY_MS = 50;
/** The node has no room for an attempt, or the leader behind it: another one may have. */
const FOR_NOW: readonly number[] = [ERROR_NUMBERS.BUSY, ERROR_NUMBERS.DISK_FULL];

export interface ClientSurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  readonly network: ClientNetwork;
  readonly watch: ClientWatch;
  readonly nodes: readonly number[];
  readonly keys: readonly string[];
  readonly semaphores: readonly SemaphorePlan[];
  readonly board: TicketBoard;
}

export class SimClient implements WorldClient {
  readonly host: number;
  readonly plan: ClientPlan;
  readonly #world: ClientSurroundings;
  readonly #random: RandomStream;
  readonly #clock: ProcessClock;
  readonly #life: ProcessLife;
  readonly #connection: ClientConnection;
  readonly #session: ClientSession;
  readonly #lockActions: LockActions;
  readonly #writes: GuardedWrites;
  readonly #reads: ClientReads;
  #isAttached = false;
  /** The last time anything was heard, or asked with nothing else open. */
  #heardMs = 0;
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
    const { network, nodes, keys, semaphores, board } = world;
    const random = world.streams.of(`locks ${plan.host}`);
    const around = { random, mix: plan.locks, keys, semaphores, board, host: plan.host };
    this.#lockActions = new LockActions(around, this.#session);
    this.#reads = new ClientReads(plan.host, world.watch);
    const forWrites = world.streams.of(`writes ${plan.host}`);
    this.#writes = new GuardedWrites(forWrites, plan.locks.write, world.watch);
    const ways = { network, nodes, random: this.#random };
    this.#connection = new ClientConnection(this.host, this.#life, ways, {
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
    return this.#isAttached && this.#session.isIdle;
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    return this.#session.business;
  }

  /** By its own clock. */
  get nowMs(): number {
    return this.#clock.nowMs();
  }

  /** Whether it counts on a hold of this token at this moment. */
  trusts(token: number): boolean {
    return this.#session.holds.of(token)?.isTrusted === true;
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
    const { id: session, nonce, wantsTakeOver } = this.#session;
    // Asked once: whether it came to pass is seen by what becomes of the tokens.
    this.#session.wantsTakeOver = false;
    const { ttlMs } = this.plan;
    const command: AttachCommand =
      session === 0
        ? { op: OP.open, nonce, attempt, ttlMs, name: `client ${this.host}`, metadata: "" }
        : { op: wantsTakeOver ? OP.takeOver : OP.resume, session, nonce, attempt };
    const bytes = encodeCommand(command);
    this.#connection.say((events, connection) => events.onAttach(connection, command, bytes));
  }

  #onAttached(message: Attached): void {
    if (!this.#session.isAnswerToLastAttempt(message)) return;
    if (FOR_NOW.includes(message.status)) {
      this.#connection.leave("no room");
      return;
    }
    this.#world.watch.onAttached(this, message);
    if (message.status !== STATUS.ok) {
      this.#startAnew();
      return;
    }
    this.#session.onAttached(message);
    this.#isAttached = true;
    this.#recall();
  }

  /** Says again what was not answered, and asks what became of the rest. */
  #recall(): void {
    const { calls } = this.#session;
    for (const { command } of calls.open) this.#say(command);
    const questions = this.#session.questions();
    if (questions !== undefined) this.#say({ op: OP.recall, ...calls.read, ...questions });
  }

  /** The session is no more. */
  #startAnew(): void {
    this.#session.startAnew();
    this.#isAttached = false;
    if (this.#connection.isThere) this.#attach();
  }

  // Saying.

  #act(): void {
    const session = this.#session;
    if (!this.isDraining) this.#writes.write();
    if (!this.#isAttached) return;
    if (this.isDraining) {
      this.#giveEverythingBack();
      return;
    }
    if (this.#actionsLeft <= 0) return;
    this.#actionsLeft -= 1;
    if (this.#lockActions.takesOver()) {
      session.handOver();
      this.#connection.leave("for another process");
      return;
    }
    const abandoned = this.#lockActions.abandons();
    if (abandoned !== undefined) {
      this.#release(abandoned);
      return;
    }
    const wish = this.#lockActions.choose(this.#reads);
    if (wish !== undefined) {
      this.#call(wish.command, wish.gives);
      return;
    }
    const present = session.holds.present.filter((belief) => !this.#lockActions.keeps(belief));
    const possessions = {
      holds: present.map(({ token }) => token),
      waits: session.waits,
      seen: this.#reads.tokens,
    };
    this.#do(chooseAction(this.#random, this.plan.mix, this.#world.keys, possessions));
  }

  /** But not what a task holds that stands still: those who wait for each other must be told. */
  #giveEverythingBack(): void {
    const { holds } = this.#session;
    for (const belief of holds.present) {
      if (this.#session.isBlocked(belief.owner) || belief.givingBack > 0) continue;
      this.#release(belief.token);
    }
  }

  #do(action: Action): void {
    const session = this.#session;
    switch (action.kind) {
      case "acquire":
        this.#call(this.#lockActions.acquire(action));
        break;
      case "release":
        this.#release(action.token);
        break;
      case "cancel": {
        const gives = session.giveUpGrantOf(action.target);
        this.#call({ op: OP.cancel, ...session.head(), target: action.target }, gives);
        break;
      }
      case "close":
        session.holds.lapseAll();
        session.holds.isClosing = true;
        this.#call({ op: OP.close, ...session.head() });
        break;
      case "inspect":
        this.#reads.inspect(action.key, this.#connection);
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
    const isLast = belief !== undefined && belief.count - belief.givingBack <= 1;
    if (belief !== undefined && isLast) belief.givenUp = "released";
    this.#call({ op: OP.release, ...this.#session.head(), token }, belief);
  }

  #call(command: SequencedCommand, gives?: Belief): void {
    this.#session.add(command, gives);
    this.#say(command);
  }

  /** The node gets what its gateway reads, not what was written. */
  #say(command: SessionCommand): void {
    const bytes = encodeCommand(command);
    const read = decodeCommand(bytes);
    if (read?.op !== command.op) throw new Error(`cannot be said: ${wordsOf(command)}`);
    const heard = read as SessionCommand;
    this.#connection.say((events, connection) => events.onCommand(connection, heard, bytes));
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
        this.#reads.onAnswer(message, this.session);
        return;
      case MESSAGE.hello:
      case MESSAGE.leader:
      case MESSAGE.changes:
        return;
      case MESSAGE.reply:
        if (message.stamp === 0) {
          this.#session.onRefused(message.sequence, message.result);
          return;
        }
        break;
      default:
    }
    const session = this.#session;
    const { grantCount } = session;
    if (session.hear(message)) this.#startAnew();
    const doubts = session.doubts();
    if (doubts !== undefined) this.#say({ op: OP.recall, ...session.calls.read, ...doubts });
    for (const belief of session.holds.present) this.#writes.learn(belief);
    if (session.grantCount > grantCount) this.#tellGrant();
  }

  #tellGrant(): void {
    const task = this.#onGrant;
    this.#onGrant = () => {};
    task();
  }
}
