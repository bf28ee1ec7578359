/**
 * Which session this client has, and how a connection attaches to it. `Attachment` knows the nonce
 * that is the session's secret, the generation that a takeover raises, and the attempt that rises with
 * every transmission, so that the table always knows which connection is the newest
 * (`docs/internals/semantics.md`, 3.2 and 8). `Attaching` opens, resumes or takes over with it, and
 * asks for everything that the connections before may have swallowed. What happens to locks when the
 * session is lost stands in `locks.ts`.
 */
import { errorCodeOf, HoldfastError } from "../../errors.js";
import {
  type Attached,
  END_REASON,
  type Hello,
  NONCE_BYTES,
  OP,
  type SessionEnded,
  STATUS,
  TAKER_BYTES,
} from "../../protocol/index.js";
import type { Outgoing } from "../calls/outgoing.js";
import { type LossReason, lossReasonOf, takenOver, takeOverFailure } from "../failures.js";
import type { Lease } from "../lease/lease.js";
import type { Locks } from "../locks/locks.js";
import type { ClientSettings } from "../options/connect-options.js";
import type { ExportedSession } from "../options/exported-session.js";
import type { Watches } from "../reads/watches.js";
import type { Connection } from "../transport/connection.js";
import type { FrameWriter } from "../transport/frame-writer.js";
import type { Platform } from "../transport/platform.js";
import type { Answers } from "./answers.js";

const NEVER = Number.POSITIVE_INFINITY;

export class Attachment {
  readonly #platform: Platform;
  readonly #settings: ClientSettings;
  /** 0 while there is no session; an `open` may be on its way then. */
  session = 0;
  #nonce: string;
  /** Of the session when this client got it. */
  #generation = 0;
  /** Never used twice, so that an answer matches one transmission, whichever session it was for. */
  #attempt = 0;
  /** The session was another process's, and this one has not got it yet; else "". */
  #taker = "";
  /** Lease time before the attempt that waits for its answer; `Infinity` when none does. */
  sentMs = NEVER;
  /** When a refused attempt is followed by the next one; `Infinity` when none was. */
  againAtMs = NEVER;

  constructor(platform: Platform, settings: ClientSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#nonce = freshSecret(platform, NONCE_BYTES);
  }

  /** What another process needs to go on with the session. */
  get credentials(): Pick<ExportedSession, "session" | "nonce" | "generation"> {
    return { session: this.session, nonce: this.#nonce, generation: this.#generation };
  }

  get isTakeOver(): boolean {
    return this.#taker !== "";
  }

  takeOver({ session, nonce, generation }: ExportedSession): void {
    this.session = session;
    this.#nonce = nonce;
    this.#generation = generation;
    this.#taker = freshSecret(this.#platform, TAKER_BYTES);
  }

  /** Another process has it by now, in this generation: the session is taken from that one. */
  follow(generation: number): void {
    this.#generation = generation;
    this.sentMs = NEVER;
  }

  /** The table gave this client the session. */
  attached(session: number, generation: number): void {
    this.session = session;
    this.#generation = generation;
    this.#taker = "";
    this.disconnect();
  }

  /** Resumes the session, takes it over, or opens one. */
  send(frame: FrameWriter, nowMs: number): void {
    this.#attempt += 1;
    this.sentMs = nowMs;
    this.againAtMs = NEVER;
    const attempt = this.#attempt;
    const nonce = this.#nonce;
    const { session } = this;
    const generation = this.#generation;
    const taker = this.#taker;
    const { ttlMs, name, metadata } = this.#settings;
    if (session === 0) frame.add({ op: OP.open, nonce, attempt, ttlMs, name, metadata });
    else if (taker === "") frame.add({ op: OP.resume, session, nonce, generation, attempt });
    else frame.add({ op: OP.takeOver, session, nonce, generation, taker, attempt });
    frame.end();
  }

  /** Whether this is the answer to the last attempt; any other is of no interest. */
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

  /** The session is no more: the next attempt opens another one. */
  reset(): void {
    this.session = 0;
    this.#generation = 0;
    this.#taker = "";
    this.#nonce = freshSecret(this.#platform, NONCE_BYTES);
    this.disconnect();
  }
}

/** So many bytes that nobody can guess, as twice as many hex digits. */
export function freshSecret(platform: Platform, length: number): string {
  const bytes = new Uint8Array(length);
  platform.randomBytes(bytes);
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** What `UNAVAILABLE` says of an attempt to attach: nobody but the table answers with it. */
const NO_SESSION_YET = "opens no session yet, since the cluster was restored a short time ago";

/** The parts of a session that attaching touches. */
export interface AttachingParts {
  readonly connection: Connection;
  readonly attachment: Attachment;
  readonly outgoing: Outgoing;
  readonly answers: Answers;
  readonly lease: Lease;
  readonly locks: Locks;
  readonly watches: Watches;
}

export interface AttachingHost {
  /** Lease of the next session. */
  readonly ttlMs: number;
  clock(): number;
  /** Whether there is any use in another session, when this one is no more. */
  goesOn(): boolean;
  /** Whichever process has it. */
  readonly isForced: boolean;
  /** The cluster will not have this client. `loss`: what became of its locks. */
  end(reason: unknown, loss?: LossReason): void;
}

export class Attaching {
  readonly #of: AttachingParts;
  readonly #host: AttachingHost;
  #phase: "detached" | "attaching" | "attached" = "detached";
  /** Of the node behind the connection, or of the last one; "" before the first. */
  clusterId = "";

  constructor(parts: AttachingParts, host: AttachingHost) {
    this.#of = parts;
    this.#host = host;
  }

  get isAttached(): boolean {
    return this.#phase === "attached";
  }

  /** Why this node must not be used, or `undefined`. */
  objection(hello: Hello): string | undefined {
    const { attachment, lease } = this.#of;
    if (attachment.session === 0 || this.clusterId === hello.clusterId) return undefined;
    if (!attachment.isTakeOver && this.#host.clock() >= lease.deadlineMs) return undefined;
    return `belongs to another cluster (${hello.clusterId}, not ${this.clusterId})`;
  }

  onReady(hello: Hello): void {
    const { outgoing, connection, attachment } = this.#of;
    outgoing.frame.begin(connection.frameBytesMax);
    // A session exists in its own cluster only, and this one is to know nothing of its secret.
    const isStranger = attachment.session !== 0 && this.clusterId !== hello.clusterId;
    this.clusterId = hello.clusterId;
    if (isStranger) this.loseSession("expired");
    else this.attach();
  }

  /** The connection is gone. */
  disconnect(): void {
    const { attachment, outgoing, answers } = this.#of;
    this.#phase = "detached";
    attachment.disconnect();
    outgoing.disconnect();
    answers.disconnect();
  }

  /** Asks for the session, on a connection that is ready. */
  attach(): void {
    this.#phase = "attaching";
    const { attachment, outgoing } = this.#of;
    attachment.send(outgoing.frame, this.#host.clock());
  }

  onAttached(attached: Attached, nowMs: number): void {
    const { attachment, connection, outgoing, answers, lease, locks, watches } = this.#of;
    const { attempt, status, session, generation, stamp, ttlMs, highestSequence, index } = attached;
    if (!attachment.isAnswer(attempt)) return;
    if (status !== STATUS.ok) {
      this.#onRefused(attached, nowMs);
      return;
    }
    const { sentMs, isTakeOver } = attachment;
    if (attachment.session === 0 || isTakeOver) lease.reset(ttlMs);
    attachment.attached(session, generation);
    this.#phase = "attached";
    connection.served();
    watches.attached(index);
    outgoing.attached(nowMs, highestSequence, locks.sequencesToRecall());
    // After the questions for what was missed: before their answers it counts for nothing.
    answers.renew(sentMs, stamp);
  }

  /** The connection says that the session is no more, or not this client's any more. */
  onEnded({ session, reason, taker }: SessionEnded): void {
    if (session !== this.#of.attachment.session) return;
    if (reason === END_REASON.takenOver) this.#displace(taker);
    else this.loseSession(lossReasonOf(reason));
  }

  /** The session is no more. Another one is opened, unless a listener of what was lost closes. */
  loseSession(reason: LossReason): void {
    const { attachment, outgoing, answers, lease, locks, connection } = this.#of;
    if (!this.#host.goesOn()) return;
    this.#phase = "detached";
    attachment.reset();
    lease.reset(this.#host.ttlMs);
    outgoing.keepalives.clear();
    answers.disconnect();
    locks.onSessionLost(reason);
    if (connection.isReady) this.attach();
  }

  #onRefused({ status, generation, taker }: Attached, nowMs: number): void {
    const { attachment, outgoing, connection } = this.#of;
    const code = errorCodeOf(status) ?? "PROTOCOL";
    const isExpired = code === "SESSION_EXPIRED";
    const isForNow = code === "BUSY" || code === "UNAVAILABLE" || code === "DISK_FULL";
    if (isForNow || (isExpired && attachment.session === 0)) {
      const isQuiet = code === "UNAVAILABLE";
      connection.servesNot(isQuiet ? NO_SESSION_YET : `refuses the session for now: ${code}`);
      attachment.refused(nowMs + outgoing.nextPauseMs());
    } else if (code === "TAKEN_OVER") {
      this.#onTakenOver(generation, taker);
    } else if (attachment.isTakeOver) {
      this.#host.end(takeOverFailure(code));
    } else if (attachment.session !== 0 && (isExpired || code === "FORBIDDEN")) {
      this.loseSession("expired");
    } else {
      this.#host.end(new HoldfastError(code, `the cluster refused the session: ${code}`));
    }
  }

  #onTakenOver(generation: number, taker: string): void {
    const { attachment } = this.#of;
    if (!attachment.isTakeOver) {
      this.#displace(taker);
    } else if (this.#host.isForced) {
      attachment.follow(generation);
      this.attach();
    } else {
      const way =
        "one process goes on with an exported session, the first that asks; if that one is gone, " +
        "connect with force, which takes everything from it";
      this.#host.end(takenOver(taker, way));
    }
  }

  #displace(taker: string): void {
    const way =
      "what this client held is that process's now, and this client is of no use any more";
    this.#host.end(takenOver(taker, way), "takenOver");
  }
}
