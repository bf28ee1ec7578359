/**
 * Listens to what an SDK and a node say to each other, as bytes, and reports to the checks: every
 * word that is heard, every command under its number, and what the SDK acknowledges. It changes
 * nothing, and knows nothing of what the SDK makes of it.
 */

import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import { decodeServerFrame } from "../../../../src/net/framing/index.js";
import {
  type AttachCommand,
  type Attached,
  type ClientRequest,
  decodeFrame,
  isAttachCommand,
  isOperation,
  isQuery,
  MESSAGE,
  OP,
  type Refused,
  type SequencedCommand,
  type ServerMessage,
  type SessionCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";
import type { ViewedConnection } from "../../checks/access/viewed-connection.js";
import type { WatchAsked } from "../../checks/hearing/watch-streams.js";
import type { Question } from "../../plan/fault.js";
import type { SocketEnding } from "../../world/network/node-socket.js";
import type { Ear } from "../../world/node/sdk-platform.js";
import { breachOf } from "../breach.js";
import type { ClientWatch, Host, Said } from "../client-watch.js";
import { SIGHTINGS } from "../sightings.js";
import { NobodysHolds } from "./nobodys-holds.js";
import { ReadWords } from "./read-words.js";
import { ToldHolds } from "./told-holds.js";

/** What all processes of one client heard. */
export interface HeardByAll {
  /** Commands that an entry answered, and ends of waits. */
  answeredCount: number;
}

/** Who is asked about the process that listens, and told. */
export interface HeedfulProcess {
  /** Tokens that it counts on, and that the log has ended. */
  endedInLog(session: number): readonly number[];
  /** Once this turn is over it must count on none of them; without: on nothing reported lost. */
  heedLater(ended?: readonly number[]): void;
  /** Numbers of holds that it heard of, that the log has, and that nobody in it has or awaits. */
  nobodys(session: number): readonly number[];
  /** Why nobody can want that to be said; `undefined`: somebody may. */
  objection(session: number, command: SequencedCommand): string | undefined;
}

/** What a client does, for code that wants to interfere. */
export interface EarEvents {
  /** It has its session, on a new connection. */
  onAttached?(): void;
  /** It is about to ask that. */
  onAsking?(question: Question): void;
}

/** What is known of the sessions of one process, over all its connections. */
export class SdkEars {
  readonly client: Host;
  readonly watch: ClientWatch;
  readonly heardByAll: HeardByAll;
  readonly events: EarEvents;
  readonly #clock: ProcessClock;
  /** When what renewed a session for certain was said, by session. */
  readonly #renewedMs = new Map<number, number>();
  /** When the last of all that was answered was said, by session: nothing else proves a lease. */
  readonly #provenMs = new Map<number, number>();
  /** The entry that attached its last connection. */
  attachedIndex = 0;
  readonly #sessions = new Map<number, ReadWords>();
  readonly #holds = new Map<number, ToldHolds>();
  #records: { session: number; sequence: number }[][] = [];
  process: HeedfulProcess | undefined;

  constructor(
    client: Host,
    watch: ClientWatch,
    heardByAll: HeardByAll,
    clock: ProcessClock,
    events: EarEvents = {},
  ) {
    this.#clock = clock;
    this.events = events;
    this.client = client;
    this.watch = watch;
    this.heardByAll = heardByAll;
  }

  listen(node: number): Ear {
    return new SdkEar(this, this.watch.viewOf(node));
  }

  of(session: number): ReadWords {
    let words = this.#sessions.get(session);
    if (words === undefined) {
      words = new ReadWords();
      this.#sessions.set(session, words);
    }
    return words;
  }

  holdsOf(session: number): ToldHolds {
    let holds = this.#holds.get(session);
    if (holds === undefined) {
      holds = new ToldHolds();
      this.#holds.set(session, holds);
    }
    return holds;
  }

  /** A new session. In a restored cluster it may have the number of one that is gone. */
  begin(session: number): void {
    this.#sessions.set(session, new ReadWords());
    this.#holds.set(session, new ToldHolds());
    this.#renewedMs.delete(session);
    this.#provenMs.delete(session);
  }

  get nowMs(): number {
    return this.#clock.withSleepMs();
  }

  /** By a word that was said at `saidMs` and has been answered on the same connection. */
  onRenewed(session: number, saidMs: number): void {
    this.#renewedMs.set(session, saidMs);
  }

  /** By anything that was said at `saidMs` and has been answered on the same connection. */
  onProven(session: number, saidMs: number): void {
    this.#provenMs.set(session, Math.max(saidMs, this.provenMs(session)));
  }

  provenMs(session: number): number {
    return this.#provenMs.get(session) ?? Number.NEGATIVE_INFINITY;
  }

  /** For how long a session has not been renewed, at the most. */
  sinceRenewedMs(session: number): number {
    return this.nowMs - (this.#renewedMs.get(session) ?? Number.NEGATIVE_INFINITY);
  }

  /** What the process knows of the log now, and what it says from now on. */
  record(): WatchAsked {
    const said: { session: number; sequence: number }[] = [];
    this.#records.push(said);
    return { attachedIndex: this.attachedIndex, said };
  }

  onSaid(said: Said): void {
    const { session, command } = said;
    for (const record of this.#records) record.push({ session, sequence: command.sequence });
    this.watch.onSaid(said);
  }

  complain(rule: string, what: string): void {
    this.watch.onBroken(this.client, rule, what);
  }
}

class SdkEar implements Ear {
  readonly #of: SdkEars;
  readonly #viewed: ViewedConnection | undefined;
  #session = 0;
  #epoch = 0;
  #way: AttachCommand["op"] = OP.open;
  #attachSaidMs = 0;
  /** When what has no answer yet was said, by what it was. */
  readonly #saidMs = new Map<string, number>();
  /** Questions without an answer. */
  readonly #recalls = new Set<number>();
  /** Keepalives without an answer, said when nothing was left to ask: when, by number. */
  readonly #keepalives = new Map<number, number>();
  /** What the process counted on, and the log had ended, when it asked something: by what it asked. */
  readonly #endedThen = new Map<string, readonly number[]>();
  readonly #nobodys: NobodysHolds;

  constructor(ears: SdkEars, viewed: ViewedConnection | undefined) {
    this.#of = ears;
    this.#viewed = viewed;
    this.#nobodys = new NobodysHolds(() => ears.process?.nobodys(this.#session) ?? []);
  }

  onSent(frame: Uint8Array): void {
    decodeFrame(frame, {
      request: (request) => this.#onRequest(request),
      invalid: (op, id, reason) => {
        this.#of.complain("the protocol is kept", `${op} ${id} is invalid: ${reason}`);
      },
    });
  }

  onHeard(frame: Uint8Array): void {
    for (const message of decodeServerFrame(frame)) this.#onMessage(message);
  }

  onClosed(ending: SocketEnding): void {
    const breach = breachOf(ending);
    if (breach === undefined || this.#viewed?.excuses(ending) === true) return;
    this.#of.complain("the protocol is kept", breach);
  }

  #onRequest(request: ClientRequest): void {
    this.#viewed?.said(request);
    if (isAttachCommand(request)) {
      this.#way = request.op;
      this.#attachSaidMs = this.#of.nowMs;
    }
    const question = questionOf(request);
    if (question !== undefined) this.#of.events.onAsking?.(question);
    if (isAttachCommand(request) || isQuery(request) || isOperation(request)) return;
    const session = this.#session;
    // An order without a session.
    if (session === 0) return;
    const words = this.#of.of(session);
    let problem: string | undefined;
    if ("sequence" in request) {
      this.#of.onSaid({ session, epoch: this.#epoch, command: request, order: undefined });
      problem = words.onSaid(request);
      this.#of.holdsOf(session).onSaid(request);
      const objection = this.#of.process?.objection(session, request);
      if (objection !== undefined) this.#of.complain("nothing unwanted is said", objection);
    }
    if (problem !== undefined) {
      this.#of.complain("program order", `session ${session} ${problem}`);
    }
    this.#noteEnded(request);
    const unread = words.problemOf(request);
    if (unread !== undefined) {
      this.#of.complain("acknowledged is read", `session ${session} ${unread}`);
    }
  }

  /** What ended before it asked, it has heard of before it is answered, unless it asks just that. */
  #noteEnded(request: SessionCommand): void {
    const asked = "number" in request ? `number ${request.number}` : `sequence ${request.sequence}`;
    this.#saidMs.set(asked, this.#of.nowMs);
    if (request.op === OP.recall) this.#recalls.add(request.number);
    if (this.#recalls.size > 0) return;
    if (request.op === OP.keepalive) {
      this.#keepalives.set(request.number, this.#of.nowMs);
      this.#nobodys.onKeepalive(request.number, this.#of.nowMs);
    }
    const tokens = this.#of.process?.endedInLog(this.#session) ?? [];
    if (tokens.length > 0) this.#endedThen.set(asked, tokens);
    else this.#endedThen.delete(asked);
  }

  #onAnswer(asked: string): void {
    const saidMs = this.#saidMs.get(asked);
    if (saidMs !== undefined) this.#of.onProven(this.#session, saidMs);
    this.#saidMs.delete(asked);
    const tokens = this.#endedThen.get(asked);
    if (tokens === undefined) return;
    this.#endedThen.delete(asked);
    this.#of.process?.heedLater(tokens);
  }

  #onRenewed(number: number): void {
    this.#onAnswer(`number ${number}`);
    const saidMs = this.#keepalives.get(number);
    this.#keepalives.delete(number);
    if (saidMs !== undefined) this.#of.onRenewed(this.#session, saidMs);
    const stray = this.#nobodys.onAnswered(number);
    if (stray === undefined) return;
    this.#of.complain("nobody's hold", `nobody has ${stray} of session ${this.#session}`);
  }

  #onMessage(message: ServerMessage): void {
    this.#of.watch.onHeard(this.#way, message);
    this.#viewed?.heard(message);
    switch (message.kind) {
      case MESSAGE.attached:
        this.#onAttached(message);
        return;
      case MESSAGE.refused:
        this.#onRefused(message);
        return;
      case MESSAGE.hello:
      case MESSAGE.leader:
      case MESSAGE.move:
      case MESSAGE.answer:
      case MESSAGE.changes:
        return;
      default:
        if (this.#session !== 0) this.#onWord(message);
    }
  }

  #onAttached(message: Attached): void {
    this.#of.watch.onAttached(this.#of.client, message);
    if (message.status !== STATUS.ok) return;
    const { session, epoch, highestSequence, index } = message;
    this.#session = session;
    this.#epoch = epoch;
    this.#of.attachedIndex = index;
    if (this.#way === OP.open) this.#of.begin(session);
    this.#of.onProven(session, this.#attachSaidMs);
    this.#of.of(session).onAttached(highestSequence);
    this.#of.events.onAttached?.();
  }

  #onRefused({ sequence, status }: Refused): void {
    const session = this.#session;
    // An order without a session.
    if (session === 0) return;
    this.#of.watch.onSeen(SIGHTINGS.refused(status));
    this.#of.of(session).onRefused(sequence);
    this.#nobodys.onRefused();
    this.#of.watch.onRefused(session, this.#epoch, sequence, status);
  }

  #onWord(message: SessionMessage): void {
    const { client, watch, heardByAll } = this.#of;
    this.#of.of(this.#session).onHeard(message);
    this.#of.holdsOf(this.#session).onHeard(message);
    if (message.kind === MESSAGE.reply || message.kind === MESSAGE.outcome) {
      heardByAll.answeredCount += 1;
    }
    if (message.kind === MESSAGE.ended) watch.onSeen(SIGHTINGS.ended(message.reason));
    if (message.kind === MESSAGE.ended || message.kind === MESSAGE.lost)
      this.#of.process?.heedLater();
    if (message.kind === MESSAGE.recalled) {
      this.#recalls.delete(message.number);
      this.#onAnswer(`number ${message.number}`);
    }
    if (message.kind === MESSAGE.renewed) this.#onRenewed(message.number);
    if (message.kind === MESSAGE.reply) this.#onAnswer(`sequence ${message.sequence}`);
    watch.onMessage(client, this.#session, this.#epoch, message);
  }
}

function questionOf({ op }: ClientRequest): Question | undefined {
  if (op === OP.resume) return "resume";
  if (op === OP.handOver) return "handOver";
  if (op === OP.adopt) return "adopt";
  if (op === OP.upgrade) return "upgrade";
  return op === OP.recall ? "recall" : undefined;
}
