/**
 * What one link has to say and has not handed to its socket yet: the frame of this turn, and full
 * ones in front of it. Frames come from a pool and go back to it when the socket took their bytes.
 */
import type { Writable } from "node:stream";
import type { WebSocket } from "ws";
import { assert } from "../assert.js";
import { PEER_FRAME_BYTES_MAX } from "../protocol/index.js";
import { encodePeerMessage, peerMessageBytes } from "./peer-encoder.js";
import type { PeerFrame, PeerFramePool } from "./peer-frame.js";
import type { TrafficMeter } from "./traffic-meter.js";
import type { PeerMessage } from "./types.js";
import { sendWhole } from "./whole-frame.js";

export class PeerOutbox {
  readonly #pool: PeerFramePool;
  readonly #meter: TrafficMeter;
  #frame: PeerFrame | undefined;
  /** Full ones, in order. */
  #sealed: PeerFrame[] = [];
  #sealedBytes = 0;

  constructor(pool: PeerFramePool, meter: TrafficMeter) {
    this.#pool = pool;
    this.#meter = meter;
  }

  /** Bytes that wait for `flush`. */
  get bytes(): number {
    return this.#sealedBytes + (this.#frame?.length ?? 0);
  }

  /** Encodes a message behind the others. True when it needed a further frame. */
  add(group: number, message: PeerMessage): boolean {
    const bytes = peerMessageBytes(message);
    assert(bytes <= PEER_FRAME_BYTES_MAX, () => `peer message of ${bytes} bytes`);
    let frame = this.#frame;
    const isFull = frame !== undefined && frame.length + bytes > PEER_FRAME_BYTES_MAX;
    if (frame === undefined || isFull) {
      if (frame !== undefined) this.#seal(frame);
      frame = this.#pool.take();
      this.#frame = frame;
    }
    encodePeerMessage(frame, group, message, bytes);
    return isFull;
  }

  /** Hands everything to the socket, whose stream it is. False when there was nothing. */
  flush(socket: WebSocket, stream: Writable): boolean {
    const frame = this.#frame;
    if (frame === undefined) return false;
    this.#frame = undefined;
    if (this.#sealed.length > 0) {
      for (const full of this.#sealed) this.#send(socket, stream, full);
      this.#sealed = [];
      this.#sealedBytes = 0;
    }
    this.#send(socket, stream, frame);
    return true;
  }

  /** Forgets what waits. */
  clear(): void {
    if (this.#frame !== undefined) this.#pool.give(this.#frame);
    for (const frame of this.#sealed) this.#pool.give(frame);
    this.#frame = undefined;
    this.#sealed = [];
    this.#sealedBytes = 0;
  }

  #send(socket: WebSocket, stream: Writable, frame: PeerFrame): void {
    this.#meter.sent(frame.length);
    sendWhole(socket, stream, "client", frame.written(), frame.sent);
  }

  #seal(frame: PeerFrame): void {
    this.#sealed.push(frame);
    this.#sealedBytes += frame.length;
  }
}
