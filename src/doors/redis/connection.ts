/**
 * One connection of a Redis client: bytes in, commands one after the other, replies in their order,
 * and the limits that keep one client from harming others. What commands mean is in `commands`.
 *
 * From a client that asks for too much at once, or takes its replies slowly (`reply-line.ts`), nothing is
 * read until there is room; one that takes none is cut off.
 *
 * What goes wrong with one connection never goes beyond it: whatever is thrown ends this connection.
 */
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { MeteredInput, StreamClient } from "../../net/index.js";
import type { DoorClock } from "../clock.js";
import { answer } from "./commands/command-table.js";
import { type ConnectionPort, ConnectionState, type DoorRules } from "./connection-state.js";
import type { Callers, DoorCounts, DoorNode } from "./ports.js";
import { type SubscriptionSource, Subscriptions } from "./pubsub/index.js";
import { failureOf } from "./refusals.js";
import { ReplyLine, type ReplyPlace } from "./reply-line.js";
import { ProtocolProblem, RespReader, type RespReply } from "./resp/index.js";

/** The limit of a connection that has shown who it is, or need not. */
const COMMANDS_IN_FLIGHT_MAX = 1_024;
const COMMAND_BYTES_MAX = 512 << 10;
/** The limit of any other connection. */
const STRANGER_IN_FLIGHT_MAX = 16;
const STRANGER_COMMAND_BYTES_MAX = 4 << 10;
const STRANGER_TICKS_MAX = 10;
/** Messages that wait for replies or for room; beyond it the connection is cut off. */
const MESSAGES_BYTES_MAX = 1 << 20;
/**
 * A client whose replies wait, and that takes nothing for so long, is cut off. The buffers of the system
 * show that it takes something in steps of a megabyte or so.
 */
const STALLED_TICKS_MAX = 60;

const UNREAD = "it does not read its replies";

export interface RedisConnectionEvents {
  onClosed(connection: RedisConnection): void;
  /** Why a connection was cut off. */
  onCutOff(address: string, reason: string): void;
  /** Something was thrown that cannot be reported to a client. */
  onBroken(address: string, error: unknown): void;
}

export class RedisConnection implements ConnectionPort {
  readonly id: number;
  readonly state: ConnectionState;
  readonly #client: StreamClient;
  readonly #socket: Socket;
  readonly #input: MeteredInput;
  readonly #events: RedisConnectionEvents;
  readonly #counts: DoorCounts;
  readonly #reader = new RespReader();
  readonly #replies: ReplyLine;
  /** Commands wait until it is known as whom they are given. */
  #isHeld = false;
  #isPaused = false;
  #isEnding = false;
  #isClosed = false;
  /** Belongs to the newest command, if that waits until it alone has no reply. */
  #onAlone: (() => void) | undefined;
  #strangerTicks = 0;
  #stalledTicks = 0;
  /** Bytes that had gone out at the last tick. */
  #takenBytes = 0;

  constructor(
    id: number,
    client: StreamClient,
    parts: {
      readonly node: DoorNode;
      readonly callers: Callers;
      readonly rules: DoorRules;
      readonly subscriptions: SubscriptionSource;
      readonly counts: DoorCounts;
      readonly clock: DoorClock;
    },
    events: RedisConnectionEvents,
  ) {
    this.id = id;
    this.#client = client;
    this.#socket = client.socket;
    this.#input = client.input;
    this.#input.cutOffUnfinished = (reason) => this.cutOff(reason);
    this.#events = events;
    this.#counts = parts.counts;
    this.#replies = new ReplyLine(this.#socket, parts.clock, {
      onRoom: () => {
        if (this.#isPaused) this.#resume();
      },
      onBroken: (error) => this.#breakDown(error),
    });
    const subscriptions = new Subscriptions(this, parts.subscriptions);
    this.state = new ConnectionState(this, parts.node, parts.callers, parts.rules, subscriptions);
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

  /** Once a second: ends what must not stay. Never throws. */
  tick(): void {
    try {
      this.#judge();
    } catch (error) {
      this.#breakDown(error);
    }
  }

  #judge(): void {
    if (this.state.isRevoked) {
      this.cutOff("its identity has lost its credential");
      return;
    }
    this.#strangerTicks = this.state.isStranger ? this.#strangerTicks + 1 : 0;
    this.#stalledTicks = this.#isStalled() ? this.#stalledTicks + 1 : 0;
    if (this.#strangerTicks > STRANGER_TICKS_MAX) this.cutOff("it did not sign in");
    else if (this.#stalledTicks > STALLED_TICKS_MAX) this.cutOff(UNREAD);
  }

  /** Whether it waits for a client that has taken nothing since the last tick. */
  #isStalled(): boolean {
    const { bytesWritten, writableLength } = this.#socket;
    const before = this.#takenBytes;
    this.#takenBytes = bytesWritten - writableLength;
    if (!this.#replies.isBusy && !(this.#isEnding && this.#replies.isEmpty)) return false;
    return this.#takenBytes === before;
  }

  identify(identity: string | undefined): void {
    this.#input.identify(identity);
  }

  push(message: RespReply): void {
    if (this.#isClosed) return;
    try {
      this.#replies.push(message, this.state.protocol);
    } catch (error) {
      this.#breakDown(error);
      return;
    }
    const { messageBytes } = this.#replies;
    if (messageBytes > MESSAGES_BYTES_MAX) this.cutOff("it does not read its messages");
  }

  repliesBefore(): Promise<void> | undefined {
    if (this.#replies.unsettled <= 1) return;
    return new Promise((resolve) => {
      this.#onAlone = resolve;
    });
  }

  endAfterReplies(): void {
    this.#isEnding = true;
    this.#replies.endAfterReplies();
  }

  cutOff(reason: string): void {
    if (this.#isClosed) return;
    if (reason !== "") this.#events.onCutOff(this.address, reason);
    this.#replies.write();
    this.#socket.destroy();
    this.#close();
  }

  /** Something was thrown that must not be reported to a client. */
  #breakDown(error: unknown): void {
    if (this.#isClosed) return;
    this.#events.onBroken(this.address, error);
    this.#socket.destroy();
    this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#replies.close();
    this.state.close();
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

  /** Goes on with what was read before. */
  #continue(): void {
    if (this.#isClosed) return;
    this.#input.begin();
    this.#handleCommands();
  }

  /** Never throws. */
  #handleCommands(): void {
    const { state } = this;
    try {
      while (!this.#isHeld && !this.#isPaused && !this.#isClosed && !this.#isEnding) {
        if (this.#input.mustYield) {
          this.#input.later(() => this.#continue());
          break;
        }
        const isStranger = state.isStranger;
        const command = this.#reader.next(
          isStranger ? STRANGER_COMMAND_BYTES_MAX : COMMAND_BYTES_MAX,
        );
        if (command === undefined) break;
        if (command.length === 0) continue;
        this.#handle(command, isStranger);
        const most = isStranger ? STRANGER_IN_FLIGHT_MAX : COMMANDS_IN_FLIGHT_MAX;
        if (!this.#replies.mayOpen(most)) this.#pause();
      }
    } catch (error) {
      if (error instanceof ProtocolProblem) this.#refuseProtocol(error);
      else this.#breakDown(error);
    }
    this.#input.keeps(this.#isEnding ? 0 : this.#reader.keptBytes);
  }

  #refuseProtocol({ message, isSilent }: ProtocolProblem): void {
    if (!isSilent) {
      this.#settle(this.#replies.open(0), { code: "ERR", message: `Protocol error: ${message}` });
    }
    this.#events.onCutOff(this.address, message);
    this.endAfterReplies();
  }

  #handle(command: readonly Buffer[], isStranger: boolean): void {
    let size = 0;
    for (const { length } of command) size += length;
    const place = this.#replies.open(size);
    this.#counts.commandsTotal += 1;
    let result: RespReply | Promise<RespReply>;
    try {
      result = answer(this.state, command, (task) => this.#holdBack(task), isStranger);
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
  #holdBack(task: Promise<unknown>): void {
    this.#isHeld = true;
    this.#socket.pause();
    const onEnd = (): void => {
      this.#isHeld = false;
      if (!this.#isPaused) this.#socket.resume();
      this.#continue();
    };
    task.then(onEnd, onEnd);
  }

  /** Never throws. */
  #fail(place: ReplyPlace, error: unknown): void {
    if (this.#isClosed) return;
    try {
      const failure = failureOf(error, this.state.isKnown);
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

  /** HELLO answers in the protocol that it sets. */
  #settle(place: ReplyPlace, reply: RespReply): void {
    this.#replies.settle(place, reply, this.state.protocol);
    if (this.#onAlone === undefined || this.#replies.unsettled > 1) return;
    this.#onAlone();
    this.#onAlone = undefined;
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    const max = this.state.isStranger ? STRANGER_IN_FLIGHT_MAX : COMMANDS_IN_FLIGHT_MAX;
    if (!this.#replies.mayOpen(max / 2 + 1)) return;
    this.#isPaused = false;
    if (!this.#isHeld) this.#socket.resume();
    this.#continue();
  }
}
