/**
 * One connection of a Redis client: bytes in, commands one after the other, replies in their order,
 * and the limits that keep one client from harming others. What commands mean is in `commands`.
 *
 * Each command has a place in the line of replies. Replies that are ready at the head of the line are
 * encoded and written once a turn, as far as the client takes them. From one that asks for too much at
 * once, or takes its replies slowly, nothing is read until there is room; one that takes none is cut off.
 *
 * What goes wrong with one connection never goes beyond it: whatever is thrown ends this connection.
 */
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { StreamClient } from "../../net/index.js";
import { answer } from "./commands/command-table.js";
import type { Callers, DoorCounts, DoorNode } from "./ports.js";
import { failureOf } from "./refusals.js";
import {
  encodeReply,
  type Protocol,
  ProtocolProblem,
  type Reply,
  RespReader,
} from "./resp/index.js";
import { type DoorRules, Session, type SessionPort } from "./session.js";
import { type SubscriptionSource, Subscriptions } from "./subscriptions.js";

/** Of a connection that has shown who it is, or need not. */
const COMMANDS_IN_FLIGHT_MAX = 1_024;
const COMMAND_BYTES_MAX = 512 << 10;
/** Of any other. */
const STRANGER_IN_FLIGHT_MAX = 16;
const STRANGER_COMMAND_BYTES_MAX = 4 << 10;
const STRANGER_TICKS_MAX = 10;
/** Given to the socket at once, so that a slow client is seen to take something. */
const CHUNK_BYTES_MAX = 64 << 10;
/** Replies that are encoded and wait for the socket; beyond it no further ones are. */
const BACKLOG_BYTES_MAX = 1 << 20;
/** Commands without a written reply; beyond it none is read. */
const COMMANDS_KEPT_BYTES_MAX = 1 << 20;
/** Messages that wait for replies or for room; beyond it the connection is cut off. */
const MESSAGES_BYTES_MAX = 1 << 20;
/** What a message costs beside its bytes. */
const MESSAGE_COST_BYTES = 128;
/**
 * A client that must take its replies before more is done for it, or go, and does not for so long, is
 * cut off. The buffers of the system show that it takes something in steps of a megabyte or so.
 */
const STALLED_TICKS_MAX = 60;

const UNREAD = "it does not read its replies";

interface Place {
  /** `undefined` while the command runs. */
  reply: Reply | undefined;
  /** In which it is to be written. */
  protocol: Protocol;
  /** Of a message: its bytes, encoded already. */
  readonly message: string | undefined;
  /** What it keeps alive until its reply is encoded. */
  readonly size: number;
}

export interface ConnectionEvents {
  onClosed(connection: RedisConnection): void;
  /** Why a connection was cut off. */
  onCutOff(address: string, reason: string): void;
  /** Something was thrown that no client can be told. */
  onBroken(address: string, error: unknown): void;
}

export class RedisConnection implements SessionPort {
  readonly id: number;
  readonly session: Session;
  readonly #client: StreamClient;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #counts: DoorCounts;
  readonly #reader = new RespReader();
  /** In the order of their commands. */
  #places: Place[] = [];
  /** Of `#places`, those that are written already. */
  #written = 0;
  #pending = "";
  /** Of commands and of messages that have places which are not written. */
  #commandBytes = 0;
  #messageBytes = 0;
  #isFlushPlanned = false;
  /** The socket has taken all that it should until the client has read that. */
  #isBusy = false;
  /** Commands wait until it is known as whom they are given. */
  #isHeld = false;
  #isPaused = false;
  #isEnding = false;
  #isClosed = false;
  #strangerTicks = 0;
  #stalledTicks = 0;
  /** Bytes that had gone out at the last tick. */
  #takenBytes = 0;
  readonly #flush = (): void => this.#writePending();

  constructor(
    id: number,
    client: StreamClient,
    parts: {
      readonly node: DoorNode;
      readonly callers: Callers;
      readonly rules: DoorRules;
      readonly subscriptions: SubscriptionSource;
      readonly counts: DoorCounts;
    },
    events: ConnectionEvents,
  ) {
    this.id = id;
    this.#client = client;
    this.#socket = client.socket;
    this.#events = events;
    this.#counts = parts.counts;
    const subscriptions = new Subscriptions(this, parts.subscriptions);
    this.session = new Session(this, parts.node, parts.callers, parts.rules, subscriptions);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("drain", () => this.#onDrain());
    this.#socket.once("close", () => this.#close());
  }

  get address(): string {
    return this.#client.address;
  }

  get isEncrypted(): boolean {
    return this.#client.isEncrypted;
  }

  get certifiedName(): string | undefined {
    return this.#client.certifiedName;
  }

  /** Once a second: ends what must not stay. Never throws. */
  tick(): void {
    try {
      this.#judge();
    } catch (error) {
      this.#breakDown(error);
    }
  }

  #judge(): void {
    if (this.session.isRevoked) {
      this.cutOff("its identity has lost its credential");
      return;
    }
    this.#strangerTicks = this.session.isStranger ? this.#strangerTicks + 1 : 0;
    this.#stalledTicks = this.#isStalled() ? this.#stalledTicks + 1 : 0;
    if (this.#strangerTicks > STRANGER_TICKS_MAX) this.cutOff("it did not sign in");
    else if (this.#stalledTicks > STALLED_TICKS_MAX) this.cutOff(UNREAD);
  }

  /** Whether it waits for a client that has taken nothing since the last tick. */
  #isStalled(): boolean {
    const { bytesWritten, writableLength } = this.#socket;
    const before = this.#takenBytes;
    this.#takenBytes = bytesWritten - writableLength;
    if (!this.#isBusy && !(this.#isEnding && this.#places.length === 0)) return false;
    return this.#takenBytes === before;
  }

  /** Never between two parts of a reply, and not before replies that came earlier. */
  push(message: Reply): void {
    if (this.#isClosed) return;
    try {
      const bytes = encodeReply(message, this.session.protocol);
      if (this.#written === this.#places.length && this.#hasRoom) {
        this.#pending += bytes;
      } else {
        const size = bytes.length + MESSAGE_COST_BYTES;
        this.#messageBytes += size;
        this.#places.push({ reply: null, protocol: 2, message: bytes, size });
      }
      this.#planFlush();
    } catch (error) {
      this.#breakDown(error);
      return;
    }
    if (this.#messageBytes > MESSAGES_BYTES_MAX) this.cutOff("it does not read its messages");
  }

  endAfterReplies(): void {
    this.#isEnding = true;
    this.#planFlush();
  }

  cutOff(reason: string): void {
    if (this.#isClosed) return;
    if (reason !== "") this.#events.onCutOff(this.address, reason);
    this.#writePending();
    this.#socket.destroy();
    this.#close();
  }

  /** Something was thrown that is nothing to tell a client. */
  #breakDown(error: unknown): void {
    if (this.#isClosed) return;
    this.#events.onBroken(this.address, error);
    this.#socket.destroy();
    this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#places = [];
    this.#written = 0;
    this.#pending = "";
    this.session.close();
    this.#events.onClosed(this);
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed || this.#isEnding) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#breakDown(error);
    }
    this.#handleCommands();
  }

  /** Never throws. */
  #handleCommands(): void {
    const { session } = this;
    try {
      while (!this.#isHeld && !this.#isPaused && !this.#isClosed && !this.#isEnding) {
        const isStranger = session.isStranger;
        const command = this.#reader.next(
          isStranger ? STRANGER_COMMAND_BYTES_MAX : COMMAND_BYTES_MAX,
        );
        if (command === undefined) return;
        this.#handle(command, isStranger);
        if (!this.#mayRead(isStranger ? STRANGER_IN_FLIGHT_MAX : COMMANDS_IN_FLIGHT_MAX)) {
          this.#pause();
        }
      }
    } catch (error) {
      if (error instanceof ProtocolProblem) this.#refuseProtocol(error);
      else this.#breakDown(error);
    }
  }

  /** Whether replies may be encoded. */
  get #hasRoom(): boolean {
    return this.#pending.length < BACKLOG_BYTES_MAX;
  }

  /** Whether a further command may begin. */
  #mayRead(placesMax: number): boolean {
    if (!this.#hasRoom || this.#commandBytes >= COMMANDS_KEPT_BYTES_MAX) return false;
    return this.#places.length - this.#written < placesMax;
  }

  #refuseProtocol({ message, isSilent }: ProtocolProblem): void {
    if (!isSilent) {
      const reply = { code: "ERR", message: `Protocol error: ${message}` };
      this.#places.push({ reply, protocol: 2, message: undefined, size: 0 });
    }
    this.#events.onCutOff(this.address, message);
    this.#advance();
    this.endAfterReplies();
  }

  #handle(command: readonly Buffer[], isStranger: boolean): void {
    let size = 0;
    for (const { length } of command) size += length;
    const place: Place = { reply: undefined, protocol: 2, message: undefined, size };
    this.#places.push(place);
    this.#commandBytes += size;
    this.#counts.commandsTotal += 1;
    let result: Reply | Promise<Reply>;
    try {
      result = answer(this.session, command, (task) => this.#hold(task), isStranger);
    } catch (error) {
      this.#fail(place, error);
      return;
    }
    if (!(result instanceof Promise)) {
      this.#settle(place, result);
      return;
    }
    result.then(
      (reply) => this.#settle(place, reply),
      (error: unknown) => this.#fail(place, error),
    );
  }

  /** No further command begins before `task` has ended. */
  #hold(task: Promise<unknown>): void {
    this.#isHeld = true;
    this.#socket.pause();
    const onEnd = (): void => {
      this.#isHeld = false;
      if (!this.#isPaused) this.#socket.resume();
      this.#handleCommands();
    };
    task.then(onEnd, onEnd);
  }

  /** Never throws. */
  #fail(place: Place, error: unknown): void {
    if (this.#isClosed) return;
    try {
      const failure = failureOf(error, this.session.isKnown);
      if (failure.kind === "close") {
        this.cutOff(failure.reason);
        return;
      }
      this.#counts.refusedTotal += 1;
      this.#settle(place, failure);
    } catch (thrown) {
      this.#breakDown(thrown);
    }
  }

  /** Never throws. */
  #settle(place: Place, reply: Reply): void {
    place.reply = reply;
    // HELLO answers in the protocol that it sets.
    place.protocol = this.session.protocol;
    if (this.#places[this.#written] === place) this.#advance();
  }

  /** Takes the replies that are ready at the head of the line, as far as there is room. Never throws. */
  #advance(): void {
    if (this.#isClosed) return;
    try {
      this.#takeReady();
      this.#planFlush();
      if (this.#isPaused) this.#resume();
    } catch (error) {
      this.#breakDown(error);
    }
  }

  #takeReady(): void {
    let at = this.#written;
    while (at < this.#places.length && this.#hasRoom) {
      const place = this.#places[at] as Place;
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
    } else if (at >= COMMANDS_IN_FLIGHT_MAX) {
      this.#places.splice(0, at);
      this.#written = 0;
    }
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(this.#flush);
  }

  /** Never throws. */
  #writePending(): void {
    this.#isFlushPlanned = false;
    if (this.#isClosed) return;
    const wasFull = !this.#hasRoom;
    try {
      while (this.#pending !== "" && !this.#isBusy) {
        const bytes = this.#pending.slice(0, CHUNK_BYTES_MAX);
        this.#pending = this.#pending.slice(bytes.length);
        this.#isBusy = !this.#socket.write(bytes, "latin1");
      }
      const isDone = this.#places.length === 0 && this.#pending === "";
      if (this.#isEnding && isDone) this.#socket.end();
    } catch (error) {
      this.#breakDown(error);
      return;
    }
    if (wasFull && this.#hasRoom) this.#advance();
  }

  #onDrain(): void {
    this.#isBusy = false;
    this.#writePending();
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    const max = this.session.isStranger ? STRANGER_IN_FLIGHT_MAX : COMMANDS_IN_FLIGHT_MAX;
    if (!this.#mayRead(max / 2 + 1)) return;
    this.#isPaused = false;
    if (!this.#isHeld) this.#socket.resume();
    this.#handleCommands();
  }
}
