/**
 * Which client connection of this node is attached to which session, and the delivery of the
 * table's messages. The log alone decides this: a connection is attached when this node applies the
 * open or resume that came on it, and not before. Messages to sessions that are attached
 * elsewhere are dropped here; the node of that session delivers them.
 */

import type { ErrorNumber } from "../../errors/index.js";
import { Fifo, type TableOutbox } from "../../lockfsm/index.js";
import type { ClientConnection } from "../../net/index.js";
import {
  type AttachCommand,
  type Attached,
  attachKeyOf,
  isAttachCommand,
  MESSAGE,
  NO_CREDENTIAL,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../protocol/index.js";
import { type LimitedClient, Share } from "../limits/usage.js";
import type { CommandSource, CommandSources, KeptCommand } from "./kept-commands.js";
import { Lane } from "./lane.js";
import type { ServedWatch, Watcher } from "./served-watch.js";

/** WebSocket close code "policy violation". */
const CLOSE_POLICY = 1008;
/** WebSocket close code "service restart": the client can connect again, here or elsewhere. */
const CLOSE_RESTART = 1012;
export const CLOSE_REASON_ATTACHED_ELSEWHERE = "session attached elsewhere";

/** The fields of `attached` that mean nothing if it carries an error. */
const NOT_ATTACHED = Object.freeze({
  kind: MESSAGE.attached,
  key: "",
  session: 0,
  epoch: 0,
  highestSequence: 0,
  stamp: 0,
  ttlMs: 0,
  index: 0,
});

/**
 * What this node knows of one client connection: the session it is attached to, the number of its
 * next command, and its commands that were not executed yet.
 */
export class Attachment implements CommandSource, Watcher, LimitedClient {
  readonly connection: ClientConnection;
  readonly kept = new Fifo<KeptCommand>();
  readonly lane = new Lane<KeptCommand>();
  /** The number that the next command of the session must have; everything below was admitted. */
  expected = 0;
  /**
   * The command with the number `expected` was refused: commands with higher numbers are dropped.
   */
  isRefusing = false;
  /** It once had a session: commands that were on their way when that ended are dropped. */
  wasAttached = false;
  /** Key of the attach that this connection waits for; `undefined` when it waits for none. */
  awaitedAttach: string | undefined;
  /** The number of the credential it speaks by. */
  credential: number = NO_CREDENTIAL;
  /** It has asked for something: it may not sign in any more. */
  hasAsked = false;
  /** It has not been sent its hello, because it is not known yet who it is. */
  isHeldBack = false;
  /** It asked to sign in, and may ask for nothing else before the answer. */
  isSigningIn = false;
  /** It asked to be allowed only to read, for good. */
  isReadOnly = false;
  /** Reads without an answer yet. */
  readCount = 0;
  /** By the number that the client gave each. */
  readonly watches = new Map<number, ServedWatch>();
  /** The number of the last time of trouble in which the client was told to move. */
  toldInTrouble = 0;
  isClosed = false;
  /** Its limits by identity and by address. */
  readonly share = new Share();
  turnOf: number | undefined = undefined;

  constructor(connection: ClientConnection) {
    this.connection = connection;
  }
}

/** Receives what happens to connections. */
export interface AttachmentEvents {
  /** The table sent `message` to the client. */
  onTold(attachment: Attachment, message: SessionMessage | Attached): void;
  /**
   * Nothing that came on the connection before this can be answered on it any more: either side
   * closed it, it was attached again, or its session ended.
   */
  onCutOff(attachment: Attachment): void;
}

export class Attachments implements TableOutbox, CommandSources {
  /** The attachments of open connections. */
  readonly #all = new Set<Attachment>();
  readonly #bySession = new Map<number, Attachment>();
  readonly #awaited = new Map<string, Attachment>();
  /** By the numbers of orders that have no session and no answer yet. */
  readonly #ordering = new Map<number, Attachment>();
  readonly #events: AttachmentEvents;

  constructor(events: AttachmentEvents) {
    this.#events = events;
  }

  get count(): number {
    return this.#all.size;
  }

  add(connection: ClientConnection): Attachment {
    const attachment = new Attachment(connection);
    connection.attachment = attachment;
    this.#all.add(attachment);
    return attachment;
  }

  /** `undefined` once either side has closed the connection. */
  of(connection: ClientConnection): Attachment | undefined {
    return connection.attachment as Attachment | undefined;
  }

  all(): Iterable<Attachment> {
    return this.#all;
  }

  /** The connection that waits for exactly this attach. */
  awaiting(command: AttachCommand): Attachment | undefined {
    return this.#awaited.get(attachKeyOf(command));
  }

  /** A connection asked to be attached. Replaces what the same connection asked for before. */
  await(attachment: Attachment, command: AttachCommand): void {
    this.#forgetAwaited(attachment);
    const key = attachKeyOf(command);
    const other = this.#awaited.get(key);
    if (other !== undefined) this.close(other, CLOSE_REASON_ATTACHED_ELSEWHERE);
    this.#awaited.set(key, attachment);
    attachment.awaitedAttach = key;
  }

  /** This node does not take the attach that the connection asked for. */
  refuseAttach(attachment: Attachment, attempt: number, status: ErrorNumber): void {
    this.#forgetAwaited(attachment);
    attachment.connection.send({ ...NOT_ATTACHED, attempt, status });
  }

  /**
   * The client that sent that command, by its session or by the connection that waits for the
   * answer.
   */
  sourceOf(
    session: number,
    command: AttachCommand | SequencedCommand | undefined,
  ): Attachment | undefined {
    if (session > 0 || command === undefined) return this.#bySession.get(session);
    if (isAttachCommand(command)) return this.awaiting(command);
    return this.#ordering.get(command.sequence);
  }

  isOrderAwaited(number: number): boolean {
    return this.#ordering.has(number);
  }

  /** A connection without a session sent an order with the number that its client drew for it. */
  awaitOrder(attachment: Attachment, number: number): void {
    this.#ordering.set(number, attachment);
  }

  /** It was refused, or its connection is gone. */
  forgetOrder(attachment: Attachment, number: number): void {
    if (this.#ordering.get(number) === attachment) this.#ordering.delete(number);
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    const isOrder = session === 0 && message.kind === MESSAGE.reply;
    const attachment = isOrder
      ? this.#ordering.get(message.sequence)
      : this.#bySession.get(session);
    if (attachment === undefined || attachment.connection.attachEpoch !== epoch) return;
    attachment.connection.send(message);
    this.#events.onTold(attachment, message);
    if (isOrder) this.#ordering.delete(message.sequence);
    else if (message.kind === MESSAGE.ended) this.#detach(attachment);
  }

  attached(message: Attached): void {
    const asking = this.#awaited.get(message.key);
    if (message.status === STATUS.ok) {
      const current = this.#bySession.get(message.session);
      if (current !== undefined && current !== asking) {
        const isOlder = current.connection.attachEpoch < message.epoch;
        if (isOlder || asking !== undefined) this.close(current, CLOSE_REASON_ATTACHED_ELSEWHERE);
      }
    }
    if (asking === undefined) return;
    this.#forgetAwaited(asking);
    this.#events.onTold(asking, message);
    if (message.status === STATUS.ok) this.#bind(asking, message);
    asking.connection.send(message);
  }

  /**
   * Tells clients to move, except where it did already in this time of trouble; returns how many it
   * told.
   */
  tellToMove(troubleNumber: number): number {
    let told = 0;
    for (const attachment of this.#all) {
      if (attachment.isHeldBack || attachment.toldInTrouble === troubleNumber) continue;
      attachment.toldInTrouble = troubleNumber;
      attachment.connection.send({ kind: MESSAGE.move });
      told += 1;
    }
    return told;
  }

  /** No command that came before this can be answered: all clients must attach again. */
  closeAll(reason: string): void {
    for (const attachment of [...this.#all]) {
      this.close(attachment, reason, CLOSE_RESTART);
    }
  }

  /** Closes a connection that broke a rule, or whose session is attached elsewhere. */
  close(attachment: Attachment, reason: string, code = CLOSE_POLICY): void {
    if (attachment.isClosed) return;
    this.remove(attachment);
    attachment.connection.close(code, reason);
  }

  /** The connection is gone. Safe to call again. */
  remove(attachment: Attachment): void {
    if (attachment.isClosed) return;
    attachment.isClosed = true;
    attachment.connection.attachment = undefined;
    this.#all.delete(attachment);
    this.#forgetAwaited(attachment);
    this.#unbind(attachment);
    this.#events.onCutOff(attachment);
  }

  #bind(attachment: Attachment, message: Attached): void {
    // Commands of another session or epoch that were not applied yet could not be told apart later.
    this.#detach(attachment);
    attachment.connection.session = message.session;
    attachment.connection.attachEpoch = message.epoch;
    attachment.wasAttached = true;
    attachment.expected = message.highestSequence + 1;
    attachment.isRefusing = false;
    this.#bySession.set(message.session, attachment);
  }

  /** Its session ended, or the connection gets another one. */
  #detach(attachment: Attachment): void {
    this.#events.onCutOff(attachment);
    this.#unbind(attachment);
    attachment.connection.session = 0;
    attachment.connection.attachEpoch = 0;
  }

  #unbind(attachment: Attachment): void {
    const session = attachment.connection.session;
    if (this.#bySession.get(session) === attachment) this.#bySession.delete(session);
  }

  #forgetAwaited(attachment: Attachment): void {
    const key = attachment.awaitedAttach;
    if (key === undefined) return;
    attachment.awaitedAttach = undefined;
    if (this.#awaited.get(key) === attachment) this.#awaited.delete(key);
  }
}
