/**
 * All commands that clients of this node sent and that it has not applied yet, and the rule for
 * refusing one: only a command that client and node sent exactly once can be refused, because only
 * then does the refusal prove that it will never execute. Everything else stays until it is applied
 * here or its connection closes.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../errors.js";
import { type Command, IN_FLIGHT_MAX, MESSAGE, OP } from "../protocol/index.js";
import type { Attachment } from "./attachment.js";
import type { Attachments } from "./attachments.js";
import { KeptCommand } from "./kept-command.js";

/** WebSocket close code "try again later". */
const CLOSE_TRY_AGAIN = 1013;
const CLOSE_REASON_TOO_MUCH = "too many commands without an answer";
/** Commands of a frame up to this size are kept as views of it. */
const SHARED_FRAME_BYTES_MAX = 16 << 10;
/**
 * Commands kept of one connection: beyond it new ones are refused, at twice as many the connection is
 * closed. A client that keeps to `IN_FLIGHT_MAX` stays far below. What is read back from the log is
 * looked up among them one by one.
 */
export const KEPT_PER_CONNECTION_MAX = 4 * IN_FLIGHT_MAX;

export class KeptCommands {
  readonly #bytesMax: number;
  readonly #attachments: Attachments;
  #bytes = 0;
  #lastOrder = 0;
  #refusedCount = 0;

  constructor(bytesMax: number, attachments: Attachments) {
    this.#bytesMax = bytesMax;
    this.#attachments = attachments;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Commands answered with `BUSY` or `DISK_FULL` since the start. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  /**
   * Keeps a command that just came, or refuses it and gives back `undefined`. `refusal`: why the
   * leader, which this node is, takes nothing now. `isUnwanted`: this command is not to be taken now,
   * whatever comes after it. `turn`: once a command of a connection was
   * refused, the others of the same turn are refused with it. What cannot be refused, because it may
   * have been executed before, is not taken when there is no room, nor anything behind it on this
   * connection: as if it had been lost on the way. Its client comes again with what was not answered,
   * which is less each time.
   */
  admit(
    attachment: Attachment,
    command: Command,
    bytes: Uint8Array,
    turn: number,
    refusal: ErrorNumber | undefined,
    isUnwanted = false,
  ): KeptCommand | undefined {
    if (attachment.isFull) return undefined;
    const isRepeated = "sequence" in command && command.sequence <= attachment.highestSequence;
    this.#lastOrder += 1;
    const own = ownBytes(bytes);
    const kept = new KeptCommand(attachment, command, own, this.#lastOrder, isRepeated);
    const after = this.#bytes + kept.recordBytes;
    const count = attachment.kept.length;
    const isTooMuch = after > this.#bytesMax || count >= KEPT_PER_CONNECTION_MAX;
    const isRefused = refusal !== undefined || isTooMuch || attachment.refusedInTurn === turn;
    if ((isRefused || isUnwanted) && isRefusable(kept)) {
      if (isRefused) attachment.refusedInTurn = turn;
      this.#answer(kept, refusal ?? ERROR_NUMBERS.BUSY);
      return undefined;
    }
    if (after > 2 * this.#bytesMax || count >= 2 * KEPT_PER_CONNECTION_MAX) {
      attachment.isFull = true;
      // Another node may have room; what no good client does is told at once.
      const isHopeless = count === 0 || count >= 2 * KEPT_PER_CONNECTION_MAX;
      if (isHopeless) this.#attachments.close(attachment, CLOSE_REASON_TOO_MUCH, CLOSE_TRY_AGAIN);
      return undefined;
    }
    this.#bytes = after;
    attachment.kept.push(kept);
    return kept;
  }

  /** It was applied here. */
  settle(kept: KeptCommand): void {
    if (kept.isSettled) return;
    kept.isSettled = true;
    this.#bytes -= kept.recordBytes;
    kept.attachment.trim();
  }

  /** Whoever it was sent to had no room. Returns false when it must be kept and sent again. */
  refuse(kept: KeptCommand, status: ErrorNumber): boolean {
    if (!isRefusable(kept)) return false;
    this.settle(kept);
    this.#answer(kept, status);
    return true;
  }

  /** A connection closed or was attached anew: nobody waits for what came on it any more. */
  drop(attachment: Attachment): void {
    for (let kept = attachment.kept.shift(); kept !== undefined; kept = attachment.kept.shift()) {
      if (kept.isSettled) continue;
      kept.isSettled = true;
      this.#bytes -= kept.recordBytes;
      if (kept.orderNumber > 0) this.#attachments.forgetOrder(attachment, kept.orderNumber);
    }
  }

  /** The connection asks to be attached to something else than before: that is not awaited now. */
  dropAttaches(attachment: Attachment): void {
    const attaches: KeptCommand[] = [];
    for (let i = 0; i < attachment.kept.length; i += 1) {
      const kept = attachment.kept.at(i);
      if (kept?.attaches) attaches.push(kept);
    }
    for (const kept of attaches) this.settle(kept);
  }

  /** Everything kept, in order of arrival. */
  inOrder(): KeptCommand[] {
    const all: KeptCommand[] = [];
    for (const attachment of this.#attachments.all()) {
      for (let i = 0; i < attachment.kept.length; i += 1) {
        const kept = attachment.kept.at(i);
        if (kept !== undefined && !kept.isSettled) all.push(kept);
      }
    }
    return all.sort((a, b) => a.order - b.order);
  }

  /** Stamp 0: this node answers, nothing was executed, and no lease was renewed. */
  #answer(kept: KeptCommand, status: ErrorNumber): void {
    const { command, attachment } = kept;
    this.#refusedCount += 1;
    switch (command.op) {
      case OP.open:
      case OP.resume:
      case OP.takeOver: {
        const { nonce, attempt } = command;
        const none = { session: 0, epoch: 0, highestSequence: 0, stamp: 0, ttlMs: 0 };
        this.#attachments.attached({ kind: MESSAGE.attached, nonce, attempt, status, ...none });
        return;
      }
      case OP.keepalive:
      case OP.recall:
        return;
      default:
        if (kept.orderNumber > 0) this.#attachments.forgetOrder(attachment, kept.orderNumber);
        attachment.connection.send({
          kind: MESSAGE.reply,
          sequence: command.sequence,
          stamp: 0,
          result: { status },
        });
    }
  }
}

/**
 * A view of a frame keeps the whole of it alive. Of a large one, which may hold whatever else a
 * client liked to send, only the command is kept.
 */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > SHARED_FRAME_BYTES_MAX ? new Uint8Array(bytes) : bytes;
}

/** A recall has no answer that refuses it, so it is never refused; a keepalive needs none. */
function isRefusable(kept: KeptCommand): boolean {
  return kept.canBeRefused && kept.command.op !== OP.recall;
}
