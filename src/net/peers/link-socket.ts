/**
 * One end of a link, over TCP or TLS: sends and receives frames, and ends with a code and a reason.
 * It speaks first only when `greet` is called, so a stranger to the port who has not shown that it
 * speaks this language hears nothing of a link. It must not know what the frames mean.
 *
 * Everything is written to the stream at once, in one piece for each frame: a frame of messages is
 * not copied on the way.
 */
import type { Socket } from "node:net";
import type { PeerFrame } from "./frame.js";
import { type FrameEvents, FrameReader } from "./frame-reader.js";
import { PEER_CLOSE, type PeerCloseCode } from "./hello.js";
import {
  BEFORE_HELLO,
  closeFrame,
  FRAME,
  type FrameLimits,
  frameOfKind,
  LINK_PREFACE,
  type LinkClose,
  readClose,
} from "./link-frame.js";

/** A connection that ended without a `close`. */
export const CLOSED_WITHOUT_WORDS = 1006;

/** With more than this to read, the other side knows that this one is alive. */
const PONG_BACKLOG_BYTES_MAX = 1_024;
const PING = frameOfKind(FRAME.ping);
const PONG = frameOfKind(FRAME.pong);

/** Frames but `close`. Nothing is reported after this side has ended the link. */
export interface LinkEvents extends FrameEvents {
  /** The other side has ended the connection, or it broke. */
  onEnd(end: LinkClose, error: Error | undefined): void;
}

export class LinkSocket {
  readonly #stream: Socket;
  readonly #events: LinkEvents;
  readonly #reader: FrameReader;
  /** Whether the other side has heard that this is a link. */
  #isIntroduced = false;
  #isOpen = true;

  constructor(stream: Socket, events: LinkEvents) {
    this.#stream = stream;
    this.#events = events;
    const onFrame = (kind: number, body: Uint8Array): void => this.#heard(kind, body);
    this.#reader = new FrameReader(BEFORE_HELLO, { ...events, onFrame });
    stream.setNoDelay(true);
    stream.on("data", (chunk: Buffer) => this.#reader.push(chunk));
    stream.on("error", (error) => this.#ended(WITHOUT_WORDS, error));
    stream.on("end", () => this.#ended(WITHOUT_WORDS));
    stream.on("close", () => this.#ended(WITHOUT_WORDS));
  }

  /** Whether the other side has shown that this is a link. */
  get isHeard(): boolean {
    return this.#reader.isOfLink;
  }

  /** Bytes that the kernel has not taken yet. */
  get bufferedBytes(): number {
    return this.#stream.writableLength;
  }

  /** Sends the hello. */
  greet(hello: Uint8Array): void {
    this.#write(frameOfKind(FRAME.hello, hello));
  }

  /** The hello of the other side was accepted: from now on these frames may come. */
  accept(limits: FrameLimits): void {
    this.#reader.limits = limits;
  }

  /** Sends messages. The frame must not be touched until `frame.sent` is called, which it always is. */
  send(frame: PeerFrame): void {
    if (this.#isOpen) this.#stream.write(frame.finishWhole(), frame.sent);
    else frame.sent();
  }

  ping(): void {
    this.#write(PING);
  }

  /** Answers a ping, unless the other side has not read what was sent before. */
  pong(): void {
    if (this.bufferedBytes <= PONG_BACKLOG_BYTES_MAX) this.#write(PONG);
  }

  /**
   * Ends the link with a reason, after everything that was sent. The other side has `graceMs` to read
   * that; what it still sends is not kept.
   */
  close(code: PeerCloseCode, reason: string, graceMs: number): void {
    if (!this.#isIntroduced && !this.#reader.isOfLink) this.destroy();
    else if (this.#isOpen) {
      this.#write(closeFrame(code, reason));
      this.#endWithin(graceMs);
    }
  }

  /** Ends a connection that is not a link, with these bytes. */
  answerForeign(bytes: Uint8Array, graceMs: number): void {
    if (!this.#isOpen) return;
    this.#stream.write(bytes);
    this.#endWithin(graceMs);
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#isOpen = false;
    this.#reader.stop();
    this.#stream.destroy();
  }

  #heard(kind: number, body: Uint8Array): void {
    if (kind !== FRAME.close) {
      this.#events.onFrame(kind, body);
      return;
    }
    const close = readClose(body);
    if (close !== undefined) this.#ended(close);
    else this.#events.onBad(PEER_CLOSE.badFrame, "a close without a code");
  }

  #write(frame: Buffer): void {
    if (!this.#isOpen) return;
    this.#stream.write(this.#isIntroduced ? frame : Buffer.concat([LINK_PREFACE, frame]));
    this.#isIntroduced = true;
  }

  #endWithin(graceMs: number): void {
    this.#isOpen = false;
    this.#reader.stop();
    const stream = this.#stream;
    stream.end();
    const timer = setTimeout(() => stream.destroy(), graceMs);
    stream.once("close", () => clearTimeout(timer));
  }

  #ended(end: LinkClose, error?: Error): void {
    if (!this.#isOpen) return;
    this.destroy();
    this.#events.onEnd(end, error);
  }
}

const WITHOUT_WORDS: LinkClose = { code: CLOSED_WITHOUT_WORDS, reason: "" };
