/**
 * Carries operators' requests to the cluster without a session. It is connected while something is
 * asked and for a moment afterwards: a node sends away who stays and asks for nothing, and an idle
 * operator's tool has no reason to come back. It runs on the ports of `platform.ts` alone.
 *
 * Whichever node takes a request passes it on to the leader; one that cannot, or says nothing, is
 * left for another one until the time of the request is over.
 */
import type { HoldfastError } from "../../errors.js";
import {
  type Answer,
  type Hello,
  MESSAGE,
  type Result,
  type ServerMessage,
} from "../../protocol/index.js";
import type { OperatorWish } from "../calls/operator-commands.js";
import { clientClosed, unavailable } from "../failures.js";
import type { AdminSettings } from "../options/operator-options.js";
import { Opening } from "../session/lifetime.js";
import { Alarm } from "../transport/alarm.js";
import { Connection } from "../transport/connection.js";
import { Endpoints } from "../transport/endpoints.js";
import { FrameWriter } from "../transport/frame-writer.js";
import type { Platform } from "../transport/platform.js";
import { Operations, type Wish } from "./operations.js";

const HANDSHAKE_TIMEOUT_MS_MAX = 2_000;
/**
 * A node is asked for this part of the time there is before another one is, and no longer than …
 */
const PATIENCE_PER_TIMEOUT = 1 / 3;
const PATIENCE_MS_MAX = 5_000;
/** How long the connection outlives the last answer: the next question mostly comes at once. */
const LINGER_MS = 1_000;

const NEVER = Number.POSITIVE_INFINITY;

export class AdminConnection {
  readonly #platform: Platform;
  readonly #settings: AdminSettings;
  readonly #alarm: Alarm;
  readonly #endpoints: Endpoints;
  readonly #connection: Connection;
  readonly #frame: FrameWriter;
  readonly #operations: Operations;
  #clusterId = "";
  #opening: Opening | undefined;
  #isClosed = false;
  /** Connected, or about to be. */
  #isActive = false;
  /** When an idle connection is ended. */
  #idleUntilMs = NEVER;
  /** Those who need this very connection to the end of what they do. */
  #keepers = 0;

  constructor(platform: Platform, settings: AdminSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#operations = new Operations(platform, () => this.#settleTurn());
    this.#alarm = new Alarm(platform, () => this.#onAlarm());
    this.#endpoints = new Endpoints(settings.endpoints, true, platform.random);
    this.#connection = new Connection(
      platform,
      this.#endpoints,
      () => platform.monotonicMs(),
      Math.min(settings.timeoutMs, HANDSHAKE_TIMEOUT_MS_MAX),
      {
        objection: (hello) => this.#objection(hello),
        onReady: (hello) => this.#onReady(hello),
        onMessages: (messages, from) => this.#onMessages(messages, from),
        onLost: () => this.#operations.restart(),
        onRefused: (error) => this.#onRefused(error),
        onTurnBegin: () => undefined,
        onTurnEnd: () => this.#settleTurn(),
      },
    );
    this.#frame = new FrameWriter((frame) => this.#connection.send(frame));
  }

  /** "" until a node told it. From then on no other cluster is listened to. */
  get clusterId(): string {
    return this.#clusterId;
  }

  get endpoints(): readonly string[] {
    return this.#endpoints.urls;
  }

  /** Resolves when a node answered. */
  open(signal: AbortSignal | undefined): Promise<void> {
    const deadlineMs = this.#platform.monotonicMs() + this.#settings.timeoutMs;
    this.#opening = new Opening(deadlineMs, signal, () => this.#end(signal?.reason));
    const { done } = this.#opening;
    this.#activate();
    this.#settleTurn();
    return done;
  }

  /** What the leader answered. Rejects with its refusal, or when nobody answers in time. */
  ask(wish: Wish, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#begin(signal, (nowMs) => {
      return this.#operations.ask(wish, nowMs, this.#settings.timeoutMs, signal);
    });
  }

  /** What the table answered. Rejects with its refusal, or when nobody answers in time. */
  command(wish: OperatorWish): Promise<Result> {
    return this.#begin(wish.signal, (nowMs) => {
      return this.#operations.command(wish, nowMs, this.#settings.timeoutMs);
    });
  }

  #begin<T>(signal: AbortSignal | undefined, ask: (nowMs: number) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(clientClosed());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const answer = ask(this.#platform.monotonicMs());
    this.#activate();
    this.#write();
    this.#settleTurn();
    return answer;
  }

  /**
   * The node behind the connection has something that no other has: it is not left while it answers,
   * neither when it is idle nor when it sends its clients away. What is returned ends that, once.
   */
  keep(): () => void {
    let isKept = true;
    this.#keepers += 1;
    return () => {
      if (!isKept) return;
      isKept = false;
      this.#keepers -= 1;
      this.#settleTurn();
    };
  }

  close(): void {
    this.#end(clientClosed());
  }

  #activate(): void {
    if (this.#isActive) return;
    this.#isActive = true;
    this.#connection.start();
  }

  #write(): void {
    if (this.#connection.isReady) this.#operations.write(this.#frame, this.#platform.monotonicMs());
  }

  #objection({ clusterId }: Hello): string | undefined {
    if (this.#clusterId === "" || this.#clusterId === clusterId) return undefined;
    return `belongs to another cluster (${clusterId}, not ${this.#clusterId})`;
  }

  #onReady(hello: Hello): void {
    this.#clusterId = hello.clusterId;
    this.#frame.begin(this.#connection.frameBytesMax);
    this.#opening?.succeed();
    this.#opening = undefined;
    this.#write();
  }

  #onMessages(messages: readonly ServerMessage[], from: number): void {
    for (let i = from; i < messages.length; i++) {
      const message = messages[i] as ServerMessage;
      if (message.kind === MESSAGE.answer) {
        this.#onAnswer(message);
      } else if (message.kind === MESSAGE.reply) {
        this.#operations.onReply(message);
        this.#connection.served();
      } else if (message.kind === MESSAGE.refused) {
        this.#operations.onRefused(message, this.#platform.monotonicMs());
        this.#connection.served();
      } else if (message.kind === MESSAGE.leader) {
        this.#endpoints.learn(message.endpoints, message.leaderId);
      } else if (message.kind === MESSAGE.move && this.#keepers === 0) {
        this.#connection.move("the node asked its clients to move");
      }
    }
  }

  #onAnswer(answer: Answer): void {
    const verdict = this.#operations.onAnswer(answer, this.#platform.monotonicMs());
    if (verdict.isServed) this.#connection.served();
    else this.#connection.move(verdict.why);
  }

  #onRefused(error: HoldfastError): void {
    this.#isActive = false;
    this.#opening?.fail(error);
    this.#opening = undefined;
    this.#operations.rejectAll(error);
  }

  #onAlarm(): void {
    const nowMs = this.#platform.monotonicMs();
    this.#connection.onAlarm(nowMs);
    const { lastFailure, noLeader } = this.#connection;
    this.#operations.onAlarm(nowMs, lastFailure, noLeader);
    if (nowMs >= this.#moveMs) this.#connection.move("no answer in time");
    this.#write();
    if (nowMs >= (this.#opening?.deadlineMs ?? NEVER)) {
      this.#end(unavailable("no node answers", lastFailure));
    }
    if (nowMs >= this.#idleUntilMs) this.#deactivate();
    this.#settleTurn();
  }

  /** When the node is left because a request on this connection has no answer. */
  get #moveMs(): number {
    const patienceMs = this.#settings.timeoutMs * PATIENCE_PER_TIMEOUT;
    return this.#operations.oldestSentMs + Math.min(patienceMs, PATIENCE_MS_MAX);
  }

  #deactivate(): void {
    this.#isActive = false;
    this.#idleUntilMs = NEVER;
    this.#connection.stop();
  }

  #end(reason: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deactivate();
    this.#alarm.cancel();
    this.#opening?.fail(reason);
    this.#opening = undefined;
    this.#operations.rejectAll(reason);
  }

  /** The end of every turn: the one timer is set. */
  #settleTurn(): void {
    if (this.#isClosed) return;
    const nowMs = this.#platform.monotonicMs();
    const isAsked = this.#operations.size > 0 || this.#opening !== undefined;
    const isBusy = isAsked || this.#keepers > 0;
    if (isBusy || !this.#isActive) this.#idleUntilMs = NEVER;
    else if (this.#idleUntilMs === NEVER) this.#idleUntilMs = nowMs + LINGER_MS;
    const dueMs = Math.min(
      this.#connection.dueMs,
      this.#operations.deadlineMs,
      this.#connection.isReady ? this.#operations.sendAtMs : NEVER,
      this.#moveMs,
      this.#opening?.deadlineMs ?? NEVER,
      this.#idleUntilMs,
    );
    this.#alarm.need(dueMs, nowMs);
    this.#alarm.setKeepsProcess(isBusy);
    this.#connection.setKeepsProcess(isBusy);
  }
}
