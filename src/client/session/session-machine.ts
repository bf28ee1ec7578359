/**
 * The session machine: attaches to the cluster, transmits commands exactly once however often the
 * connection breaks, keeps the lease, and gives up every hold before the table may grant it to
 * others. It uses only the ports of `platform.ts`, so a simulator can drive it.
 *
 * In each turn the lease is checked before anything else: a process that was paused must abort its
 * locks before it acts on any other input. (semantics.md, 3.)
 */
import { HoldfastError } from "../../errors/index.js";
import { MESSAGE, SECRET_BYTES, type ServerMessage } from "../../protocol/index.js";
import { type Call, CloseCall } from "../calls/call.js";
import { Outgoing } from "../calls/outgoing.js";
import { clientClosed, clientHandedOver, type LossReason, unavailable } from "../failures.js";
import { Claims, type ClaimsHost } from "../locks/claims.js";
import { Locks, type LocksHost } from "../locks/locks.js";
import type { ClientSettings } from "../options/connect-options.js";
import { type HandedOver, handedOver } from "../options/hand-over-options.js";
import type { Task } from "../options/task.js";
import type { Question, WatchWish } from "../options/view-options.js";
import { AFTER_NO_COMMANDS, Questions } from "../reads/questions.js";
import type { WatchStream } from "../reads/watch-stream.js";
import { Watches } from "../reads/watches.js";
import { LeaseClock } from "../session-lease/lease-clock.js";
import { SessionLease } from "../session-lease/session-lease.js";
import { Alarm } from "../transport/alarm.js";
import { ClientLog } from "../transport/client-log.js";
import { Connection } from "../transport/connection.js";
import { Endpoints } from "../transport/endpoints.js";
import type { Platform, TaskContext } from "../transport/platform.js";
import { Answers } from "./answers.js";
import { Attacher, AttachState, freshSecret } from "./attacher.js";
import { Departure } from "./departure.js";
import { Lifetime, Opening } from "./lifetime.js";
import { PATIENCE_PER_TTL, Schedule } from "./schedule.js";

const HANDSHAKE_TIMEOUT_MS_MAX = 2_000;
/** Long enough to leave a silent node; a lease that is shorter ends by itself before that. */
const CLOSE_TIMEOUT_MS_MAX = 5_000;

export class SessionMachine {
  readonly locks: Locks;
  readonly #platform: Platform;
  readonly #settings: ClientSettings;
  readonly #log: ClientLog;
  readonly #clock: LeaseClock;
  readonly #lease: SessionLease;
  readonly #alarm: Alarm;
  readonly #endpoints: Endpoints;
  readonly #connection: Connection;
  readonly #outgoing: Outgoing;
  readonly #questions: Questions;
  readonly #watches: Watches;
  readonly #attachState: AttachState;
  readonly #attacher: Attacher;
  readonly #claims: Claims;
  readonly #answers: Answers;
  readonly #schedule: Schedule;
  readonly #lifetime = new Lifetime();
  #isEnded = false;
  /** The time of the current turn. */
  #nowMs: number;
  #isFlushDue = false;
  #departure: Departure | undefined;

  constructor(platform: Platform, settings: ClientSettings, context?: TaskContext<Task>) {
    this.#platform = platform;
    this.#settings = settings;
    this.#log = new ClientLog(settings.logger, platform);
    platform.allowListeners?.(this.#lifetime.closed);
    this.#clock = new LeaseClock(platform);
    this.#nowMs = this.#clock.read();
    this.#lease = new SessionLease(settings.ttlMs);
    this.#attachState = new AttachState(platform, settings);
    this.#alarm = new Alarm(platform, () => this.#onAlarm());
    this.#endpoints = new Endpoints(settings.endpoints, settings.followLeader, platform.random);
    this.#connection = new Connection(
      platform,
      this.#endpoints,
      () => this.#clock.read(),
      Math.min(settings.ttlMs * PATIENCE_PER_TTL, HANDSHAKE_TIMEOUT_MS_MAX),
      settings.token,
      this.#log,
      {
        objection: (hello) => this.#attacher.objection(hello),
        onReady: (hello) => this.#attacher.onReady(hello),
        onMessages: (messages, from) => this.#onMessages(messages, from),
        onLost: () => this.#onLost(),
        onRefused: (error) => this.#end(error),
        isOneOfMany: true,
        onTurnBegin: () => this.#readClock(),
        onTurnEnd: () => this.#settleTurn(),
      },
    );
    const send = (frame: Uint8Array): void => this.#connection.send(frame);
    this.#outgoing = new Outgoing(send, platform.random, this.#log);
    const host = this.#locksHost(context);
    this.#claims = new Claims(host, this.#lease, this.#outgoing);
    this.locks = new Locks(host, this.#claims);
    this.#answers = new Answers(this.#outgoing, this.#claims, this.#lease);
    this.#questions = new Questions(platform.random, () => this.#settleTurn());
    this.#watches = new Watches({
      random: platform.random,
      now: () => this.#nowMs,
      nextId: () => this.#questions.nextId(),
      onChange: () => {
        this.#scheduleFlush();
        this.#settleTurn();
      },
    });
    const parts = {
      connection: this.#connection,
      attachState: this.#attachState,
      outgoing: this.#outgoing,
      answers: this.#answers,
      lease: this.#lease,
      claims: this.#claims,
      questions: this.#questions,
      watches: this.#watches,
      lifetime: this.#lifetime,
    };
    this.#attacher = new Attacher(parts, {
      ttlMs: settings.ttlMs,
      log: this.#log,
      clock: () => this.#clock.read(),
      goesOn: () => this.#goesOn(),
      end: (reason) => this.#end(reason),
    });
    this.#schedule = new Schedule(parts);
  }

  get id(): number {
    return this.#attachState.session;
  }

  /** The endpoint of the node behind the connection; "" while there is none. */
  get endpoint(): string {
    return this.#connection.endpoint;
  }

  /** "" before there was a session. */
  get clusterId(): string {
    return this.#attacher.clusterId;
  }

  get endpoints(): readonly string[] {
    return this.#endpoints.urls;
  }

  get closed(): AbortSignal {
    return this.#lifetime.closed;
  }

  /** Connects, and opens the session. */
  open(signal: AbortSignal | undefined): Promise<void> {
    const nowMs = this.#readClock();
    const { connectTimeoutMs } = this.#settings;
    const end = (): void => this.#end(signal?.reason);
    const done = this.#lifetime.begin(new Opening(nowMs + connectTimeoutMs, signal, end));
    this.#connection.start();
    this.#settleTurn();
    return done;
  }

  /**
   * `isAfterCommands`: only after the cluster has answered every command that was called earlier.
   */
  ask(
    question: Question,
    signal: AbortSignal | undefined,
    isAfterCommands = false,
  ): Promise<unknown> {
    // First, since it may run listeners that close the client or abort the signal.
    const nowMs = this.#readClock();
    if (this.#isEnding) return Promise.reject(this.#endError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { connectTimeoutMs } = this.#settings;
    const afterOrder = isAfterCommands ? this.#outgoing.window.lastOrder : AFTER_NO_COMMANDS;
    const answer = this.#questions.ask(question, nowMs, connectTimeoutMs, signal, afterOrder);
    this.#scheduleFlush();
    this.#settleTurn();
    return answer;
  }

  watch(wish: WatchWish): WatchStream {
    this.#readClock();
    if (this.#isEnding) throw this.#endError();
    wish.signal?.throwIfAborted();
    return this.#watches.open(wish);
  }

  /** 32 random hex digits that cannot be guessed. */
  freshSecret(): string {
    return freshSecret(this.#platform, SECRET_BYTES);
  }

  /** Ends the session and everything it holds; waits a limited time for the cluster's answer. */
  close(): Promise<void> {
    return this.#lifetime.close(() => this.#beginClosing());
  }

  /** Hands over what is held, so that another process can go on with it, and ends this client. */
  handOver(ttlMs: number): Promise<HandedOver> {
    const nowMs = this.#readClock();
    if (this.#isEnding) throw this.#endError();
    if (this.#departure !== undefined) throw clientHandedOver();
    return new Promise((resolve, reject) => {
      const untilMs = nowMs + this.#settings.connectTimeoutMs;
      this.#departure = new Departure(ttlMs, untilMs, { resolve, reject });
      this.#departIfAttached();
    });
  }

  /** What is to go goes as soon as a connection has the session. */
  #departIfAttached(): void {
    if (this.#isAttached) {
      this.#claims.handOvers.depart();
      this.#depart();
    }
    this.#settleTurn();
  }

  #depart(): void {
    const departure = this.#departure;
    if (departure === undefined || departure.hasBegun) return;
    departure.hasBegun = true;
    const error = clientHandedOver();
    const { clusterId } = this;
    this.#lifetime.closeBy(this.#nowMs + this.#patienceMs);
    this.#questions.rejectAll(error);
    this.#watches.endAll(error);
    void this.#claims.departAll(departure.ttlMs, error).then((handed) => {
      departure.settle(handedOver({ clusterId, ...handed }));
      // What is not certain is left to the lease. Locks that go by themselves go first.
      if (handed.confirmed) this.#submit(new CloseCall(true, () => this.#end(error)));
      else this.#end(error);
    });
  }

  #giveUpDeparture(lastFailure: string): void {
    const departure = this.#departure;
    if (departure === undefined || this.#nowMs < departure.waitsUntilMs) return;
    this.#departure = undefined;
    departure.end(unavailable("the hand-over", lastFailure, false));
  }

  #locksHost(context: TaskContext<Task> | undefined): LocksHost & ClaimsHost {
    const session = this;
    return {
      get sessionId() {
        return session.id;
      },
      get endpoint() {
        return session.endpoint;
      },
      get isEnding() {
        return session.#isEnding;
      },
      get clusterId() {
        return session.clusterId;
      },
      endError: () => session.#endError(),
      context,
      tracing: this.#platform.tracing,
      log: this.#log,
      capturesStacks: this.#settings.captureStacks,
      tryTimeoutMs: this.#settings.connectTimeoutMs,
      now: () => this.#readClock(),
      turnMs: () => this.#nowMs,
      submit: (call) => this.#submit(call),
      departWhenAttached: () => this.#departIfAttached(),
      freshSecret: () => this.freshSecret(),
      allowListeners: (signal) => this.#platform.allowListeners?.(signal),
      onIdle: () => {
        // While attached, anything that settles a call ends its turn here anyway.
        if (!this.#isAttached) this.#settleTurn();
      },
    };
  }

  get #isEnding(): boolean {
    return this.#lifetime.isClosing || this.#isEnded || this.#isDeparting;
  }

  #endError(): Error {
    return this.#isDeparting ? clientHandedOver() : clientClosed();
  }

  get #isDeparting(): boolean {
    return this.#departure?.hasBegun === true;
  }

  #submit(call: Call): void {
    if (this.#isEnded) return;
    this.#outgoing.window.enqueue(call);
    if (this.#isAttached) this.#scheduleFlush();
    else this.#settleTurn();
  }

  /** Reads the clock and checks the lease: nothing else may come before it in a turn. */
  #readClock(): number {
    this.#nowMs = this.#clock.read();
    this.#claims.lapseIfDue(this.#nowMs);
    return this.#nowMs;
  }

  // Transmission.

  #scheduleFlush(): void {
    if (this.#isFlushDue || !this.#isAttached) return;
    this.#isFlushDue = true;
    this.#platform.soon(() => {
      this.#isFlushDue = false;
      this.#readClock();
      this.#write();
      this.#settleTurn();
    });
  }

  /** Sends everything that is due, in one frame. */
  #write(): void {
    if (!this.#isAttached) return;
    this.#outgoing.write(this.#nowMs);
    if (this.#questions.size > 0) {
      const { answeredUpTo } = this.#outgoing.window;
      this.#questions.write(this.#outgoing.frame, this.#nowMs, answeredUpTo);
    }
    this.#watches.write(this.#outgoing.frame, this.#nowMs);
    this.#outgoing.frame.end();
  }

  // Connection events.

  #onLost(): void {
    if (this.#isEnded) return;
    this.#attacher.disconnect();
    this.#questions.restart(this.#nowMs);
    this.#watches.restart(this.#nowMs);
  }

  #onMessages(messages: readonly ServerMessage[], from: number): void {
    for (let i = from; i < messages.length; i++) this.#onMessage(messages[i] as ServerMessage);
    if (this.#outgoing.canWrite(this.#nowMs) || this.#canAsk) this.#scheduleFlush();
  }

  /** Whether a question that waited for the answers of commands can now be asked. */
  get #canAsk(): boolean {
    if (this.#questions.size === 0) return false;
    return this.#questions.dueMs(true, this.#outgoing.window.answeredUpTo) <= this.#nowMs;
  }

  #onMessage(message: ServerMessage): void {
    switch (message.kind) {
      case MESSAGE.attached:
        this.#attacher.onAttached(message, this.#nowMs);
        this.#departIfAttached();
        this.#write();
        break;
      case MESSAGE.answer:
        if (!this.#watches.onAnswer(message, this.#nowMs)) {
          this.#questions.onAnswer(message, this.#nowMs);
        }
        break;
      case MESSAGE.changes:
        this.#watches.onChanges(message, this.#nowMs);
        break;
      case MESSAGE.leader:
        this.#endpoints.learn(message.endpoints, message.leaderId);
        break;
      case MESSAGE.move:
        this.#connection.move("the node asked its clients to move");
        break;
      case MESSAGE.hello:
        break;
      case MESSAGE.refused:
        if (this.#isAttached) {
          const { sequence, status } = message;
          this.#outgoing.onRefused(sequence, status, this.#nowMs, this.#lease.ttlMs);
        }
        break;
      case MESSAGE.ended:
        if (this.#isAttached) this.#attacher.onEnded(message);
        break;
      default:
        // No messages of an older session, and none after the end of this connection.
        if (this.#isAttached) this.#answers.onMessage(message, this.#nowMs);
    }
  }

  // Ends.

  #beginClosing(): void {
    if (this.#isEnded) {
      this.#lifetime.end(clientClosed());
      return;
    }
    // The client ends anyway, in a moment.
    if (this.#isDeparting) return;
    const error = clientClosed();
    this.#lifetime.closeBy(this.#readClock() + this.#patienceMs);
    this.#claims.onClosing(error);
    this.#questions.rejectAll(error);
    this.#watches.endAll(error);
    if (this.id === 0) this.#end(error);
    else this.#submit(new CloseCall(false, () => this.#end(error)));
  }

  get #patienceMs(): number {
    return Math.min(this.#settings.ttlMs, CLOSE_TIMEOUT_MS_MAX);
  }

  /** The session is over. Returns whether another one may take its place. */
  #goesOn(): boolean {
    if (this.#isDeparting) this.#end(clientHandedOver());
    return !this.#isEnded;
  }

  /** The client cannot be used any more: it was closed, has handed its locks over, or was refused by the cluster. */
  #end(reason: unknown, loss?: LossReason): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#log.info("the client has ended", { why: reason instanceof Error ? reason.message : "" });
    this.#connection.stop();
    this.#alarm.cancel();
    this.#attachState.reset();
    const isWished = this.#lifetime.isClosing || this.#isDeparting;
    this.#claims.onEnded(reason, loss ?? (isWished ? "closed" : lossBy(reason)));
    this.#questions.rejectAll(reason);
    this.#watches.endAll(reason);
    this.#lifetime.end(reason);
    this.#departure?.end(reason);
  }

  // Time.

  #onAlarm(): void {
    this.#readClock();
    const nowMs = this.#nowMs;
    this.#connection.onAlarm(nowMs);
    if (nowMs >= this.#attachState.againAtMs) this.#attacher.attach();
    if (nowMs >= this.#schedule.moveMs(this.#isAttached)) {
      this.#connection.move("no answer in time");
    }
    if (nowMs >= this.#schedule.keepaliveMs(this.#isAttached)) this.#outgoing.keepalive(nowMs);
    this.#write();
    const { lastFailure } = this.#connection;
    this.#claims.waiters.onAlarm(nowMs, lastFailure);
    this.#questions.onAlarm(nowMs, lastFailure);
    if (nowMs >= this.#lifetime.openingUntilMs) {
      const why = this.#connection.whyNobodyServes(this.#settings.endpoints);
      this.#end(unavailable("no node serves", why, false));
    }
    if (nowMs >= this.#lifetime.closingUntilMs) this.#end(this.#endError());
    this.#giveUpDeparture(lastFailure);
    this.#settleTurn();
  }

  get #isAttached(): boolean {
    return this.#attacher.isAttached && !this.#isEnded;
  }

  /**
   * At the end of a turn: sends requests for evidence if anything waits for it, and sets the timer.
   */
  #settleTurn(): void {
    if (this.#isEnded) return;
    const claims = this.#claims;
    const { keepalives, frame } = this.#outgoing;
    const isAttached = this.#isAttached;
    if (isAttached) {
      if (claims.wantsEvidence && keepalives.size === 0) this.#outgoing.keepalive(this.#nowMs);
      frame.end();
      if (!claims.wantsEvidence && !keepalives.isCatchingUp) this.#lifetime.opened();
    }
    this.#connection.setAwaited(this.#schedule.isAwaiting(isAttached));
    const untilMs = this.#departure?.waitsUntilMs ?? Number.POSITIVE_INFINITY;
    const dueMs = Math.min(untilMs, this.#schedule.nextMs(isAttached, this.#nowMs));
    this.#alarm.need(dueMs, this.#nowMs, this.#clock.skippedMs);
    const isBusy =
      claims.isBusy ||
      this.#questions.size > 0 ||
      this.#watches.isBusy ||
      this.#lifetime.isOpening ||
      this.#lifetime.isClosing ||
      this.#departure !== undefined;
    this.#alarm.setKeepsProcess(isBusy);
    this.#connection.setKeepsProcess(isBusy);
  }
}

/** What becomes of the locks of a client that ends for that reason and not by its own will. */
function lossBy(reason: unknown): LossReason {
  const isRefused = reason instanceof HoldfastError && reason.code === "UNAUTHENTICATED";
  return isRefused ? "unauthenticated" : "unknown";
}
