/**
 * The session machine: attaches to the cluster, transmits commands exactly once however often the
 * connection breaks, keeps the lease, and gives up every hold before the table may grant it to
 * somebody else. It runs on the ports of `platform.ts` alone, so a simulator can drive it.
 *
 * Whatever happens first in a turn, the lease is looked at before it: a process that was paused
 * must abort its locks before it acts on anything else. ("Sessions and replies".)
 */
import { errorCodeOf, HoldfastError } from "../errors.js";
import {
  type Attached,
  type Hello,
  MESSAGE,
  type ServerMessage,
  type SessionMessage,
  STATUS,
} from "../protocol/index.js";
import { Alarm } from "./alarm.js";
import { Answers } from "./answers.js";
import { Attachment } from "./attachment.js";
import { type Call, CloseCall } from "./call.js";
import { Connection } from "./connection.js";
import { Endpoints } from "./endpoints.js";
import { clientClosed, unavailable } from "./failures.js";
import { Lease } from "./lease.js";
import { LeaseClock } from "./lease-clock.js";
import { Locks, type LocksHost } from "./locks.js";
import { Opening } from "./opening.js";
import type { ClientSettings } from "./options.js";
import { Outgoing } from "./outgoing.js";
import type { Platform } from "./platform.js";
import { type Question, Reads } from "./reads.js";
import { MOVE_PER_TTL, Schedule } from "./schedule.js";
import type { LossReason } from "./types.js";

const HANDSHAKE_TIMEOUT_MS_MAX = 2_000;
const CLOSE_TIMEOUT_MS_MAX = 3_000;

const NEVER = Number.POSITIVE_INFINITY;

export class Session {
  readonly locks: Locks;
  readonly #platform: Platform;
  readonly #settings: ClientSettings;
  readonly #clock: LeaseClock;
  readonly #lease: Lease;
  readonly #alarm: Alarm;
  readonly #endpoints: Endpoints;
  readonly #connection: Connection;
  readonly #outgoing: Outgoing;
  readonly #reads = new Reads(() => this.#settleTurn());
  readonly #attachment: Attachment;
  readonly #answers: Answers;
  readonly #schedule: Schedule;
  readonly #closed = new AbortController();
  #phase: "detached" | "attaching" | "attached" | "ended" = "detached";
  /** Of the node behind the connection, or of the last one. */
  #clusterId = "";
  /** The time of the turn that is being worked on. */
  #nowMs: number;
  #isFlushDue = false;
  #opening: Opening | undefined;
  #closing: Promise<void> | undefined;
  #onEnded: (() => void) | undefined;
  #closingUntilMs = NEVER;

  constructor(platform: Platform, settings: ClientSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#clock = new LeaseClock(platform);
    this.#nowMs = this.#clock.read();
    this.#lease = new Lease(settings.ttlMs);
    this.#attachment = new Attachment(platform, settings);
    this.#alarm = new Alarm(platform, () => this.#onAlarm());
    this.#endpoints = new Endpoints(settings.endpoints, settings.followLeader, platform.random);
    this.#connection = new Connection(
      platform,
      this.#endpoints,
      () => this.#clock.read(),
      Math.min(settings.ttlMs * MOVE_PER_TTL, HANDSHAKE_TIMEOUT_MS_MAX),
      {
        objection: (hello) => this.#objection(hello),
        onReady: (hello) => this.#onReady(hello),
        onMessages: (messages, from) => this.#onMessages(messages, from),
        onLost: () => this.#onLost(),
        onRefused: (error) => this.#end(error),
        onTurnBegin: () => this.#readClock(),
        onTurnEnd: () => this.#settleTurn(),
      },
    );
    this.#outgoing = new Outgoing((frame) => this.#connection.send(frame), platform.random);
    this.locks = new Locks(this.#locksHost(), this.#lease, this.#outgoing.window);
    this.#answers = new Answers(this.#outgoing, this.locks, this.#lease);
    this.#schedule = new Schedule({
      connection: this.#connection,
      attachment: this.#attachment,
      outgoing: this.#outgoing,
      lease: this.#lease,
      locks: this.locks,
      reads: this.#reads,
    });
  }

  get id(): number {
    return this.#attachment.session;
  }

  get endpoints(): readonly string[] {
    return this.#endpoints.urls;
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Connects and opens the session. */
  open(signal: AbortSignal | undefined): Promise<void> {
    const deadlineMs = this.#readClock() + this.#settings.connectTimeoutMs;
    this.#opening = new Opening(deadlineMs, signal, () => this.#end(signal?.reason));
    const { done } = this.#opening;
    this.#connection.start();
    this.#settleTurn();
    return done;
  }

  ask(question: Question, signal: AbortSignal | undefined): Promise<unknown> {
    // First of all, since it may run listeners that close the client or abort the signal.
    const nowMs = this.#readClock();
    if (this.#isEnding) return Promise.reject(clientClosed());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const answer = this.#reads.ask(question, nowMs, this.#settings.connectTimeoutMs, signal);
    this.#scheduleFlush();
    this.#settleTurn();
    return answer;
  }

  /** Ends the session and whatever it holds; waits a bounded time for the cluster to say so. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      // Before anything ends: listeners of what is lost may close too, or ask for something.
      this.#closing = new Promise((resolve) => {
        this.#onEnded = resolve;
      });
      this.#beginClosing();
    }
    return this.#closing;
  }

  #locksHost(): LocksHost {
    const session = this;
    return {
      get isEnding() {
        return session.#isEnding;
      },
      endError: clientClosed,
      tryTimeoutMs: this.#settings.connectTimeoutMs,
      now: () => this.#readClock(),
      turnMs: () => this.#nowMs,
      submit: (call) => this.#submit(call),
      onIdle: () => {
        // While attached, whatever settles a call ends its turn here anyway.
        if (!this.#isAttached) this.#settleTurn();
      },
    };
  }

  get #isEnding(): boolean {
    return this.#closing !== undefined || this.#phase === "ended";
  }

  #submit(call: Call): void {
    if (this.#phase === "ended") return;
    this.#outgoing.window.enqueue(call);
    if (this.#isAttached) this.#scheduleFlush();
    else this.#settleTurn();
  }

  /** Reads the clock and looks at the lease: nothing else may come before it in a turn. */
  #readClock(): number {
    this.#nowMs = this.#clock.read();
    this.locks.lapseIfDue(this.#nowMs);
    return this.#nowMs;
  }

  // Transmitting.

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

  /** Sends whatever may go out now, in one frame. */
  #write(): void {
    if (!this.#isAttached) return;
    this.#outgoing.write(this.#nowMs);
    this.#reads.write(this.#outgoing.frame, this.#nowMs);
    this.#outgoing.frame.end();
  }

  #attach(): void {
    this.#phase = "attaching";
    this.#attachment.send(this.#outgoing.frame, this.#clock.read());
  }

  // Connection events.

  #objection(hello: Hello): string | undefined {
    const isOther = this.id !== 0 && this.#clusterId !== hello.clusterId;
    if (isOther && this.#clock.read() < this.#lease.deadlineMs) {
      return `belongs to another cluster (${hello.clusterId}, not ${this.#clusterId})`;
    }
    return undefined;
  }

  #onReady(hello: Hello): void {
    this.#outgoing.frame.begin(this.#connection.frameBytesMax);
    // A session exists in its own cluster only, and this one is to know nothing of its secret.
    if (this.id !== 0 && this.#clusterId !== hello.clusterId) this.#loseSession("expired");
    this.#clusterId = hello.clusterId;
    this.#attachIfReady();
  }

  #onLost(): void {
    if (this.#phase === "ended") return;
    this.#phase = "detached";
    this.#attachment.disconnect();
    this.#outgoing.disconnect();
    this.#reads.restart(this.#nowMs);
  }

  #onMessages(messages: readonly ServerMessage[], from: number): void {
    for (let i = from; i < messages.length; i++) this.#onMessage(messages[i] as ServerMessage);
    if (this.#outgoing.canWrite(this.#nowMs)) this.#scheduleFlush();
  }

  #onMessage(message: ServerMessage): void {
    switch (message.kind) {
      case MESSAGE.attached:
        if (this.#attachment.isAnswer(message.attempt)) this.#onAttached(message);
        break;
      case MESSAGE.answer:
        this.#reads.onAnswer(message, this.#nowMs);
        break;
      case MESSAGE.leader:
        this.#endpoints.learn(message.endpoints, message.leaderId);
        break;
      case MESSAGE.move:
        this.#connection.move("the node asked its clients to move");
        break;
      case MESSAGE.hello:
        break;
      default:
        // Nothing of an older session, nor behind the end of this connection.
        if (this.#isAttached) this.#onSessionMessage(message);
    }
  }

  #onSessionMessage(message: SessionMessage): void {
    const loss = this.#answers.onMessage(message, this.id, this.#nowMs);
    if (loss === undefined) return;
    this.#loseSession(loss);
    this.#attachIfReady();
  }

  #onAttached(attached: Attached): void {
    const { status, highestSequence } = attached;
    if (status !== STATUS.ok) {
      this.#onAttachRefused(status);
      return;
    }
    if (this.#attachment.session === 0) {
      this.#attachment.session = attached.session;
      this.#lease.reset(attached.ttlMs);
    }
    const { sentMs } = this.#attachment;
    this.#attachment.disconnect();
    this.#phase = "attached";
    this.#connection.served();
    this.#answers.renew(sentMs, this.#nowMs);
    const waiting = this.locks.waits.sequences();
    this.#outgoing.repeat(this.#nowMs, highestSequence, waiting, this.locks.holds.heldTokens());
    this.#write();
    this.#opening?.succeed();
    this.#opening = undefined;
  }

  #onAttachRefused(status: number): void {
    const code = errorCodeOf(status) ?? "PROTOCOL";
    const hadSession = this.id !== 0;
    if (code === "SESSION_EXPIRED" || (code === "FORBIDDEN" && hadSession)) {
      this.#loseSession("expired");
      if (hadSession) {
        this.#attachIfReady();
        return;
      }
    } else if (code !== "BUSY" && code !== "UNAVAILABLE") {
      this.#end(new HoldfastError(code, `the cluster refused the session: ${code}`));
      return;
    }
    this.#attachment.refused(this.#nowMs + this.#outgoing.nextPauseMs());
  }

  // Ends.

  /** Not if a listener of what was lost closed the client. */
  #attachIfReady(): void {
    if (this.#connection.isReady) this.#attach();
  }

  #loseSession(reason: LossReason): void {
    this.#attachment.reset();
    this.#lease.reset(this.#settings.ttlMs);
    this.#outgoing.pulses.clear();
    this.locks.onSessionLost(reason);
  }

  #beginClosing(): void {
    if (this.#phase === "ended") {
      this.#onEnded?.();
      return;
    }
    const error = clientClosed();
    const patienceMs = Math.min(this.#settings.ttlMs * MOVE_PER_TTL, CLOSE_TIMEOUT_MS_MAX);
    this.#closingUntilMs = this.#readClock() + patienceMs;
    this.locks.onClosing(error);
    this.#reads.rejectAll(error);
    if (this.id === 0) this.#end(error);
    else this.#submit(new CloseCall(() => this.#end(error)));
  }

  /** The client is of no use any more: closed, or refused by the cluster. */
  #end(reason: unknown): void {
    if (this.#phase === "ended") return;
    this.#phase = "ended";
    this.#connection.stop();
    this.#alarm.cancel();
    this.#attachment.reset();
    this.locks.onEnded(reason, this.#closing === undefined ? "unknown" : "closed");
    this.#reads.rejectAll(reason);
    this.#opening?.fail(reason);
    this.#closed.abort(reason);
    this.#onEnded?.();
  }

  // Time.

  #onAlarm(): void {
    this.#readClock();
    const nowMs = this.#nowMs;
    this.#connection.onAlarm(nowMs);
    if (nowMs >= this.#attachment.againAtMs) this.#attach();
    if (nowMs >= this.#schedule.moveMs(this.#isAttached)) {
      this.#connection.move("no answer in time");
    }
    if (nowMs >= this.#schedule.keepaliveMs(this.#isAttached)) this.#outgoing.keepalive(nowMs);
    this.#write();
    const { lastFailure } = this.#connection;
    this.locks.waits.onAlarm(nowMs, this.#outgoing.window, lastFailure);
    this.#reads.onAlarm(nowMs, lastFailure);
    if (nowMs >= (this.#opening?.deadlineMs ?? NEVER)) {
      this.#end(unavailable("no node serves", lastFailure));
    }
    if (nowMs >= this.#closingUntilMs) this.#end(clientClosed());
    this.#settleTurn();
  }

  get #isAttached(): boolean {
    return this.#phase === "attached";
  }

  /** The end of every turn: what waits for evidence asks for it, and the one timer is set. */
  #settleTurn(): void {
    if (this.#phase === "ended") return;
    const isAttached = this.#isAttached;
    if (isAttached && this.locks.holds.wantsEvidence && this.#outgoing.pulses.size === 0) {
      this.#outgoing.keepalive(this.#nowMs);
      this.#outgoing.frame.end();
    }
    const dueMs = Math.min(
      this.#schedule.nextMs(isAttached, this.#nowMs),
      this.#opening?.deadlineMs ?? NEVER,
      this.#closingUntilMs,
    );
    this.#alarm.need(dueMs, this.#nowMs);
    const isBusy =
      this.locks.isBusy ||
      this.#reads.size > 0 ||
      this.#opening !== undefined ||
      this.#closing !== undefined;
    this.#alarm.setKeepsProcess(isBusy);
    this.#connection.setKeepsProcess(isBusy);
  }
}
