/**
 * One client's connection. What is said to the client in a turn is encoded at once into one frame,
 * borrowed from a pool, which leaves at `flush`. An idle connection owns no buffer.
 */
import { MESSAGE, type ServerMessage, Writer, writeServerMessage } from "../../protocol/index.js";
import { closeSocket, limitClosing } from "../close-socket.js";
import { packPayload } from "../framing/index.js";
import { TrafficMeter } from "../traffic-meter.js";
import type { ClientConnection } from "../types.js";
import { FRAME_HEADROOM_BYTES } from "../whole-frame.js";
import { ChangesWriter } from "./changes-writer.js";
import type { GatewayTuning } from "./options.js";
import type { GatewaySocket } from "./socket.js";

/** A frame that reached this size leaves before its turn ends; the next one follows it. */
const FRAME_BYTES_SOFT_MAX = 256 << 10;
/** A turn that answers many clients a little needs many slots, which should not be garbage then. */
const SLOT_BYTES_INITIAL = 512;
const FREE_BYTES_MAX = 4 << 20;
/** What grew beyond this said something unusually long and is left to the collector. */
const SLOT_BYTES_FREE_MAX = 64 << 10;

/** The frame being filled. Not touched between sending and its callback: nobody makes a copy. */
class FrameSlot {
  readonly writer = new Writer(SLOT_BYTES_INITIAL);
  count = 0;
  /** What it keeps from being used until the socket took its frame; 0 before. */
  heldBytes = 0;
  /** One function per slot, not one per frame. */
  readonly sent: () => void;

  constructor(release: (slot: FrameSlot) => void) {
    this.sent = () => release(this);
  }
}

/** What the connections of one gateway share. */
export class Outbound {
  readonly tuning: GatewayTuning;
  readonly meter = new TrafficMeter();
  readonly changes = new ChangesWriter();
  /** The last one in is the first one out. */
  readonly #free: FrameSlot[] = [];
  #freeBytes = 0;
  readonly #release = (slot: FrameSlot): void => {
    this.#heldBytes -= slot.heldBytes;
    const { capacity } = slot.writer;
    if (capacity > SLOT_BYTES_FREE_MAX) return;
    this.#freeBytes += capacity;
    this.#free.push(slot);
    // The oldest go: a few large ones must not take the place of many small ones for ever.
    while (this.#freeBytes > FREE_BYTES_MAX) {
      const oldest = this.#free.shift();
      if (oldest === undefined) break;
      this.#freeBytes -= oldest.writer.capacity;
    }
  };
  /**
   * What the frames occupy that were given to sockets and not taken by the kernel, of all
   * connections: a short one far more than it is long.
   */
  #heldBytes = 0;
  /** Connections that were given something to say since the last flush. */
  #touched: GatewayConnection[] = [];

  constructor(tuning: GatewayTuning) {
    this.tuning = tuning;
  }

  takeSlot(): FrameSlot {
    let slot = this.#free.pop();
    if (slot === undefined) slot = new FrameSlot(this.#release);
    else this.#freeBytes -= slot.writer.capacity;
    slot.writer.beginFrame(FRAME_HEADROOM_BYTES);
    slot.count = 0;
    slot.heldBytes = 0;
    return slot;
  }

  /** The slot's frame goes to a socket now. */
  ships(slot: FrameSlot, bytes: number): void {
    slot.heldBytes = slot.writer.capacity;
    this.#heldBytes += slot.heldBytes;
    this.meter.sent(bytes);
  }

  /** Too much waits for all clients together. */
  get isOverfull(): boolean {
    return this.#heldBytes > this.tuning.totalBufferedBytesMax;
  }

  touch(connection: GatewayConnection): void {
    this.#touched.push(connection);
  }

  flush(): void {
    this.changes.forget();
    const touched = this.#touched;
    if (touched.length === 0) return;
    this.#touched = [];
    for (const connection of touched) connection.flush();
  }
}

export class GatewayConnection implements ClientConnection {
  readonly id: number;
  /** Where it comes from (`addressGroup`). */
  readonly address: string;
  session = 0;
  attachEpoch = 0;
  watchCount = 0;
  /** False from the moment either side began to close. Nothing is taken or said any more. */
  isOpen = true;
  /** The client asked for something sensible since the last look. */
  hasAsked = false;
  /** Looks at it, one after the other, at which it had no use of the connection. */
  idleLooks = 0;
  /** Of a message that has begun and not ended; kept by `UnfinishedFrames`. */
  unfinishedBytes = 0;
  /** Anything arrived since the last look at this connection. */
  isHeard = true;
  silentLooks = 0;
  /** Pings and pongs since the last look. */
  controlFrames = 0;
  readonly #socket: GatewaySocket;
  readonly #outbound: Outbound;
  #slot: FrameSlot | undefined;
  #isTouched = false;

  constructor(id: number, address: string, socket: GatewaySocket, outbound: Outbound) {
    this.id = id;
    this.address = address;
    this.#socket = socket;
    this.#outbound = outbound;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount + (this.#slot?.writer.length ?? 0);
  }

  send(message: ServerMessage): void {
    if (!this.isOpen) return;
    let slot = this.#slot;
    if (slot === undefined) {
      slot = this.#outbound.takeSlot();
      this.#slot = slot;
      if (!this.#isTouched) {
        this.#isTouched = true;
        this.#outbound.touch(this);
      }
    }
    if (message.kind === MESSAGE.changes) this.#outbound.changes.write(slot.writer, message);
    else writeServerMessage(slot.writer, message, packPayload);
    slot.count += 1;
    if (slot.writer.length >= FRAME_BYTES_SOFT_MAX) this.#ship(slot);
  }

  /** Sends what was said so far, if anything. */
  flush(): void {
    this.#isTouched = false;
    if (this.#slot !== undefined) this.#ship(this.#slot);
  }

  close(code: number, reason: string): void {
    if (!this.isOpen) return;
    if (this.#slot !== undefined) this.#ship(this.#slot);
    this.leave();
    closeSocket(this.#socket, code, reason, this.#outbound.tuning.closeGraceMs);
  }

  /** The other side, or a broken frame, began to end the connection. */
  leave(): void {
    this.isOpen = false;
    const slot = this.#slot;
    this.#slot = undefined;
    slot?.sent();
  }

  /** As `leave`, with a limit on how long the end may take. */
  leaveSoon(): void {
    this.leave();
    limitClosing(this.#socket, this.#outbound.tuning.closeGraceMs);
  }

  ping(): void {
    this.#socket.ping();
  }

  pong(data: Buffer): void {
    if (this.isOpen) this.#socket.pong(data);
  }

  /** Whether the client has something here that the node keeps for it. */
  get isUsed(): boolean {
    return this.session !== 0 || this.watchCount > 0;
  }

  /** For a client that is not there to read a close frame, or must not be waited for. */
  cutOff(): void {
    this.leave();
    this.#socket.terminate();
  }

  #ship(slot: FrameSlot): void {
    this.#slot = undefined;
    slot.writer.endFrame(slot.count);
    const frame = slot.writer.view();
    const outbound = this.#outbound;
    const isLagging = outbound.isOverfull && this.#socket.bufferedAmount > 0;
    outbound.ships(slot, frame.length);
    this.#socket.sendWhole(frame, slot.sent);
    const isTooSlow = this.#socket.bufferedAmount > outbound.tuning.bufferedBytesMax;
    if (isLagging || isTooSlow) this.close(1013, "reads too slowly");
  }
}
