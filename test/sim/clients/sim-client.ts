/**
 * A client that speaks the protocol by itself: it connects to one node or another, opens a session,
 * acquires, waits, releases, gives up and reads, says again under other numbers what was refused, and
 * trusts its lease exactly as long as the rules of the SDK say, by a clock of its own. What it does next comes
 * from its own stream of random numbers; what it hears goes to the checkers word by word.
 */

import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import type { ProcessClock } from "../../../lab/simulated/process-clock.js";
import { ProcessLife } from "../../../lab/simulated/process-life.js";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  type AttachCommand,
  type Attached,
  MESSAGE,
  OP,
  type Refused,
  type ServerMessage,
  type SessionCommand,
  type SessionMessage,
  STATUS,
} from "../../../src/protocol/index.js";
import { decodeCommand, encodeCommand } from "../../protocol/command-bytes.js";
import type { ViewedConnection } from "../checks/access/viewed-connection.js";
import { canonicalTextOf } from "../checks/canonical-text.js";
import type { Simulation } from "../engine/simulation.js";
import type { ClientPlan } from "../plan/client-plan.js";
import type { SemaphorePlan } from "../plan/plan.js";
import type { ClientNetwork } from "../world/network/client-network.js";
import { driftingClock } from "../world/node/drifting-clock.js";
import type { Keyring } from "./access/keyring.js";
import { SIGN_IN_ID, SignedLine } from "./access/signed-line.js";
import type { HeldBelief } from "./belief.js";
import { breachOf } from "./breach.js";
import { type Action, chooseAction } from "./choose-action.js";
import type { ClientWatch } from "./client-watch.js";
import { GuardedWrites } from "./guarded-writes.js";
import type { HandOverBoard } from "./hand-over-board.js";
import type { DoorAnswer, LeaseDoor, LeaseWish } from "./leases/lease-door.js";
import { LockActions } from "./lock-actions.js";
import type { Call, Wish } from "./protocol/call.js";
import { ClientConnection } from "./protocol/client-connection.js";
import { ClientReads } from "./protocol/client-reads.js";
import { ClientSession } from "./protocol/client-session.js";
import { SIGHTINGS } from "./sightings.js";
import type { WorldClient } from "./world-client.js";

/** Without any answer for so long a client tries another node. */
const PATIENCE_MS = 600;
const LOOK_AT_TIME_EVERY_MS = 50;
/** Between a refusal and the next try. */
const PAUSE_MS = { least: 20, most: 200 } as const;
/** Until it asks again that may not have a session. */
const UNWANTED_PAUSE_MS = 250;
/**
 * The share of attachments after which somebody else who knows the secret tries to have the
 * session.
 */
const INTRUSION_SHARE = 0.15;
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
  readonly board: HandOverBoard;
  /** `undefined`: everybody may do everything. */
  readonly keyring: Keyring | undefined;
}

export class SimClient implements WorldClient, LeaseDoor {
  readonly host: number;
  readonly plan: ClientPlan;
  readonly #world: ClientSurroundings;
  readonly #random: RandomStream;
  readonly #forAccess: RandomStream;
  readonly #clock: ProcessClock;
  readonly #life: ProcessLife;
  readonly #connection: ClientConnection;
  readonly #session: ClientSession;
  readonly #lockActions: LockActions;
  readonly #writes: GuardedWrites;
  readonly #reads: ClientReads;
  #isAttached = false;
  /** Where not everybody may do everything. */
  #viewed: ViewedConnection | undefined;
  /** The hellos of this connection: the second one says that the token was accepted. */
  #hellos = 0;
  #isSignedIn = false;
  /** It was last told that it may not have its session, or none. */
  #isUnwanted = false;
  /** In which it has its session, or had. */
  #clusterId = "";
  /** The node is of another cluster than the session. */
  #isAmongStrangers = false;
  /** How it last asked for its session. */
  #way: AttachCommand["op"] = OP.open;
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
    this.#forAccess = world.streams.of(`access ${plan.host}`);
    this.#clock = driftingClock(world.simulation, world.streams.of(`clock ${plan.host}`));
    this.#life = new ProcessLife(world.simulation);
    this.#session = new ClientSession(this, this.#clock, world.watch);
    this.#actionsLeft = plan.actions;
    const { network, nodes, keys, semaphores, board } = world;
    const random = world.streams.of(`locks ${plan.host}`);
    const clusterId = (): string => this.#clusterId;
    const own = { random, mix: plan.locks, host: plan.host, clusterId };
    const around = { ...own, keys, semaphores, board };
    this.#lockActions = new LockActions(around, this.#session);
    this.#reads = new ClientReads(plan.host, world.watch);
    const forWrites = world.streams.of(`writes ${plan.host}`);
    this.#writes = new GuardedWrites(forWrites, plan.locks.write, world.watch);
    const ways = { network, nodes, random: this.#random };
    this.#connection = new ClientConnection(this.host, this.#life, ways, {
      onOpen: (node) => this.#begin(node),
      onMessage: (message) => this.#take(message),
      onSentAway: (ending) => {
        const breach = breachOf(ending);
        const isExcused = this.#viewed?.excuses(ending) === true;
        if (isExcused) this.#isUnwanted = true;
        else if (breach !== undefined) world.watch.onBroken(this, "the protocol is kept", breach);
      },
      onLeft: () => {
        this.#isAttached = false;
        this.#isSignedIn = false;
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

  get isAsking(): boolean {
    return !this.#isAttached || this.#session.waitsForAnswer;
  }

  get isWaiting(): boolean {
    return this.#session.waits.length > 0;
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    return this.#session.business;
  }

  /** By its own clock. */
  get nowMs(): number {
    return this.#clock.nowMs();
  }

  get trusted(): readonly HeldBelief[] {
    return this.#session.holds.trusted;
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

  /** As a door: somebody without a session wants that. */
  ask(wish: LeaseWish, heard: (answer: DoorAnswer | undefined) => void): () => void {
    let call: Call | undefined;
    this.#life.deliver(() => {
      call = this.#session.calls.add(wish);
      call.listen(heard);
      this.#pump();
    });
    return () => {
      this.#life.deliver(() => {
        if (call !== undefined) this.#session.leaveTake(call);
        this.#pump();
      });
    };
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

  #begin(node: number): void {
    this.#viewed = this.#world.watch.viewOf(node);
    this.#hellos = 0;
    if (this.#world.keyring === undefined) this.#attach();
  }

  /** The node is ready to hear who it is. */
  #introduce(keyring: Keyring): void {
    const token = keyring.tokenOf(this.host);
    if (token === undefined) {
      this.#attach();
      return;
    }
    const query = { op: OP.signIn, id: SIGN_IN_ID, token } as const;
    this.#viewed?.said(query);
    this.#connection.say((events, connection) => events.onQuery(connection, query));
  }

  #onGreeted(): void {
    const { keyring } = this.#world;
    if (keyring === undefined) return;
    this.#hellos += 1;
    if (this.#hellos === 1) this.#introduce(keyring);
    if (this.#hellos !== 2) return;
    this.#isSignedIn = true;
    this.#attach();
  }

  #beUnwanted(why: string): void {
    this.#isUnwanted = true;
    this.#connection.leave(why, UNWANTED_PAUSE_MS);
  }

  #attach(): void {
    const session = this.#session;
    const command = session.nextAttach();
    this.#way = command.op;
    const bytes = encodeCommand(command);
    this.#viewed?.said(command);
    this.#connection.say((events, connection) => events.onAttach(connection, command, bytes));
  }

  #onAttached(message: Attached): void {
    const session = this.#session;
    if (!session.isAnswerToLastAttempt(message)) return;
    if (FOR_NOW.includes(message.status)) {
      this.#connection.leave("no room");
      return;
    }
    this.#world.watch.onAttached(this, message);
    if (message.status === ERROR_NUMBERS.UNAVAILABLE) {
      this.#connection.leave("the cluster opens no session yet");
      return;
    }
    // Strangers know nothing of its session, which may be as good as before in its own cluster.
    if (message.status !== STATUS.ok && this.#isAmongStrangers && session.trustsLease) {
      this.#connection.leave("the node is of another cluster");
      return;
    }
    const isStranger = message.status === ERROR_NUMBERS.UNAUTHENTICATED;
    if (isStranger || (message.status === ERROR_NUMBERS.FORBIDDEN && this.session === 0)) {
      this.#beUnwanted("may have no session");
      return;
    }
    if (message.status !== STATUS.ok) {
      this.#startAnew();
      return;
    }
    session.onAttached(message);
    this.#isAttached = true;
    this.#isUnwanted = false;
    if (this.#isSignedIn) this.#inviteIntruder();
    const questions = session.questions();
    if (questions !== undefined) this.#say({ op: OP.recall, ...session.calls.read, ...questions });
    this.#pump();
  }

  /** Somebody with another identity has got hold of the secret of the session. */
  #inviteIntruder(): void {
    const { keyring, nodes } = this.#world;
    const random = this.#forAccess;
    if (keyring === undefined || !random.chance(INTRUSION_SHARE)) return;
    const token = random.pickOrNone(keyring.foreignTo(this.host));
    if (token !== undefined) this.#askFor(this.#session.intruder(), random.pick(nodes), token);
  }

  /** Once, on a connection of its own; whether it had to be refused the laws know. */
  #askFor(command: AttachCommand, node: number, token: string | undefined): void {
    const { network, watch } = this.#world;
    const view = (to: number): ViewedConnection | undefined => watch.viewOf(to);
    const ways = { network, host: this.host, waitsForHello: true, view };
    new SignedLine(ways, node, token, {
      onReady: (line) => line.attach(command),
      onMessage: (message, line) => {
        if (message.kind === MESSAGE.attached) line.leave();
      },
      onClosed: () => {},
    });
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
    if (this.#lockActions.departs()) {
      for (const wish of this.#lockActions.depart()) this.#call(wish);
      return;
    }
    const abandon = this.#lockActions.abandons();
    if (abandon !== undefined) {
      this.#call(abandon());
      return;
    }
    const wish = this.#lockActions.choose(this.#reads);
    if (wish !== undefined) {
      this.#call(wish);
      return;
    }
    const present = session.holds.present.filter((belief) => !this.#lockActions.keeps(belief));
    const possessions = {
      holds: present,
      waits: session.waits,
      seen: this.#reads.sequences,
    };
    this.#do(chooseAction(this.#random, this.plan.mix, this.#world.keys, possessions));
  }

  /** Except what a blocked task holds: tasks that wait for each other must get an error. */
  #giveEverythingBack(): void {
    const session = this.#session;
    for (const belief of session.holds.present) {
      if (!session.isBlocked(belief.task)) this.#call(session.giveBack(belief));
    }
  }

  #do(action: Action): void {
    const session = this.#session;
    switch (action.kind) {
      case "acquire":
        this.#call(this.#lockActions.acquire(action));
        break;
      case "release":
        if (this.#lockActions.endsAgain()) session.calls.add(session.giveBack(action.belief));
        this.#call(session.giveBack(action.belief));
        break;
      case "leave":
        this.#call(session.leave(action.call));
        break;
      case "meddle":
        this.#call(this.#lockActions.meddle(action.target));
        break;
      case "close":
        this.#call(session.close());
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

  #inspect(key: string): void {
    const query = this.#reads.inspect(key, this.#connection);
    this.#viewed?.said(query);
  }

  /** `undefined`: what is to be said is there already. */
  #call(wish: Wish | undefined): void {
    if (wish !== undefined) this.#session.calls.add(wish);
    this.#pump();
  }

  /** Sends what may go now. */
  #pump(): void {
    if (!this.#isAttached) return;
    const session = this.#session;
    for (let next = session.takeNext(); next !== undefined; next = session.takeNext()) {
      const { call, command } = next;
      this.#say(command, call);
    }
  }

  /** The node gets what its gateway reads, not what was written. */
  #say(command: SessionCommand, call?: Call): void {
    const bytes = encodeCommand(command);
    const read = decodeCommand(bytes);
    if (read?.op !== command.op) throw new Error(`cannot be said: ${canonicalTextOf(command)}`);
    const heard = read as SessionCommand;
    if (call !== undefined && "sequence" in heard) {
      const { session } = this;
      const { epoch } = this.#session;
      this.#world.watch.onSaid({ session, epoch, command: heard, order: call.order });
    }
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
    // Its session may go on without it, and ends with its lease at the latest.
    if (this.#isUnwanted && this.session !== 0 && !this.#session.trustsLease) {
      this.#session.startAnew();
      // What it asked last about the session may be answered yet.
      this.#connection.leave("gives its session up");
    }
    if (!this.#connection.isThere) return;
    const isWaiting = !this.#isAttached || this.#session.waitsForAnswer;
    if (!isWaiting) this.#heardMs = nowMs;
    // A node that has no room for a recall does not answer it, and goes on with the rest.
    else if (nowMs - this.#session.recalledMs > PATIENCE_MS) this.#connection.leave("no recall");
    else if (nowMs - this.#heardMs > PATIENCE_MS) this.#connection.leave("nobody answers");
  }

  // Hearing.

  #take(message: ServerMessage): void {
    this.#heardMs = this.#clock.nowMs();
    this.#session.lookAtTime();
    this.#world.watch.onHeard(this.#way, message);
    this.#viewed?.heard(message);
    switch (message.kind) {
      case MESSAGE.attached:
        this.#onAttached(message);
        return;
      case MESSAGE.move:
        this.#connection.leave("told to move");
        return;
      case MESSAGE.answer:
        if (message.id === SIGN_IN_ID) this.#beUnwanted("is not let in");
        else this.#reads.onAnswer(message, this.session);
        return;
      case MESSAGE.refused:
        this.#onRefused(message);
        return;
      case MESSAGE.hello:
        this.#isAmongStrangers = this.session !== 0 && this.#clusterId !== message.clusterId;
        if (this.session === 0) this.#clusterId = message.clusterId;
        this.#onGreeted();
        return;
      case MESSAGE.leader:
      case MESSAGE.changes:
        return;
      default:
        this.#hear(message);
    }
  }

  #hear(message: SessionMessage): void {
    const session = this.#session;
    const { grantCount } = session;
    if (session.hear(message)) this.#startAnew();
    this.#pump();
    for (const belief of session.holds.present) this.#writes.learn(belief);
    if (session.grantCount > grantCount) this.#tellGrant();
  }

  #onRefused(message: Refused): void {
    const { watch, simulation } = this.#world;
    const session = this.#session;
    // The last words about a session that this client has buried already.
    if (session.id === 0) return;
    watch.onSeen(SIGHTINGS.refused(message.status));
    const problem = session.onRefused(message);
    if (problem !== undefined) watch.onBroken(this, "refused at admission only", problem);
    const { calls } = session;
    this.#pump();
    simulation.after(this.#random.integer(PAUSE_MS.least, PAUSE_MS.most), () => {
      this.#life.deliver(() => {
        calls.endPause();
        this.#pump();
      });
    });
  }

  #tellGrant(): void {
    const task = this.#onGrant;
    this.#onGrant = () => {};
    task();
  }
}
