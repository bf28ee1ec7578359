/**
 * Finds the frames of a link in the bytes that arrive, in whatever pieces. Every length is judged
 * before anything is kept for it. It must never keep anything of a connection that is not a link: the
 * first byte that does not fit is the last one that it looks at.
 *
 * A body that lies whole in what has arrived is not copied if it is most of that; a small part of a
 * large piece is, so that its reader does not keep the piece.
 */
import { PEER_CLOSE, type PeerCloseCode } from "./hello.js";
import {
  FRAME_HEAD_BYTES,
  type FrameLimits,
  LINK_MAGIC,
  LINK_PREFACE,
  PEER_LINK_VERSION,
} from "./link-frame.js";

export interface FrameEvents {
  /** `body` may be kept. */
  onFrame(kind: number, body: Uint8Array): void;
  /** What comes is not a link; this is its first byte. */
  onForeign(first: number): void;
  /** The other side speaks another version, or sent a frame that it may not send. */
  onBad(code: PeerCloseCode, reason: string): void;
}

export class FrameReader {
  /** What may come now. */
  limits: FrameLimits;
  readonly #events: FrameEvents;
  /** Bytes of the preface that have come. */
  #prefaced = 0;
  #version = 0;
  /** The head of a frame that came in pieces. */
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #headLength = 0;
  /** The body of a frame that came in pieces. */
  #body: Uint8Array | undefined;
  #bodyLength = 0;
  #kind = 0;
  #isStopped = false;

  constructor(limits: FrameLimits, events: FrameEvents) {
    this.limits = limits;
    this.#events = events;
  }

  /** Whether the other side speaks the language of links, in this version or another one. */
  get isOfLink(): boolean {
    return this.#prefaced >= LINK_MAGIC.length;
  }

  /** Reads nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#body = undefined;
  }

  push(chunk: Uint8Array): void {
    let at = this.#readPreface(chunk);
    while (at < chunk.length && !this.#isStopped) {
      at =
        this.#body === undefined ? this.#readFrame(chunk, at) : this.#fill(this.#body, chunk, at);
    }
  }

  #readPreface(chunk: Uint8Array): number {
    let at = 0;
    while (at < chunk.length && this.#prefaced < LINK_PREFACE.length && !this.#isStopped) {
      const byte = chunk[at] as number;
      const isMagic = this.#prefaced < LINK_MAGIC.length;
      if (isMagic && byte !== LINK_MAGIC[this.#prefaced]) {
        this.stop();
        this.#events.onForeign(this.#prefaced === 0 ? byte : (LINK_MAGIC[0] as number));
        return at;
      }
      if (!isMagic) this.#version = this.#version * 256 + byte;
      this.#prefaced += 1;
      at += 1;
      if (this.#prefaced === LINK_PREFACE.length && this.#version !== PEER_LINK_VERSION) {
        const what = `the link has version ${this.#version}, this node speaks ${PEER_LINK_VERSION}`;
        this.#refuse(PEER_CLOSE.version, `${what}: run one version of Holdfast on all nodes`);
      }
    }
    return at;
  }

  /** Reads a frame, or what has come of it. @returns where it ends */
  #readFrame(chunk: Uint8Array, start: number): number {
    let head = chunk;
    let headAt = start;
    let at = start + FRAME_HEAD_BYTES;
    if (this.#headLength > 0 || at > chunk.length) {
      at = Math.min(chunk.length, at - this.#headLength);
      this.#head.set(chunk.subarray(start, at), this.#headLength);
      this.#headLength += at - start;
      if (this.#headLength < FRAME_HEAD_BYTES) return at;
      this.#headLength = 0;
      head = this.#head;
      headAt = 0;
    }
    const length = uint32(head, headAt);
    const kind = head[headAt + 4] as number;
    const most = this.limits[kind];
    if (most === undefined) {
      this.#refuse(PEER_CLOSE.badFrame, `a frame of kind ${kind} is not allowed here`);
    } else if (length > most) {
      const reason = `a frame of kind ${kind} with ${length} bytes, at most ${most}`;
      this.#refuse(PEER_CLOSE.badFrame, reason);
    } else if (chunk.length - at >= length) {
      this.#events.onFrame(kind, keepable(chunk, at, at + length));
      return at + length;
    } else {
      this.#kind = kind;
      this.#bodyLength = 0;
      this.#body = new Uint8Array(length);
    }
    return at;
  }

  #fill(body: Uint8Array, chunk: Uint8Array, start: number): number {
    const at = Math.min(chunk.length, start + body.length - this.#bodyLength);
    body.set(chunk.subarray(start, at), this.#bodyLength);
    this.#bodyLength += at - start;
    if (this.#bodyLength === body.length) {
      this.#body = undefined;
      this.#events.onFrame(this.#kind, body);
    }
    return at;
  }

  #refuse(code: PeerCloseCode, reason: string): void {
    this.stop();
    this.#events.onBad(code, reason);
  }
}

function keepable({ buffer, byteOffset, length }: Uint8Array, at: number, end: number): Uint8Array {
  const body = new Uint8Array(buffer, byteOffset + at, end - at);
  return body.length * 2 >= length && length === buffer.byteLength ? body : new Uint8Array(body);
}

function uint32(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}
