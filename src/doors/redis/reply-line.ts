/**
 * What one connection is sent, in order: the replies to its commands, and messages between them. A
 * reply stays data until little waits for the socket; then it is encoded, and written once a turn,
 * in chunks, as far as the client takes them.
 *
 * It must never keep more than its limits, nor send anything out of order.
 */
import type { Socket } from "node:net";
import type { DoorClock } from "../clock.js";
import { encodeReply, type Protocol, type RespReply } from "./resp/index.js";

/** Given to the socket at once, so that a slow client is seen to take something. */
const CHUNK_BYTES_MAX = 64 << 10;
/** Replies that are encoded and wait for the socket; beyond it no further ones are. */
const BACKLOG_BYTES_MAX = 1 << 20;
/** Commands without a written reply; beyond it none may begin. */
const COMMANDS_BYTES_MAX = 1 << 20;
/** What a message costs in addition to its bytes. */
const MESSAGE_COST_BYTES = 128;
/** Places that are done with are removed when there are this many. */
const WRITTEN_MAX = 1_024;

/** The place of a reply, or of a message. */
export interface ReplyPlace {
  /** `undefined` while the command runs. */
  reply: RespReply | undefined;
  /** In which it is to be written. */
  protocol: Protocol;
  /** The bytes of a message, encoded already. */
  readonly message: string | undefined;
  /** What it keeps alive until its reply is encoded. */
  readonly size: number;
}

interface ReplyLineEvents {
  /** Replies were encoded: there may be room for further commands. */
  onRoom(): void;
  /** Something was thrown; the line must be closed. */
  onBroken(error: unknown): void;
}

/** None of its methods throws, `push` aside. */
export class ReplyLine {
  readonly #socket: Socket;
  readonly #clock: DoorClock;
  readonly #events: ReplyLineEvents;
  #places: ReplyPlace[] = [];
  /** How many of `#places` are encoded already. */
  #written = 0;
  #pending = "";
  #unsettled = 0;
  /** The bytes of commands and messages whose places are not encoded. */
  #commandBytes = 0;
  #messageBytes = 0;
  #isFlushPlanned = false;
  #isBusy = false;
  #isEnding = false;
  #isClosed = false;
  readonly #flush = (): void => this.write();

  constructor(socket: Socket, clock: DoorClock, events: ReplyLineEvents) {
    this.#socket = socket;
    this.#clock = clock;
    this.#events = events;
    socket.on("drain", () => {
      this.#isBusy = false;
      this.write();
    });
  }

  /** The socket has taken all that it should until the client has read that. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Every command has its reply, encoded if not written. */
  get isEmpty(): boolean {
    return this.#places.length === 0;
  }

  /** Commands that have no reply yet. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /** Bytes of messages that wait for replies or for room. */
  get messageBytes(): number {
    return this.#messageBytes;
  }

  /** Whether a further command may begin, if at most `placesMax` may be without a reply. */
  mayOpen(placesMax: number): boolean {
    if (!this.#hasRoom || this.#commandBytes >= COMMANDS_BYTES_MAX) return false;
    return this.#places.length - this.#written < placesMax;
  }

  /** A command begins. `size`: its bytes. */
  open(size: number): ReplyPlace {
    const place: ReplyPlace = { reply: undefined, protocol: 2, message: undefined, size };
    this.#places.push(place);
    this.#commandBytes += size;
    this.#unsettled += 1;
    return place;
  }

  settle(place: ReplyPlace, reply: RespReply, protocol: Protocol): void {
    place.reply = reply;
    place.protocol = protocol;
    this.#unsettled -= 1;
    if (this.#places[this.#written] === place) this.#advance();
  }

  /** A message: never between two parts of a reply, and not before replies that came earlier. */
  push(message: RespReply, protocol: Protocol): void {
    const bytes = encodeReply(message, protocol);
    if (this.#written === this.#places.length && this.#hasRoom) {
      this.#pending += bytes;
    } else {
      const size = bytes.length + MESSAGE_COST_BYTES;
      this.#messageBytes += size;
      this.#places.push({ reply: null, protocol, message: bytes, size });
    }
    this.#planFlush();
  }

  /** The socket is ended once everything is written. */
  endAfterReplies(): void {
    this.#isEnding = true;
    this.#planFlush();
  }

  close(): void {
    this.#isClosed = true;
    this.#places = [];
    this.#written = 0;
    this.#pending = "";
  }

  write(): void {
    this.#isFlushPlanned = false;
    if (this.#isClosed) return;
    const wasFull = !this.#hasRoom;
    try {
      while (this.#pending !== "" && !this.#isBusy) {
        const bytes = this.#pending.slice(0, CHUNK_BYTES_MAX);
        this.#pending = this.#pending.slice(bytes.length);
        this.#isBusy = !this.#socket.write(bytes, "latin1");
      }
      if (this.#isEnding && this.isEmpty && this.#pending === "") this.#socket.end();
    } catch (error) {
      this.#events.onBroken(error);
      return;
    }
    if (wasFull && this.#hasRoom) this.#advance();
  }

  /** Whether replies may be encoded. */
  get #hasRoom(): boolean {
    return this.#pending.length < BACKLOG_BYTES_MAX;
  }

  /** Takes the replies that are ready at the head of the line, as far as there is room. */
  #advance(): void {
    if (this.#isClosed) return;
    try {
      this.#takeReady();
      this.#planFlush();
      this.#events.onRoom();
    } catch (error) {
      this.#events.onBroken(error);
    }
  }

  #takeReady(): void {
    let at = this.#written;
    while (at < this.#places.length && this.#hasRoom) {
      const place = this.#places[at] as ReplyPlace;
      const { reply, protocol, message, size } = place;
      if (reply === undefined) break;
      if (message === undefined) {
        this.#pending += encodeReply(reply, protocol);
        this.#commandBytes -= size;
        place.reply = undefined;
      } else {
        this.#pending += message;
        this.#messageBytes -= size;
      }
      at += 1;
    }
    this.#written = at;
    if (at === this.#places.length) {
      this.#places = [];
      this.#written = 0;
    } else if (at >= WRITTEN_MAX) {
      this.#places.splice(0, at);
      this.#written = 0;
    }
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    this.#clock.soon(this.#flush);
  }
}
