/**
 * As whom a connection speaks: as `anonymous` until it signs in, which it may do once, before anything
 * else. A node knows credentials by its own table; one that it does not know, or any until it has
 * heard once what is committed, is looked up again after a read barrier. Who may do what is not
 * decided here. Never keeps, logs or answers a token.
 */
import { createHash } from "node:crypto";
import { ERROR_NUMBERS } from "../../errors.js";
import type { Credential, LockTable } from "../../lockfsm/index.js";
import type { PageCaller } from "../../net/index.js";
import { ACCESS_LEVEL, MESSAGE, NO_CREDENTIAL, type SignInQuery } from "../../protocol/index.js";
import type { Clock, Logger } from "../ports.js";
import type { Attachment, Attachments } from "./attachments.js";

/** How often credentials that expire are looked at, in milliseconds. */
const EXPIRY_CHECK_MS = 1_000;

const REASON_UNKNOWN = "unknown or removed credential";
const REASON_EXPIRED = "the credential has expired";

export interface SignInParts {
  readonly table: LockTable;
  readonly attachments: Attachments;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Asks for a read barrier, after which `answer` is called. */
  readonly ask: (attachment: Attachment, query: SignInQuery) => void;
  /** Who may do what has changed: ends what the connection may not have any more. */
  readonly judge: (attachment: Attachment) => void;
  /** Says hello, with what the identity of the connection may know. */
  readonly greet: (attachment: Attachment) => void;
}

export class SignIn {
  readonly #parts: SignInParts;
  /** Connections whose credential expires. */
  readonly #expiring = new Set<Attachment>();
  /** A barrier was passed since the start: what the table has was committed not long ago. */
  #isCurrent = false;
  #revision = 0;
  #checkAtMs = Number.POSITIVE_INFINITY;
  #refusedTotal = 0;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /** Sign-ins that were refused since the start. */
  get refusedTotal(): number {
    return this.#refusedTotal;
  }

  /** When `expire` has something to do. */
  get nextDeadlineMs(): number {
    return this.#checkAtMs;
  }

  /** A connection shows its token. */
  begin(attachment: Attachment, query: SignInQuery): void {
    if (attachment.hasAsked) {
      this.#parts.attachments.close(attachment, "a sign-in comes before any other request");
      return;
    }
    attachment.hasAsked = true;
    const credential = this.#parts.table.findToken(digestOf(query.token));
    if (this.#isCurrent && credential !== undefined) this.#decide(attachment, query, credential);
    else {
      attachment.isSigningIn = true;
      this.#parts.ask(attachment, query);
    }
  }

  /** Whether the connection speaks for an identity that may do nothing. */
  isStranger({ credential }: Attachment): boolean {
    const identity = this.#parts.table.findCredential(credential)?.identity;
    return identity === undefined || identity.highest === ACCESS_LEVEL.none;
  }

  /** Whether a page may be read by that caller, who is not connected. */
  mayRead({ isTrusted, certifiedName, token }: PageCaller): boolean {
    const { table } = this.#parts;
    const shown = [
      token === undefined ? undefined : table.findToken(digestOf(token)),
      certifiedName === undefined ? undefined : table.findCertificate(certifiedName),
      table.findCredential(NO_CREDENTIAL),
    ];
    const isKnown = (credential: Credential | undefined): boolean =>
      credential !== undefined &&
      !this.#isExpired(credential) &&
      credential.identity.highest >= ACCESS_LEVEL.observe;
    return isTrusted || shown.some(isKnown);
  }

  /** A connection with a certificate that names `name`; it speaks for that identity from the start. */
  admit(attachment: Attachment, name: string): void {
    const credential = this.#parts.table.findCertificate(name);
    if (credential === undefined) return;
    attachment.credential = credential.number;
    this.#watchExpiry(attachment, credential);
  }

  /** After a barrier: what the table has now was committed when the token was shown. */
  answer(attachment: Attachment, query: SignInQuery): void {
    this.#isCurrent = true;
    this.#decide(attachment, query, this.#parts.table.findToken(digestOf(query.token)));
  }

  #decide(attachment: Attachment, { id }: SignInQuery, credential: Credential | undefined): void {
    attachment.isSigningIn = false;
    if (attachment.isClosed) return;
    const isExpired = credential !== undefined && this.#isExpired(credential);
    if (credential === undefined || isExpired) {
      this.#refuse(attachment, id, isExpired ? REASON_EXPIRED : REASON_UNKNOWN);
      return;
    }
    attachment.credential = credential.number;
    this.#watchExpiry(attachment, credential);
    this.#parts.greet(attachment);
  }

  #refuse(attachment: Attachment, id: number, message: string): void {
    this.#refusedTotal += 1;
    const status = ERROR_NUMBERS.UNAUTHENTICATED;
    attachment.connection.send({ kind: MESSAGE.answer, id, status, payload: { message } });
    this.#parts.attachments.close(attachment, message);
  }

  /** Once a turn in which entries were applied: closes connections whose credential is gone. */
  onApplied(): void {
    const { table, attachments, logger, judge } = this.#parts;
    if (table.accessRevision === this.#revision) return;
    this.#revision = table.accessRevision;
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

  #watchExpiry(attachment: Attachment, { expiresWallMs }: Credential): void {
    if (expiresWallMs === 0) return;
    this.#expiring.add(attachment);
    this.#checkAtMs = Math.min(this.#checkAtMs, this.#parts.clock.nowMs() + EXPIRY_CHECK_MS);
  }

  #isExpired({ expiresWallMs }: Credential): boolean {
    return expiresWallMs > 0 && expiresWallMs <= this.#parts.clock.wallMs();
  }
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
