/**
 * Which identity a connection has. One through the socket in the node's directory is `local`. One
 * with a client certificate is the identity that the certificate names; it gets no hello before the
 * node knows it. Any other is `anonymous` until it signs in with a token, which it may do once,
 * before anything else. A node looks credentials up in its own table. A credential that is not
 * there, or any credential until the node has once heard what is committed, is looked up again
 * after a read barrier. All connections that wait share the barriers, and there are few of them a
 * second, so that strangers cannot keep the leader busy. Permissions are not decided here, but a
 * node that knows, although its table does not, that its cluster is secured holds `anonymous` back
 * until the table has caught up, and keeps it out if it was told to. This file must never keep, log
 * or answer a token.
 */
import { createHash } from "node:crypto";
import { ERROR_NUMBERS } from "../../errors/index.js";
import type { Credential, LockTable, Viewer } from "../../lockfsm/index.js";
import { CLOSE_TRY_AGAIN, type PageCaller } from "../../net/index.js";
import {
  ACCESS_LEVEL,
  LOCAL_CREDENTIAL,
  MESSAGE,
  NO_CREDENTIAL,
  type SignInQuery,
} from "../../protocol/index.js";
import type { Clock, NodeLogger } from "../ports.js";
import type { AccessLog } from "./access-log.js";
import type { Attachment, Attachments } from "./attachments.js";

/** How often credentials that expire are looked at, in milliseconds. */
const EXPIRY_CHECK_MS = 1_000;
/** Between two barriers. */
const BARRIER_PAUSE_MS = 100;

const REASON_UNKNOWN =
  "unknown credential: it was removed or replaced, or belongs to another cluster";
const REASON_EXPIRED = "the credential has expired";
const REASON_OTHER = "the access token is not of the identity that this connection has already";
const REASON_UNSURE = "no contact with a majority: cannot check who this is";
const REASON_LATE = "a sign-in comes before any other request";

export interface SignInParts {
  readonly table: LockTable;
  readonly attachments: Attachments;
  readonly clock: Clock;
  readonly logger: NodeLogger;
  readonly accessLog: AccessLog;
  /** Calls back after a read barrier, or with `false` when it took too long. */
  readonly barrier: (onEnd: (isPassed: boolean) => void) => void;
  /** What the node knows before it has a table. */
  readonly access: { readonly isRequired: boolean; readonly wasClosed: boolean };
  /** The cluster was closed, or opened again. */
  readonly onAccess: (isClosed: boolean) => void;
  /** Rights have changed: ends what the connection may no longer have. */
  readonly judge: (attachment: Attachment) => void;
  /** Says hello, with what the identity of the connection may know. */
  readonly greet: (attachment: Attachment) => void;
}

/** `unsure`: before the first barrier since the start the credential may be one that was removed. */
export type PageRight = "granted" | "refused" | "unsure";

/** A connection that has shown a credential that the node does not know. */
interface Newcomer {
  readonly attachment: Attachment;
  /** Its token; `undefined`: it gets its hello when it is known. */
  readonly query: SignInQuery | undefined;
}

export class SignIn {
  readonly #parts: SignInParts;
  /** They wait for a barrier that has not begun. */
  #waiting: Newcomer[] = [];
  /** Credentials are shown for pages, or will be: the first barrier is asked for until it is passed. */
  #expectsPages = false;
  #isBarrierUnderWay = false;
  #nextBarrierAtMs = Number.NEGATIVE_INFINITY;
  /** Connections whose credential expires. */
  readonly #expiring = new Set<Attachment>();
  /** A barrier was passed since the start: what the table has was committed not long ago. */
  #isCurrent = false;
  /** The cluster is closed, as far as this node has ever known. */
  #isClosed: boolean;
  #revision = 0;
  #checkAtMs = Number.POSITIVE_INFINITY;
  #refusedTotal = 0;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.#isClosed = parts.access.wasClosed;
  }

  /** Sign-ins that were refused since the start. */
  get refusedTotal(): number {
    return this.#refusedTotal;
  }

  /** When `ask` or `expire` has something to do. */
  get nextDeadlineMs(): number {
    const askAtMs = this.#isAsking ? this.#nextBarrierAtMs : Number.POSITIVE_INFINITY;
    return Math.min(askAtMs, this.#checkAtMs);
  }

  /** A new connection. It is greeted now, or when it is known who it is. */
  meet(attachment: Attachment): void {
    const { certifiedName, isLocal } = attachment.connection;
    if (isLocal) {
      attachment.credential = LOCAL_CREDENTIAL;
      this.#parts.greet(attachment);
    } else if (this.#isSureOf(certifiedName)) {
      this.#admit(attachment);
    } else {
      attachment.isHeldBack = true;
      this.#waiting.push({ attachment, query: undefined });
    }
  }

  /** A connection shows its token. */
  begin(attachment: Attachment, query: SignInQuery): void {
    if (attachment.hasAsked) {
      this.#parts.attachments.close(attachment, REASON_LATE);
      return;
    }
    attachment.hasAsked = true;
    const credential = this.#parts.table.findToken(digestOf(query.token));
    const isKnown = this.#isCurrent && credential !== undefined;
    // One that is held back gets its own hello first: it is before this one in the line.
    if (isKnown && !attachment.isHeldBack) this.#decide(attachment, query, credential);
    else {
      attachment.isSigningIn = true;
      this.#waiting.push({ attachment, query });
    }
  }

  /** Whether the table is not too old to say who has that name, or what `anonymous` may do. */
  #isSureOf(certifiedName: string | undefined): boolean {
    const { table, access } = this.#parts;
    if (certifiedName !== undefined) {
      return this.#isCurrent && table.findCertificate(certifiedName) !== undefined;
    }
    return this.#isCurrent || !(access.isRequired || this.#isClosed || this.#isTableClosed);
  }

  get #isTableClosed(): boolean {
    const anonymous = this.#parts.table.viewerOf(NO_CREDENTIAL) as Viewer;
    return anonymous.everywhere < ACCESS_LEVEL.admin;
  }

  /** Whether the connection is one of `anonymous` and this node keeps that out. */
  isShutOut({ credential }: Pick<Attachment, "credential">): boolean {
    return this.#parts.access.isRequired && credential === NO_CREDENTIAL && !this.#isTableClosed;
  }

  /** Whether the connection speaks for an identity that may do nothing. */
  isStranger(attachment: Attachment): boolean {
    const { credential, isHeldBack } = attachment;
    if (isHeldBack || this.isShutOut(attachment)) return true;
    const identity = this.#parts.table.viewerOf(credential);
    return identity === undefined || identity.highest === ACCESS_LEVEL.none;
  }

  /** So that the first caller with a credential gets the page. The next turn must `ask`. */
  expectPages(): void {
    this.#expectsPages = true;
  }

  /** Whether that caller, who is not connected, may read a page. If unsure, the next turn must `ask`. */
  judgePage({ isTrusted, certifiedName, token }: PageCaller): PageRight {
    const { table } = this.#parts;
    const isOpen = this.#isSureOf(undefined) && !this.isShutOut({ credential: NO_CREDENTIAL });
    const anonymous = isOpen ? table.findCredential(NO_CREDENTIAL) : undefined;
    if (isTrusted || this.#mayObserve(anonymous)) return "granted";
    if (token === undefined && certifiedName === undefined) return "refused";
    if (!this.#isCurrent) {
      this.#expectsPages = true;
      return "unsure";
    }
    const byToken = token === undefined ? undefined : table.findToken(digestOf(token));
    const byName = certifiedName === undefined ? undefined : table.findCertificate(certifiedName);
    return this.#mayObserve(byToken) || this.#mayObserve(byName) ? "granted" : "refused";
  }

  #mayObserve(credential: Credential | undefined): boolean {
    if (credential === undefined || this.#isExpired(credential)) return false;
    return credential.identity.highest >= ACCESS_LEVEL.observe;
  }

  get #isAsking(): boolean {
    const isUnsure = this.#expectsPages && !this.#isCurrent && !this.#isBarrierUnderWay;
    return this.#waiting.length > 0 || isUnsure;
  }

  /** Once a turn, before the leader is asked: one barrier for all that wait. */
  ask(nowMs: number): void {
    if (!this.#isAsking || nowMs < this.#nextBarrierAtMs) return;
    const newcomers = this.#waiting;
    this.#waiting = [];
    this.#isBarrierUnderWay = true;
    this.#nextBarrierAtMs = nowMs + BARRIER_PAUSE_MS;
    this.#parts.barrier((isPassed) => this.#onBarrier(newcomers, isPassed));
  }

  /** After a barrier the table has what was committed when they came. */
  #onBarrier(newcomers: readonly Newcomer[], isPassed: boolean): void {
    const { table } = this.#parts;
    this.#isBarrierUnderWay = false;
    if (isPassed && !this.#isCurrent) {
      this.#isCurrent = true;
      this.#noteAccess();
    }
    for (const { attachment, query } of newcomers) {
      // Its token may have been looked at first.
      const isGreeted = query === undefined && !attachment.isHeldBack;
      if (attachment.isClosed || isGreeted) continue;
      if (!isPassed) this.#sendAway(attachment, query);
      else if (query === undefined) this.#admit(attachment);
      else this.#decide(attachment, query, table.findToken(digestOf(query.token)));
    }
  }

  /** Whom a certificate names is known now; a name without a credential belongs to nobody. */
  #admit(attachment: Attachment): void {
    const { table, attachments, greet } = this.#parts;
    const credential = table.findCertificate(attachment.connection.certifiedName ?? "");
    attachment.isHeldBack = false;
    if (credential !== undefined && this.#isExpired(credential)) {
      this.#noteRefusal(attachment, REASON_EXPIRED);
      attachments.close(attachment, REASON_EXPIRED);
      return;
    }
    if (credential !== undefined) this.#speakAs(attachment, credential);
    greet(attachment);
  }

  #decide(attachment: Attachment, { id }: SignInQuery, credential: Credential | undefined): void {
    attachment.isSigningIn = false;
    // Its token must belong to the identity of its certificate, which came first.
    if (attachment.isHeldBack) this.#admit(attachment);
    if (attachment.isClosed) return;
    const problem = this.#problemOf(attachment, credential);
    if (credential === undefined || problem !== undefined) {
      this.#refuse(attachment, id, problem ?? REASON_UNKNOWN);
      return;
    }
    this.#speakAs(attachment, credential);
    this.#parts.greet(attachment);
  }

  #problemOf(
    { credential: shown }: Attachment,
    credential: Credential | undefined,
  ): string | undefined {
    if (credential === undefined) return REASON_UNKNOWN;
    if (this.#isExpired(credential)) return REASON_EXPIRED;
    if (shown === NO_CREDENTIAL) return undefined;
    const viewer = this.#parts.table.viewerOf(shown);
    return viewer === credential.identity ? undefined : REASON_OTHER;
  }

  #speakAs(attachment: Attachment, credential: Credential): void {
    attachment.credential = credential.number;
    const { logger } = this.#parts;
    if (logger.isDebugging === true) {
      const { id, address } = attachment.connection;
      const identity = credential.identity.name;
      logger("debug", "client signed in", { connection: id, address, identity });
    }
    if (credential.expiresWallMs === 0) return;
    this.#expiring.add(attachment);
    this.#checkAtMs = Math.min(this.#checkAtMs, this.#parts.clock.nowMs() + EXPIRY_CHECK_MS);
  }

  #noteRefusal({ connection }: Attachment, reason: string): void {
    this.#refusedTotal += 1;
    this.#parts.accessLog.onSignIn(connection, reason);
  }

  #refuse(attachment: Attachment, id: number, message: string): void {
    this.#noteRefusal(attachment, message);
    const status = ERROR_NUMBERS.UNAUTHENTICATED;
    attachment.connection.send({ kind: MESSAGE.answer, id, status, payload: { message } });
    this.#parts.attachments.close(attachment, message);
  }

  /** Not the client's fault, so that the code must not say so: it would give up after a few. */
  #sendAway(attachment: Attachment, query: SignInQuery | undefined): void {
    if (query !== undefined) {
      const status = ERROR_NUMBERS.UNAVAILABLE;
      const payload = { indeterminate: false };
      attachment.connection.send({ kind: MESSAGE.answer, id: query.id, status, payload });
    }
    this.#parts.attachments.close(attachment, REASON_UNSURE, CLOSE_TRY_AGAIN);
  }

  /** Once a turn in which entries were applied: closes connections whose credential is gone. */
  onApplied(): void {
    const { table, attachments, logger, judge } = this.#parts;
    if (table.accessRevision === this.#revision) return;
    this.#revision = table.accessRevision;
    this.#noteAccess();
    let closed = 0;
    for (const attachment of [...attachments.all()]) {
      if (table.findCredential(attachment.credential) !== undefined) judge(attachment);
      else {
        attachments.close(attachment, REASON_UNKNOWN);
        closed += 1;
      }
    }
    if (closed > 0) logger("info", "credential removed", { connections: closed });
  }

  /** An old table may say that the cluster is closed, but not that it is open. */
  #noteAccess(): void {
    const isClosed = this.#isTableClosed;
    if (isClosed === this.#isClosed || !(isClosed || this.#isCurrent)) return;
    this.#isClosed = isClosed;
    this.#parts.onAccess(isClosed);
  }

  /** Closes connections whose credential has expired. */
  expire(nowMs: number): void {
    if (nowMs < this.#checkAtMs) return;
    const { table, attachments } = this.#parts;
    for (const attachment of [...this.#expiring]) {
      const credential = table.findCredential(attachment.credential);
      if (attachment.isClosed || credential === undefined) this.#expiring.delete(attachment);
      else if (this.#isExpired(credential)) {
        this.#expiring.delete(attachment);
        attachments.close(attachment, REASON_EXPIRED);
      }
    }
    this.#checkAtMs = this.#expiring.size > 0 ? nowMs + EXPIRY_CHECK_MS : Number.POSITIVE_INFINITY;
  }

  #isExpired({ expiresWallMs }: Credential): boolean {
    return expiresWallMs > 0 && expiresWallMs <= this.#parts.clock.wallMs();
  }
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
