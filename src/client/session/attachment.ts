/**
 * Which session this client has and how a connection attaches to it: the nonce that is its secret, the
 * generation that a takeover raises, and the attempt that rises with every transmission, so that the
 * table always knows which connection is the newest. (`docs/internals/semantics.md`, 3.2 and 8.)
 */
import { NONCE_BYTES, OP, TAKER_BYTES } from "../../protocol/index.js";
import type { ClientSettings } from "../options/connect-options.js";
import type { ExportedSession } from "../options/exported-session.js";
import type { FrameWriter } from "../transport/frame-writer.js";
import type { Platform } from "../transport/platform.js";

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
