/**
 * From a connection to a session that may be used over it: opens, resumes or takes over, and asks
 * for everything that the connections before may have swallowed. Which session it is stands in
 * `attachment.ts`; what happens to locks when it is lost, in `locks.ts`.
 */
import { errorCodeOf, HoldfastError } from "../../errors.js";
import {
  type Attached,
  END_REASON,
  type Hello,
  type SessionEnded,
  STATUS,
} from "../../protocol/index.js";
import type { Outgoing } from "../calls/outgoing.js";
import { type LossReason, lossReasonOf, takenOver, takeOverFailure } from "../failures.js";
import type { Lease } from "../lease/lease.js";
import type { Locks } from "../locks/locks.js";
import type { Watches } from "../reads/watches.js";
import type { Connection } from "../transport/connection.js";
import type { Answers } from "./answers.js";
import type { Attachment } from "./attachment.js";

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
    outgoing.pulses.clear();
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
