/**
 * The messages of one link that have not been handed to its socket yet: the frame of this turn, and
 * full frames before it. Frames come from a pool and return to it when the socket has taken their
 * bytes.
 *
 * While the socket is blocked, nothing more is handed to it, and the messages of later turns gather
 * in one frame. One frame per turn would occupy many times the size of its messages.
 */
import { assert } from "../../errors/index.js";
import { PEER_FRAME_BYTES_MAX } from "../../protocol/index.js";
import type { TrafficMeter } from "../traffic-meter.js";
import type { PeerMessage } from "../types.js";
import { encodePeerMessage } from "./encoder.js";
import {
  FRAME_CHECKSUM_BYTES,
  FRAME_FULL_BYTES,
  type PeerFrame,
  type PeerFramePool,
} from "./frame.js";
import type { LinkSocket } from "./link-socket.js";

/** More frames than one turn hands over: with this many not yet taken, the socket is blocked. */
const FRAMES_UNDER_WAY_MAX = 4;

export class PeerOutbox {
  readonly #pool: PeerFramePool;
  readonly #meter: TrafficMeter;
  readonly #onRoom: () => void;
  #frame: PeerFrame | undefined;
  /** Full frames, in order. */
  #sealed: PeerFrame[] = [];
  #sealedBytes = 0;
  #sealedCapacity = 0;
  /** Frames handed to the socket that it has not taken yet. */
  #underWay = 0;
  #underWayCapacity = 0;
  /** Whether a flush has left frames here. */
  #isHeld = false;
  readonly #onTaken = (frame: PeerFrame): void => {
    this.#underWay -= 1;
    this.#underWayCapacity -= frame.capacity;
    this.#pool.give(frame);
    if (!this.#isHeld || this.#underWay >= FRAMES_UNDER_WAY_MAX) return;
    this.#isHeld = false;
    this.#onRoom();
  };

  /**
   * Calls `onRoom` when the socket has taken enough to accept the frames that a flush left here.
   */
  constructor(pool: PeerFramePool, meter: TrafficMeter, onRoom: () => void) {
    this.#pool = pool;
    this.#meter = meter;
    this.#onRoom = onRoom;
  }

  /** Bytes that wait for `flush`. */
  get bytes(): number {
    return this.#sealedBytes + (this.#frame?.length ?? 0);
  }

  /** Bytes of memory occupied by all frames here and in the socket. */
  get capacity(): number {
    return this.#underWayCapacity + this.#sealedCapacity + (this.#frame?.capacity ?? 0);
  }

  /** Encodes a message after the others. Returns true if that needed another frame. */
  add(group: number, message: PeerMessage): boolean {
    this.#frame ??= this.#pool.take();
    const frame = this.#frame;
    const start = frame.length;
    encodePeerMessage(frame, group, message);
    const bytes = frame.length - start;
    assert(
      bytes <= PEER_FRAME_BYTES_MAX - FRAME_CHECKSUM_BYTES,
      () => `peer message of ${bytes} bytes`,
    );
    if (frame.length <= FRAME_FULL_BYTES || start === FRAME_CHECKSUM_BYTES) return false;
    this.#frame = this.#pool.take();
    frame.moveFrom(start, this.#frame);
    this.#seal(frame);
    return true;
  }

  /**
   * Hands everything to the socket, unless that is blocked. Returns false if there was nothing to
   * send. With `isLast` it does not wait for a blocked socket, because no later flush will come.
   */
  flush(socket: LinkSocket, isLast: boolean): boolean {
    const frame = this.#frame;
    if (frame === undefined) return false;
    if (this.#underWay >= FRAMES_UNDER_WAY_MAX && !isLast) {
      this.#isHeld = true;
      return true;
    }
    this.#frame = undefined;
    if (this.#sealed.length > 0) {
      for (const full of this.#sealed) this.#send(socket, full);
      this.#forgetSealed();
    }
    this.#send(socket, frame);
    return true;
  }

  /** Discards everything that has not been handed to the socket. */
  clear(): void {
    if (this.#frame !== undefined) this.#pool.give(this.#frame);
    for (const frame of this.#sealed) this.#pool.give(frame);
    this.#frame = undefined;
    this.#forgetSealed();
    this.#isHeld = false;
  }

  #send(socket: LinkSocket, frame: PeerFrame): void {
    this.#meter.sent(frame.length);
    this.#underWay += 1;
    this.#underWayCapacity += frame.capacity;
    frame.onTaken = this.#onTaken;
    socket.send(frame);
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
