/**
 * Which session this client has, and how a connection attaches to it. `AttachState` knows the nonce,
 * which is the session's secret, and the attempt, which rises with every transmission, so that the
 * table always knows which connection is the newest (`docs/internals/semantics.md`, 3.2). `Attacher`
 * uses it to open or resume the session, and asks for everything that earlier connections may have
 * lost. `claims.ts` decides what happens to locks when the session is lost.
 */
import { errorCodeOf } from "../../errors/index.js";
import {
  type Attached,
  type Hello,
  NONCE_BYTES,
  OP,
  type SessionEnded,
  STATUS,
} from "../../protocol/index.js";
import type { Outgoing } from "../calls/outgoing.js";
import { type LossReason, lossReasonOf, sessionFailure } from "../failures.js";
import type { Claims } from "../locks/claims.js";
import type { ClientSettings } from "../options/connect-options.js";
import type { Watches } from "../reads/watches.js";
import type { SessionLease } from "../session-lease/session-lease.js";
import type { ClientLog } from "../transport/client-log.js";
import type { Connection, Objection } from "../transport/connection.js";
import type { FrameWriter } from "../transport/frame-writer.js";
import type { Platform } from "../transport/platform.js";
import type { Answers } from "./answers.js";

const NEVER = Number.POSITIVE_INFINITY;

export class AttachState {
  readonly #platform: Platform;
  readonly #settings: ClientSettings;
  /** 0 while there is no session; an `open` may be in flight then. */
  session = 0;
  #nonce: string;
  /** Never used twice, so that an answer matches one transmission, for any session. */
  #attempt = 0;
  /** Lease time before the attempt that waits for its answer; `Infinity` if there is none. */
  sentMs = NEVER;
  /** When the next attempt follows a refused one; `Infinity` if none was refused. */
  againAtMs = NEVER;

  constructor(platform: Platform, settings: ClientSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#nonce = freshSecret(platform, NONCE_BYTES);
  }

  /** The table gave this client the session. */
  attached(session: number): void {
    this.session = session;
    this.disconnect();
  }

  /** Resumes the session, or opens one. */
  send(frame: FrameWriter, nowMs: number): void {
    this.#attempt += 1;
    this.sentMs = nowMs;
    this.againAtMs = NEVER;
    const attempt = this.#attempt;
    const nonce = this.#nonce;
    const { session } = this;
    const { ttlMs, name, metadata } = this.#settings;
    if (session === 0) frame.add({ op: OP.open, nonce, attempt, ttlMs, name, metadata });
    else frame.add({ op: OP.resume, session, nonce, attempt });
    frame.end();
  }

  /** Whether this is the answer to the last attempt; others are ignored. */
  isAnswer(attempt: number): boolean {
    return this.sentMs !== NEVER && attempt === this.#attempt;
  }

  /** The connection on which an attempt was made, or could have been, is gone. */
  disconnect(): void {
    this.sentMs = NEVER;
    this.againAtMs = NEVER;
  }

  refused(againAtMs: number): void {
    this.sentMs = NEVER;
    this.againAtMs = againAtMs;
  }

  /** The session is over: the next attempt opens another one. */
  reset(): void {
    this.session = 0;
    this.#nonce = freshSecret(this.#platform, NONCE_BYTES);
    this.disconnect();
  }
}

/** A secret of `length` random bytes, as hex digits. */
export function freshSecret(platform: Platform, length: number): string {
  const bytes = new Uint8Array(length);
  platform.randomBytes(bytes);
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** What `UNAVAILABLE` means for an attempt to attach: only the table answers with it. */
const NO_SESSION_YET = "opens no session yet, because the cluster was restored a short time ago";

/** The parts of a session that attaching changes. */
export interface AttacherParts {
  readonly connection: Connection;
  readonly attachState: AttachState;
  readonly outgoing: Outgoing;
  readonly answers: Answers;
  readonly lease: SessionLease;
  readonly claims: Claims;
  readonly watches: Watches;
}

export interface AttacherHost {
  /** Lease of the next session. */
  readonly ttlMs: number;
  clock(): number;
  /** Whether another session may be opened after this one ends. */
  goesOn(): boolean;
  readonly log: ClientLog;
  /** The cluster refuses this client. */
  end(reason: unknown): void;
}

export class Attacher {
  readonly #of: AttacherParts;
  readonly #host: AttacherHost;
  #phase: "detached" | "attaching" | "attached" = "detached";
  /** The cluster of the node behind the connection, or of the last one; "" before the first. */
  clusterId = "";

  constructor(parts: AttacherParts, host: AttacherHost) {
    this.#of = parts;
    this.#host = host;
  }

  get isAttached(): boolean {
    return this.#phase === "attached";
  }

  /**
   * Why this node must not be used, or `undefined`. A client that holds nothing loses nothing with
   * its session: it goes to another cluster if no node of its own is left, because that one was
   * founded again. One that holds a lock does so when its lease is over.
   */
  objection(hello: Hello): Objection | undefined {
    const { attachState, lease, claims } = this.#of;
    if (attachState.session === 0 || this.clusterId === hello.clusterId) return undefined;
    if (this.#host.clock() >= lease.deadlineMs) return undefined;
    const why = `belongs to another cluster (${hello.clusterId}, not ${this.clusterId})`;
    return { why, isLastResort: claims.holdsNothing };
  }

  onReady(hello: Hello): void {
    const { outgoing, connection, attachState } = this.#of;
    outgoing.frame.begin(connection.frameBytesMax);
    // A session exists only in its own cluster, and another cluster must not learn its secret.
    const isStranger = attachState.session !== 0 && this.clusterId !== hello.clusterId;
    this.clusterId = hello.clusterId;
    if (isStranger) this.loseSession("expired");
    else this.attach();
  }

  /** The connection is gone. */
  disconnect(): void {
    const { attachState, outgoing, answers, claims } = this.#of;
    this.#phase = "detached";
    attachState.disconnect();
    outgoing.disconnect();
    claims.onDisconnected();
    answers.disconnect();
  }

  /** Asks for the session, on a connection that is ready. */
  attach(): void {
    this.#phase = "attaching";
    const { attachState, outgoing } = this.#of;
    attachState.send(outgoing.frame, this.#host.clock());
  }

  onAttached(attached: Attached, nowMs: number): void {
    const { attachState, connection, outgoing, answers, lease, claims, watches } = this.#of;
    const { attempt, status, session, stamp, ttlMs, highestSequence, index } = attached;
    if (!attachState.isAnswer(attempt)) return;
    if (status !== STATUS.ok) {
      this.#onRefused(attached, nowMs);
      return;
    }
    const { sentMs } = attachState;
    const isNew = attachState.session === 0;
    if (isNew) lease.reset(ttlMs);
    const how = isNew ? "session opened" : "session resumed";
    this.#host.log.info(how, { session, ttlMs: lease.ttlMs });
    attachState.attached(session);
    this.#phase = "attached";
    connection.served();
    watches.attached(index);
    outgoing.attached(nowMs, highestSequence, claims.sequencesToRecall());
    // After the questions for what was missed: it counts only after their answers.
    answers.renew(sentMs, stamp);
  }

  /** The connection reports that the session is over. */
  onEnded({ session, reason }: SessionEnded): void {
    if (session === this.#of.attachState.session) this.loseSession(lossReasonOf(reason));
  }

  /**
   * The session is over. Another one is opened, unless a listener of a lost lock closes the client.
   */
  loseSession(reason: LossReason): void {
    const { attachState, outgoing, answers, lease, claims, connection } = this.#of;
    this.#host.log.warn("session lost", { session: attachState.session, reason });
    if (!this.#host.goesOn()) return;
    this.#phase = "detached";
    attachState.reset();
    lease.reset(this.#host.ttlMs);
    outgoing.keepalives.clear();
    answers.disconnect();
    claims.onSessionLost(reason);
    if (connection.isReady) this.attach();
  }

  #onRefused({ status }: Attached, nowMs: number): void {
    const { attachState, outgoing, connection } = this.#of;
    const code = errorCodeOf(status) ?? "PROTOCOL";
    const isExpired = code === "SESSION_EXPIRED";
    const isForNow = code === "BUSY" || code === "UNAVAILABLE" || code === "DISK_FULL";
    if (isForNow || (isExpired && attachState.session === 0)) {
      this.#host.log.debug("no session for now", { code });
      const isQuiet = code === "UNAVAILABLE";
      connection.servesNot(isQuiet ? NO_SESSION_YET : `refuses the session for now: ${code}`);
      attachState.refused(nowMs + outgoing.nextPauseMs());
    } else if (attachState.session !== 0 && (isExpired || code === "FORBIDDEN")) {
      this.loseSession("expired");
    } else {
      this.#host.end(sessionFailure(code));
    }
  }
}
