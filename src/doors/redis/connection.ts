/**
 * One connection of a Redis client: bytes in, commands one after the other, replies in their order,
 * and the limits that keep one client from harming others. What commands mean is in `commands`.
 *
 * Each command has a place in the line of replies. Replies that are ready at the head of the line are
 * written once a turn. A client that reads too slowly is cut off; one that asks for too much at once is
 * not read from until it has answers.
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
/** Replies that the client has not taken. */
const BACKLOG_BYTES_MAX = 1 << 20;

interface Place {
  /** Its bytes; `undefined` while the command runs. */
  bytes: string | undefined;
}

export interface ConnectionEvents {
  onClosed(connection: RedisConnection): void;
  /** Why a connection was cut off. */
  onCutOff(address: string, reason: string): void;
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
  #isFlushPlanned = false;
  /** Commands wait until it is known as whom they are given. */
  #isHeld = false;
  #isPaused = false;
  #isEnding = false;
  #isClosed = false;
  #strangerTicks = 0;
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
    const subscriptions = new Subscriptions((message) => this.push(message), parts.subscriptions);
    this.session = new Session(this, parts.node, parts.callers, parts.rules, subscriptions);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
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

  /** Once a second: ends what must not stay. */
  tick(): void {
    if (this.session.isRevoked) {
      this.cutOff("its identity has lost its credential");
    } else if (this.session.isStranger) {
      this.#strangerTicks += 1;
      if (this.#strangerTicks > STRANGER_TICKS_MAX) this.cutOff("it did not sign in");
    } else {
      this.#strangerTicks = 0;
    }
  }

  push(message: Reply): void {
    if (this.#isClosed) return;
    const bytes = encodeReply(message, this.session.protocol);
    const last = this.#places.length - 1;
    // Never between two parts of a reply, and not before replies that came earlier.
    if (this.#written <= last) this.#places.push({ bytes });
    else this.#pending += bytes;
    this.#planFlush();
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

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#places = [];
    this.#written = 0;
    this.session.close();
    this.#events.onClosed(this);
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed || this.#isEnding) return;
    this.#reader.push(chunk);
    this.#handleCommands();
  }

  #handleCommands(): void {
    const { session } = this;
    try {
      while (!this.#isHeld && !this.#isPaused && !this.#isClosed && !this.#isEnding) {
        const isStranger = session.isStranger;
        const command = this.#reader.next(
          isStranger ? STRANGER_COMMAND_BYTES_MAX : COMMAND_BYTES_MAX,
        );
        if (command === undefined) return;
        this.#handle(command);
        const max = isStranger ? STRANGER_IN_FLIGHT_MAX : COMMANDS_IN_FLIGHT_MAX;
        if (this.#places.length - this.#written >= max) this.#pause();
      }
    } catch (error) {
      if (!(error instanceof ProtocolProblem)) throw error;
      this.#refuseProtocol(error);
    }
  }

  #refuseProtocol({ message, isSilent }: ProtocolProblem): void {
    if (!isSilent) this.#places.push({ bytes: `-ERR Protocol error: ${message}\r\n` });
    this.#events.onCutOff(this.address, message);
    this.#advance();
    this.endAfterReplies();
  }

  #handle(command: readonly Buffer[]): void {
    const place: Place = { bytes: undefined };
    this.#places.push(place);
    this.#counts.commandsTotal += 1;
    const { protocol } = this.session;
    let result: Reply | Promise<Reply>;
    try {
      result = answer(this.session, command, (task) => this.#hold(task));
    } catch (error) {
      this.#fail(place, error, protocol);
      return;
    }
    if (!(result instanceof Promise)) {
      // HELLO answers in the protocol that it sets.
      this.#settle(place, encodeReply(result, this.session.protocol));
      return;
    }
    result.then(
      (reply) => this.#settle(place, encodeReply(reply, this.session.protocol)),
      (error: unknown) => this.#fail(place, error, protocol),
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

  #fail(place: Place, error: unknown, protocol: Protocol): void {
    const failure = failureOf(error, this.session.isKnown);
    if (failure.kind === "close") {
      this.cutOff(failure.reason);
      return;
    }
    this.#counts.refusedTotal += 1;
    this.#settle(place, encodeReply(failure, protocol));
  }

  #settle(place: Place, bytes: string): void {
    place.bytes = bytes;
    if (this.#places[this.#written] === place) this.#advance();
  }

  /** Takes the replies that are ready at the head of the line. */
  #advance(): void {
    if (this.#isClosed) return;
    let at = this.#written;
    while (at < this.#places.length) {
      const { bytes: ready } = this.#places[at] as Place;
      if (ready === undefined) break;
      this.#pending += ready;
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
    this.#planFlush();
    if (this.#isPaused) this.#resume();
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(this.#flush);
  }

  #writePending(): void {
    this.#isFlushPlanned = false;
    const bytes = this.#pending;
    if (this.#isClosed) return;
    if (bytes !== "") {
      this.#pending = "";
      this.#socket.write(bytes, "latin1");
      if (this.#socket.writableLength > BACKLOG_BYTES_MAX) {
        this.#events.onCutOff(this.address, "it does not read its replies");
        this.#socket.destroy();
        this.#close();
        return;
      }
    }
    if (this.#isEnding && this.#places.length === 0) this.#socket.end();
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    const max = this.session.isStranger ? STRANGER_IN_FLIGHT_MAX : COMMANDS_IN_FLIGHT_MAX;
    if (this.#places.length - this.#written > max / 2) return;
    this.#isPaused = false;
    if (!this.#isHeld) this.#socket.resume();
    this.#handleCommands();
  }
}
