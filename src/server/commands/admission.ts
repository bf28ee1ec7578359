/**
 * Decides whether a command that just arrived is admitted (docs/internals/semantics.md, 2.3 – 2.5).
 * The commands of a session are admitted one after the other by their numbers, so that there is no
 * gap in what this node forwards. Only here are commands refused: an admitted command is kept until
 * it was executed. A command that no correct client sends closes its connection.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import {
  type AttachCommand,
  type Command,
  IN_FLIGHT_MAX,
  isAttachCommand,
  isOrder,
  MESSAGE,
  OP,
  type Origin,
  RECORD_HEADER_BYTES,
  type SequencedCommand,
  type SessionCommand,
  withOrigin,
} from "../../protocol/index.js";
import type { Limits } from "../limits/limits.js";
import type { Clock } from "../ports.js";
import type { Attachment, Attachments } from "./attachments.js";
import type { Capacity } from "./capacity.js";
import type { KeptCommands } from "./kept-commands.js";
import type { WaitingLine } from "./waiting-line.js";

/**
 * Commands kept for one connection. A client has at most `IN_FLIGHT_MAX` numbered commands without
 * an answer, and few others.
 */
export const KEPT_PER_CONNECTION_MAX = 4 * IN_FLIGHT_MAX;

export interface AdmissionParts {
  readonly nodeId: number;
  readonly attachments: Attachments;
  readonly kept: KeptCommands;
  readonly line: WaitingLine;
  readonly capacity: Capacity;
  readonly limits: Pick<Limits, "refusesCommand">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly wake: () => void;
}

export class Admission {
  readonly #parts: AdmissionParts;
  #refusedCount = 0;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Commands refused since the start, without those that were dropped after a refused one. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  attach(attachment: Attachment, command: AttachCommand, bytes: Uint8Array): void {
    const { attachments, kept, wake } = this.#parts;
    kept.settleAttaches(attachment);
    const origin = { node: this.#parts.nodeId, address: attachment.connection.address };
    const recorded = withOrigin(bytes, origin);
    const why = this.#refusalOf(attachment, command, recorded);
    if (why === undefined) {
      attachments.await(attachment, command);
      this.#keep(attachment, command, recorded, origin);
    } else this.#refuseAttach(attachment, command.attempt, why);
    wake();
  }

  command(attachment: Attachment, command: SessionCommand, bytes: Uint8Array): void {
    if (!this.#mayCome(attachment, command)) return;
    if (!("sequence" in command)) {
      // No message can refuse it: it is dropped as if it had been lost on its way.
      if (this.#refusalOf(attachment, command, bytes) === undefined)
        this.#keep(attachment, command, bytes);
    } else if (attachment.connection.session === 0) this.#order(attachment, command, bytes);
    else this.#numbered(attachment, command, bytes);
  }

  /** A command with a value that is not allowed. `id`: its attempt, or its sequence. */
  invalid(attachment: Attachment, op: number, id: number): void {
    const why = ERROR_NUMBERS.INVALID_ARGUMENT;
    if (isAttachCommand({ op })) {
      this.#parts.kept.settleAttaches(attachment);
      this.#refuseAttach(attachment, id, why);
    } else if (this.#mayCome(attachment, { op })) {
      if (attachment.connection.session === 0) this.#refuse(attachment, id, why);
      else if (this.#isNext(attachment, id)) this.#refuse(attachment, id, why);
    }
    this.#parts.wake();
  }

  #numbered(attachment: Attachment, command: SequencedCommand, bytes: Uint8Array): void {
    const { sequence, mark } = command;
    if (!this.#isNext(attachment, sequence)) return;
    if (sequence - mark >= IN_FLIGHT_MAX) {
      this.#breach(attachment, `command ${sequence} is too far above its mark ${mark}`);
      return;
    }
    const why = this.#refusalOf(attachment, command, bytes);
    if (why !== undefined) {
      this.#refuse(attachment, sequence, why);
      return;
    }
    attachment.isRefusing = false;
    attachment.expected = sequence + 1;
    this.#keep(attachment, command, bytes);
  }

  /** A command without a session: its number is random, and it has no place in an order. */
  #order(attachment: Attachment, command: SequencedCommand, bytes: Uint8Array): void {
    const { sequence } = command;
    const isUsed = this.#parts.attachments.isOrderAwaited(sequence);
    const why = isUsed ? ERROR_NUMBERS.BUSY : this.#refusalOf(attachment, command, bytes);
    if (why !== undefined) {
      this.#refuse(attachment, sequence, why);
      return;
    }
    this.#keep(attachment, command, bytes);
    if (!attachment.isClosed) this.#parts.attachments.awaitOrder(attachment, sequence);
  }

  /**
   * Whether a command is allowed on that connection. If not, it is dropped or closes the
   * connection.
   */
  #mayCome(attachment: Attachment, request: { readonly op: number }): boolean {
    if (attachment.connection.session !== 0) return true;
    // The message `ended` has said what became of the client's commands.
    if (attachment.wasAttached) return false;
    if (isOrder(request)) return true;
    this.#breach(attachment, "a command before attaching");
    return false;
  }

  /** Whether it has the next number. If not, it is dropped or closes the connection. */
  #isNext(attachment: Attachment, sequence: number): boolean {
    const { expected, isRefusing, awaitedAttach } = attachment;
    if (awaitedAttach !== undefined) {
      this.#breach(attachment, `command ${sequence} while an attach is awaited`);
      return false;
    }
    if (sequence === expected) return true;
    if (sequence < expected || !isRefusing) {
      this.#breach(attachment, `command ${sequence} where ${expected} must come`);
    }
    return false;
  }

  #refusalOf(attachment: Attachment, command: Command, bytes: Uint8Array): ErrorNumber | undefined {
    const { capacity, limits } = this.#parts;
    if (limits.refusesCommand(attachment, command)) return ERROR_NUMBERS.BUSY;
    const { connection, share } = attachment;
    const keptOfIdentity = connection.limitedIdentity === "" ? 0 : share.identity.keptBytes;
    return capacity.refusalOf(command, RECORD_HEADER_BYTES + bytes.length, keptOfIdentity);
  }

  #refuse(attachment: Attachment, sequence: number, status: ErrorNumber): void {
    this.#refusedCount += 1;
    attachment.isRefusing = true;
    attachment.connection.send({ kind: MESSAGE.refused, sequence, status });
    this.#parts.wake();
  }

  #refuseAttach(attachment: Attachment, attempt: number, status: ErrorNumber): void {
    this.#refusedCount += 1;
    this.#parts.attachments.refuseAttach(attachment, attempt, status);
  }

  #keep(attachment: Attachment, command: Command, bytes: Uint8Array, origin?: Origin): void {
    const { kept, line, clock, wake } = this.#parts;
    if (attachment.kept.length >= KEPT_PER_CONNECTION_MAX) {
      this.#breach(attachment, "too many commands without an answer");
      return;
    }
    const isFirst = line.isEmpty;
    line.push(kept.keep(attachment, command, bytes, origin), isFirst ? clock.nowMs() : 0);
    // Waiting commands already have a turn, and a keepalive joins it: many keepalives make one
    // turn.
    if (isFirst || command.op !== OP.keepalive) wake();
  }

  #breach(attachment: Attachment, reason: string): void {
    this.#parts.attachments.close(attachment, reason);
  }
}
