/**
 * Which session this client has and how a connection attaches to it: the nonce that is its secret,
 * and the attempt that rises with every transmission of an open or resume, so that the table always
 * knows which connection is the newest ("Attaching is decided in the log").
 */
import { NONCE_BYTES, OP } from "../protocol/index.js";
import type { ExportedSession } from "./exported-session.js";
import type { FrameWriter } from "./frame-writer.js";
import type { ClientSettings } from "./options.js";
import type { Platform } from "./platform.js";

const NEVER = Number.POSITIVE_INFINITY;

export class Attachment {
  readonly #platform: Platform;
  readonly #settings: ClientSettings;
  /** 0 while there is no session; an `open` may be on its way then. */
  session = 0;
  #nonce: string;
  /** Never used twice, so that an answer matches one transmission, whichever session it was for. */
  #attempt = 0;
  /** The session was another process's, and this one was not heard by the table yet. */
  #isTakeOver = false;
  #takeOverSentMs = NEVER;
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
  get credentials(): {
    readonly session: number;
    readonly nonce: string;
    readonly attempt: number;
  } {
    return { session: this.session, nonce: this.#nonce, attempt: this.#attempt };
  }

  get isTakeOver(): boolean {
    return this.#isTakeOver;
  }

  /**
   * All transmissions of a takeover are one attempt: nothing else was ever said under it, so the
   * table may repeat its answer, and gives what is held new tokens once. It finds them by the old
   * ones.
   */
  takeOver({ session, nonce, attempt }: ExportedSession): void {
    this.session = session;
    this.#nonce = nonce;
    this.#attempt = attempt + 1;
    this.#isTakeOver = true;
  }

  /** Lease time before the first transmission of the attempt: what its answer proves. */
  get provenMs(): number {
    return Math.min(this.sentMs, this.#takeOverSentMs);
  }

  /** The table gave this client the session. */
  attached(session: number): void {
    this.session = session;
    this.#isTakeOver = false;
    this.#takeOverSentMs = NEVER;
    this.disconnect();
  }

  /** Resumes the session, or opens one. */
  send(frame: FrameWriter, nowMs: number): void {
    if (this.#isTakeOver) this.#takeOverSentMs = Math.min(this.#takeOverSentMs, nowMs);
    else this.#attempt += 1;
    this.sentMs = nowMs;
    this.againAtMs = NEVER;
    const attempt = this.#attempt;
    const nonce = this.#nonce;
    const { ttlMs, name, metadata } = this.#settings;
    if (this.session === 0) frame.add({ op: OP.open, nonce, attempt, ttlMs, name, metadata });
    else {
      const op = this.#isTakeOver ? OP.takeOver : OP.resume;
      frame.add({ op, session: this.session, nonce, attempt });
    }
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
    this.#isTakeOver = false;
    this.#takeOverSentMs = NEVER;
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
