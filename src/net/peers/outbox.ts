/**
 * What one link has to say and has not handed to its socket yet: the frame of this turn, and full
 * ones in front of it. Frames come from a pool and go back to it when the socket took their bytes.
 *
 * While the socket stands still nothing more is handed to it: what the turns have to say gathers in
 * one frame. A frame for each turn would occupy many times what is in it.
 */
import type { Writable } from "node:stream";
import type { WebSocket } from "ws";
import { assert } from "../../assert.js";
import { PEER_FRAME_BYTES_MAX } from "../../protocol/index.js";
import type { TrafficMeter } from "../traffic-meter.js";
import type { PeerMessage } from "../types.js";
import { sendWhole } from "../whole-frame.js";
import { encodePeerMessage, peerMessageBytes } from "./encoder.js";
import { FRAME_CHECKSUM_BYTES } from "./format.js";
import type { PeerFrame, PeerFramePool } from "./frame.js";

/** A frame that holds so much is full, unless a single message is longer. */
const FRAME_FULL_BYTES = 1 << 20;
/** More than a turn hands over: with so many not taken, the socket stands still. */
const FRAMES_UNDER_WAY_MAX = 4;

export class PeerOutbox {
  readonly #pool: PeerFramePool;
  readonly #meter: TrafficMeter;
  readonly #onRoom: () => void;
  #frame: PeerFrame | undefined;
  /** Full ones, in order. */
  #sealed: PeerFrame[] = [];
  #sealedBytes = 0;
  #sealedCapacity = 0;
  /** Handed to a socket that has not taken them yet. */
  #underWay = 0;
  #underWayCapacity = 0;
  /** A flush has left something here. */
  #isHeld = false;
  readonly #onTaken = (frame: PeerFrame): void => {
    this.#underWay -= 1;
    this.#underWayCapacity -= frame.capacity;
    this.#pool.give(frame);
    if (!this.#isHeld || this.#underWay >= FRAMES_UNDER_WAY_MAX) return;
    this.#isHeld = false;
    this.#onRoom();
  };

  /** `onRoom`: the socket has taken enough for what a flush had to leave. */
  constructor(pool: PeerFramePool, meter: TrafficMeter, onRoom: () => void) {
    this.#pool = pool;
    this.#meter = meter;
    this.#onRoom = onRoom;
  }

  /** Bytes that wait for `flush`. */
  get bytes(): number {
    return this.#sealedBytes + (this.#frame?.length ?? 0);
  }

  /** What is occupied by all that waits here or in the socket. */
  get capacity(): number {
    return this.#underWayCapacity + this.#sealedCapacity + (this.#frame?.capacity ?? 0);
  }

  /** Encodes a message behind the others. True when it needed a further frame. */
  add(group: number, message: PeerMessage): boolean {
    const bytes = peerMessageBytes(message);
    assert(
      bytes <= PEER_FRAME_BYTES_MAX - FRAME_CHECKSUM_BYTES,
      () => `peer message of ${bytes} bytes`,
    );
    let frame = this.#frame;
    const isFull = frame !== undefined && frame.length + bytes > FRAME_FULL_BYTES;
    if (frame === undefined || isFull) {
      if (frame !== undefined) this.#seal(frame);
      frame = this.#pool.take();
      this.#frame = frame;
    }
    encodePeerMessage(frame, group, message, bytes);
    return isFull;
  }

  /**
   * Hands everything to the socket, whose stream it is, unless that stands still. False when there
   * was nothing. `isLast`: there is no later moment for it.
   */
  flush(socket: WebSocket, stream: Writable, isLast: boolean): boolean {
    const frame = this.#frame;
    if (frame === undefined) return false;
    if (this.#underWay >= FRAMES_UNDER_WAY_MAX && !isLast) {
      this.#isHeld = true;
      return true;
    }
    this.#frame = undefined;
    if (this.#sealed.length > 0) {
      for (const full of this.#sealed) this.#send(socket, stream, full);
      this.#forgetSealed();
    }
    this.#send(socket, stream, frame);
    return true;
  }

  /** Forgets what waits. */
  clear(): void {
    if (this.#frame !== undefined) this.#pool.give(this.#frame);
    for (const frame of this.#sealed) this.#pool.give(frame);
    this.#frame = undefined;
    this.#forgetSealed();
    this.#isHeld = false;
  }

  #send(socket: WebSocket, stream: Writable, frame: PeerFrame): void {
    this.#meter.sent(frame.length);
    this.#underWay += 1;
    this.#underWayCapacity += frame.capacity;
    frame.onTaken = this.#onTaken;
    sendWhole(socket, stream, "client", frame.finish(), frame.sent);
  }

  #seal(frame: PeerFrame): void {
    this.#sealed.push(frame);
    this.#sealedBytes += frame.length;
    this.#sealedCapacity += frame.capacity;
  }

  #forgetSealed(): void {
    this.#sealed = [];
    this.#sealedBytes = 0;
    this.#sealedCapacity = 0;
  }
}
