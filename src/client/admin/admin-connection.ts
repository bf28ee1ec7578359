/**
 * Carries operators' requests to the cluster without a session. It is connected while a request or a
 * watch is open and for a moment afterwards: nodes send away clients that stay and ask for nothing, and an
 * idle operator's tool has no reason to reconnect. It uses only the ports of `platform.ts`.
 *
 * Any node passes a request on to the leader. If a node cannot, or does not answer, the request is
 * sent to another node until its time is over.
 */
import type { HoldfastError } from "../../errors/index.js";
import {
  type Answer,
  type Hello,
  MESSAGE,
  OP,
  type Result,
  type ServerMessage,
  STATUS,
} from "../../protocol/index.js";
import type { OrderWish } from "../calls/orders.js";
import { clientClosed, unavailable } from "../failures.js";
import type { AdminSettings } from "../options/operator-options.js";
import type { WatchWish } from "../options/view-options.js";
import type { WatchStream } from "../reads/watch-stream.js";
import { Watches } from "../reads/watches.js";
import { Opening } from "../session/lifetime.js";
import { Alarm } from "../transport/alarm.js";
import { ClientLog } from "../transport/client-log.js";
import { Connection, type Objection } from "../transport/connection.js";
import { Endpoints, isLocal } from "../transport/endpoints.js";
import { FrameWriter } from "../transport/frame-writer.js";
import type { Platform } from "../transport/platform.js";
import { OperatorRequests, type Wish } from "./operator-requests.js";

const HANDSHAKE_TIMEOUT_MS_MAX = 2_000;
/**
 * A node has this part of the timeout to answer before another one is tried, but no longer than …
 */
const PATIENCE_PER_TIMEOUT = 1 / 3;
const PATIENCE_MS_MAX = 5_000;
/** How long the connection outlives the last answer: the next request usually comes at once. */
const LINGER_MS = 1_000;

const NEVER = Number.POSITIVE_INFINITY;

/** No other request of the connection has this number. */
const READ_ONLY_ID = Number.MAX_SAFE_INTEGER - 1;

export class AdminConnection {
  readonly #platform: Platform;
  readonly #settings: AdminSettings;
  readonly #alarm: Alarm;
  readonly #endpoints: Endpoints;
  readonly #connection: Connection;
  readonly #frame: FrameWriter;
  readonly #requests: OperatorRequests;
  readonly #watches: Watches;
  #clusterId = "";
  #opening: Opening | undefined;
  #isClosed = false;
  #isMoving = false;
  /** Connected or connecting. */
  #isActive = false;
  /** When an idle connection is ended. */
  #idleUntilMs = NEVER;
  /** How many callers need this very connection until they are done. */
  #keepers = 0;

  constructor(platform: Platform, settings: AdminSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#requests = new OperatorRequests(platform, () => this.#settleTurn());
    this.#watches = new Watches({
      random: platform.random,
      now: () => platform.monotonicMs(),
      nextId: () => this.#requests.nextId(),
      onChange: () => {
        this.#write();
        this.#settleTurn();
      },
    });
    this.#alarm = new Alarm(platform, () => this.#onAlarm());
    this.#endpoints = new Endpoints(settings.endpoints, settings.followLeader, platform.random);
    this.#connection = new Connection(
      platform,
      this.#endpoints,
      () => platform.monotonicMs(),
      handshakeTimeoutMs(settings),
      settings.token,
      new ClientLog(settings.logger, platform),
      {
        objection: (hello) => this.#objection(hello),
        onReady: (hello) => this.#onReady(hello),
        onMessages: (messages, from) => this.#onMessages(messages, from),
        onLost: () => this.#onLost(),
        isOneOfMany: false,
        onRefused: (error) => this.#onRefused(error),
        onTurnBegin: () => undefined,
        onTurnEnd: () => this.#settleTurn(),
      },
    );
    this.#frame = new FrameWriter((frame) => this.#connection.send(frame));
  }

  /** "" until a node has named it. After that, nodes of other clusters are refused. */
  get clusterId(): string {
    return this.#clusterId;
  }

  /** The endpoint of the node behind the connection; "" while there is none. */
  get endpoint(): string {
    return this.#connection.endpoint;
  }

  get endpoints(): readonly string[] {
    return this.#endpoints.urls;
  }

  /** Resolves when a node has answered. */
  open(signal: AbortSignal | undefined): Promise<void> {
    const deadlineMs = this.#platform.monotonicMs() + this.#settings.timeoutMs;
    this.#opening = new Opening(deadlineMs, signal, () => this.#end(signal?.reason));
    const { done } = this.#opening;
    this.#activate();
    this.#settleTurn();
    return done;
  }

  /** Resolves to the leader's answer. Rejects with its refusal, or when no answer comes in time. */
  ask(wish: Wish, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#begin(signal, (nowMs) => {
      return this.#requests.ask(wish, nowMs, this.#settings.timeoutMs, signal);
    });
  }

  /** Resolves to the table's answer. Rejects with its refusal, or when no answer comes in time. */
  command(wish: OrderWish): Promise<Result> {
    const { readOnly, timeoutMs } = this.#settings;
    const texts = { ...wish.texts, FORBIDDEN: "this connection may only read" };
    const told = readOnly ? { ...wish, texts } : wish;
    return this.#begin(wish.signal, (nowMs) => this.#requests.command(told, nowMs, timeoutMs));
  }

  /** Changes from now on, or after a revision, whatever node this is connected to. */
  watch(wish: WatchWish): WatchStream {
    if (this.#isClosed) throw clientClosed();
    wish.signal?.throwIfAborted();
    const stream = this.#watches.open(wish);
    this.#activate();
    this.#settleTurn();
    return stream;
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
   * Keeps the connection to this node, which has something that no other has, as long as the node
   * answers: even when it is idle or sends its clients away. Returns a function that ends this;
   * calling it again has no effect.
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

  /** Whether it knows only the endpoints that it was given. */
  get isFixed(): boolean {
    return !this.#settings.followLeader || this.#settings.endpoints.some(isLocal);
  }

  /** A connection with the same proofs to that node and no other. */
  to(endpoint: string): AdminConnection {
    const settings = { ...this.#settings, endpoints: [endpoint], followLeader: false };
    return new AdminConnection(this.#platform, settings);
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
    if (!this.#connection.isReady) return;
    const nowMs = this.#platform.monotonicMs();
    this.#watches.write(this.#frame, nowMs);
    this.#requests.write(this.#frame, nowMs);
  }

  /** Orders are meant for the cluster that was found first, and for no other. */
  #objection({ clusterId }: Hello): Objection | undefined {
    if (this.#clusterId === "" || this.#clusterId === clusterId) return undefined;
    const why = `belongs to another cluster (${clusterId}, not ${this.#clusterId})`;
    return { why, isLastResort: false };
  }

  #onReady(hello: Hello): void {
    this.#clusterId = hello.clusterId;
    this.#frame.begin(this.#connection.frameBytesMax);
    // Before anything else: whatever follows is judged as sent by a reader.
    if (this.#settings.readOnly) this.#frame.add({ op: OP.readOnly, id: READ_ONLY_ID });
    this.#frame.end();
    this.#opening?.resolve();
    this.#opening = undefined;
    this.#write();
  }

  #onMessages(messages: readonly ServerMessage[], from: number): void {
    for (let i = from; i < messages.length; i++) {
      const message = messages[i] as ServerMessage;
      if (message.kind === MESSAGE.answer) {
        this.#onAnswer(message);
      } else if (message.kind === MESSAGE.changes) {
        this.#watches.onChanges(message, this.#platform.monotonicMs());
        this.#connection.served();
      } else if (message.kind === MESSAGE.reply) {
        this.#requests.onReply(message);
        this.#connection.served();
      } else if (message.kind === MESSAGE.refused) {
        this.#requests.onRefused(message, this.#platform.monotonicMs());
        this.#connection.served();
      } else if (message.kind === MESSAGE.leader) {
        this.#endpoints.learn(message.endpoints, message.leaderId);
      } else if (message.kind === MESSAGE.move && this.#keepers === 0) {
        this.#move("the node asked its clients to move");
      }
    }
    // A state order may have waited for these answers.
    this.#write();
  }

  #onAnswer(answer: Answer): void {
    if (this.#watches.onAnswer(answer, this.#platform.monotonicMs())) {
      this.#connection.served();
      return;
    }
    if (answer.id === READ_ONLY_ID && answer.status !== STATUS.ok) {
      this.#move("the node does not let this connection only read");
      return;
    }
    const isAlone = hasOneNode(this.#settings);
    const verdict = this.#requests.onAnswer(answer, this.#platform.monotonicMs(), isAlone);
    if (verdict.isServed) this.#connection.served();
    else if (isAlone) this.#connection.servesNot(verdict.why);
    else this.#move(verdict.why);
  }

  #onLost(): void {
    this.#requests.restart();
    this.#watches.restart(this.#platform.monotonicMs());
    if (!this.#isMoving) this.#settings.onLost?.();
  }

  /** This side ends the connection, to find a better one. */
  #move(why: string): void {
    this.#isMoving = true;
    this.#connection.move(why);
    this.#isMoving = false;
  }

  #onRefused(error: HoldfastError): void {
    this.#isActive = false;
    this.#opening?.reject(error);
    this.#opening = undefined;
    this.#requests.rejectAll(error);
    this.#watches.endAll(error);
  }

  #onAlarm(): void {
    const nowMs = this.#platform.monotonicMs();
    this.#connection.onAlarm(nowMs);
    const { lastFailure, noLeader } = this.#connection;
    this.#requests.onAlarm(nowMs, lastFailure, noLeader);
    if (nowMs >= this.#moveMs) this.#move("no answer in time");
    this.#write();
    if (nowMs >= (this.#opening?.deadlineMs ?? NEVER)) {
      const why = this.#connection.whyNobodyServes(this.#settings.endpoints);
      this.#end(unavailable("no node answers", why, false));
    }
    if (nowMs >= this.#idleUntilMs) this.#deactivate();
    this.#settleTurn();
  }

  /** When this node is left because a request sent to it has no answer. */
  get #moveMs(): number {
    const patienceMs = this.#settings.timeoutMs * PATIENCE_PER_TIMEOUT;
    return this.#requests.oldestSentMs + Math.min(patienceMs, PATIENCE_MS_MAX);
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
    this.#opening?.reject(reason);
    this.#opening = undefined;
    this.#requests.rejectAll(reason);
    this.#watches.endAll(reason);
  }

  /** Sets the timer at the end of a turn. */
  #settleTurn(): void {
    if (this.#isClosed) return;
    const nowMs = this.#platform.monotonicMs();
    const isAsked = this.#requests.size > 0 || this.#opening !== undefined;
    const isAwaited = isAsked || this.#keepers > 0 || this.#watches.isBusy;
    const isBusy = isAwaited || this.#watches.size > 0;
    this.#connection.setAwaited(isAsked || this.#watches.size > 0);
    if (isBusy || !this.#isActive) this.#idleUntilMs = NEVER;
    else if (this.#idleUntilMs === NEVER) this.#idleUntilMs = nowMs + LINGER_MS;
    const dueMs = Math.min(
      this.#connection.dueMs,
      this.#requests.deadlineMs,
      this.#connection.isReady ? this.#requests.sendAtMs : NEVER,
      this.#connection.isReady ? this.#watches.dueMs : NEVER,
      this.#moveMs,
      this.#opening?.deadlineMs ?? NEVER,
      this.#idleUntilMs,
    );
    this.#alarm.need(dueMs, nowMs);
    this.#alarm.setKeepsProcess(isAwaited);
    this.#connection.setKeepsProcess(isAwaited);
  }
}

/** With other nodes to try, a silent one is left soon; a single one gets all the time there is. */
function handshakeTimeoutMs(settings: AdminSettings): number {
  const { timeoutMs } = settings;
  return hasOneNode(settings) ? timeoutMs : Math.min(timeoutMs, HANDSHAKE_TIMEOUT_MS_MAX);
}

function hasOneNode({ endpoints, followLeader }: AdminSettings): boolean {
  return endpoints.length === 1 && !followLeader;
}
