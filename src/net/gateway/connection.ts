/**
 * One client's connection. Messages of a turn are encoded at once into one frame, borrowed from a
 * pool, which is sent at `flush`. An idle connection owns no buffer.
 */
import { MESSAGE, type ServerMessage, Writer, writeServerMessage } from "../../protocol/index.js";
import { CLOSE_TRY_AGAIN, closeSocket, limitClosing } from "../close-socket.js";
import { writePayload } from "../framing/index.js";
import type { AccountedInput } from "../meter/metered-input.js";
import { TrafficMeter } from "../traffic-meter.js";
import type { ClientConnection } from "../types.js";
import { FRAME_HEADROOM_BYTES } from "../whole-frame.js";
import type { ClientSocket } from "./client-socket.js";
import type { GatewayTuning } from "./options.js";
import { WatchChangesWriter } from "./watch-changes-writer.js";

/**
 * A frame that reaches this size is sent before its turn ends; further messages start a new one.
 */
const FRAME_BYTES_SOFT_MAX = 256 << 10;
/**
 * A turn with small answers to many clients needs many slots, which should then not become garbage.
 */
const SLOT_BYTES_INITIAL = 512;
const FREE_BYTES_MAX = 4 << 20;
/** Beyond so much that a client has not read, its pings are not answered. */
const PONG_BACKLOG_BYTES_MAX = 64 << 10;
/** A larger slot was needed for an unusually long message and is left to the garbage collector. */
const SLOT_BYTES_FREE_MAX = 64 << 10;

/**
 * The frame being filled. It is not touched between sending and its callback, since nothing copies
 * it.
 */
class FrameSlot {
  readonly writer = new Writer(SLOT_BYTES_INITIAL);
  count = 0;
  /** Bytes of memory that it occupies until the socket has taken its frame; 0 before it is sent. */
  heldBytes = 0;
  /** One function per slot instead of one per frame. */
  readonly sent: () => void;

  constructor(release: (slot: FrameSlot) => void) {
    this.sent = () => release(this);
  }
}

/** What the connections of one gateway share. */
export class Outbound {
  readonly tuning: GatewayTuning;
  readonly meter = new TrafficMeter();
  readonly changes = new WatchChangesWriter();
  /** A stack: the slot that was released last is taken first. */
  readonly #free: FrameSlot[] = [];
  #freeBytes = 0;
  readonly #release = (slot: FrameSlot): void => {
    this.#heldBytes -= slot.heldBytes;
    const { capacity } = slot.writer;
    if (capacity > SLOT_BYTES_FREE_MAX) return;
    this.#freeBytes += capacity;
    this.#free.push(slot);
    // The oldest slots go, so that a few large ones cannot displace many small ones forever.
    while (this.#freeBytes > FREE_BYTES_MAX) {
      const oldest = this.#free.shift();
      if (oldest === undefined) break;
      this.#freeBytes -= oldest.writer.capacity;
    }
  };
  /**
   * Bytes of memory occupied by frames that were given to sockets and not yet taken by the kernel,
   * over all connections. A short frame occupies far more than its length.
   */
  #heldBytes = 0;
  /** Connections with messages since the last flush. */
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

  /** Counts the slot's frame as given to a socket. */
  ships(slot: FrameSlot, bytes: number): void {
    slot.heldBytes = slot.writer.capacity;
    this.#heldBytes += slot.heldBytes;
    this.meter.sent(bytes);
  }

  /** Whether too many bytes wait for all clients together. */
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
  /** The address that it comes from (`addressGroup`). */
  readonly address: string;
  session = 0;
  attachEpoch = 0;
  watchCount = 0;
  /**
   * False from the moment when either side began to close. Nothing is received or sent any more.
   */
  isOpen = true;
  /** Whether the client has sent a valid request since the last check. */
  hasAsked = false;
  /** Successive checks at which the client had no use for the connection. */
  idleLooks = 0;
  /** Whether anything has arrived since the last check of this connection. */
  isHeard = true;
  silentLooks = 0;
  /** Pings and pongs since the last check. */
  controlFrames = 0;
  /** Whether it is counted against the places of clients. */
  hasPlace = false;
  attachment: unknown = undefined;
  /** Whose loop time and memory its requests cost. */
  readonly input: AccountedInput;
  #isPaused = false;
  readonly #socket: ClientSocket;
  readonly #outbound: Outbound;
  #slot: FrameSlot | undefined;
  #isTouched = false;

  constructor(id: number, input: AccountedInput, socket: ClientSocket, outbound: Outbound) {
    this.id = id;
    this.input = input;
    this.address = input.address;
    this.#socket = socket;
    this.#outbound = outbound;
  }

  get limitedIdentity(): string {
    return this.input.limitedIdentity;
  }

  set limitedIdentity(name: string) {
    this.input.limitedIdentity = name;
  }

  identify(identity: string | undefined): void {
    this.input.identify(identity);
  }

  /** Whether its client is not heard now, so that its silence means nothing. */
  get isPaused(): boolean {
    return this.#isPaused || this.input.isHeld;
  }

  get certifiedName(): string | undefined {
    return this.#socket.certifiedName;
  }

  get isEncrypted(): boolean {
    return this.#socket.isEncrypted;
  }

  get isLocal(): boolean {
    return this.#socket.isLocal;
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
    const isOfWatch = message.kind === MESSAGE.changes;
    const write = isOfWatch ? this.#outbound.changes.writePayload : writePayload;
    writeServerMessage(slot.writer, message, write);
    slot.count += 1;
    if (slot.writer.length >= FRAME_BYTES_SOFT_MAX) this.#ship(slot);
  }

  /** Sends the messages encoded so far, if any. */
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

  /** Marks the connection as closing, because the client or a broken frame began to end it. */
  leave(): void {
    this.isOpen = false;
    // The end of the connection must be read.
    if (this.#isPaused) this.resume();
    const slot = this.#slot;
    this.#slot = undefined;
    slot?.sent();
  }

  /** Like `leave`, with a limit on how long closing may take. */
  leaveSoon(): void {
    this.leave();
    limitClosing(this.#socket, this.#outbound.tuning.closeGraceMs);
  }

  pause(): void {
    if (!this.isOpen) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  ping(): void {
    this.#socket.ping();
  }

  pong(data: Buffer): void {
    // A client that has this much to read knows that this side is alive, and need not read pongs at
    // all.
    if (this.isOpen && this.#socket.bufferedAmount <= PONG_BACKLOG_BYTES_MAX) {
      this.#socket.pong(data);
    }
  }

  /** Whether the node keeps a session or a watch for this client. */
  get isUsed(): boolean {
    return this.session !== 0 || this.watchCount > 0;
  }

  /**
   * Destroys the socket: for a client that does not read a close frame, or that must not be waited
   * for.
   */
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
    if (isLagging || isTooSlow) this.close(CLOSE_TRY_AGAIN, "reads too slowly");
  }
}
