/**
 * What a connection has said of its transaction: which keys it watches, what GET told of them, and the
 * commands between MULTI and EXEC. What they do is decided by `commands/transaction-plan.ts`.
 *
 * It keeps what clients send for as long as they like, so it keeps little, and never a part of a larger
 * buffer.
 */
import { Buffer } from "node:buffer";
import { RefusedCommand } from "./refusals.js";
import type { RespReply } from "./resp/index.js";

/** A command that waits for EXEC. */
export interface QueuedCommand {
  /** In upper case. */
  readonly name: string;
  readonly args: readonly Buffer[];
  /** Throws `RefusedCommand` for what is refused whatever the locks are. */
  readonly check: (args: readonly Buffer[]) => void;
  /** Does it by itself. */
  readonly run: (args: readonly Buffer[]) => RespReply | Promise<RespReply>;
}

/** What GET told of a watched key: its value, `null` for none; `undefined`: it has not been asked. */
export type Told = Buffer | null | undefined;

/** What EXEC is to do, as one step. */
export interface Steps {
  readonly commands: readonly QueuedCommand[];
  readonly told: ReadonlyMap<string, Told>;
}

const WATCHED_MAX = 16;
const QUEUED_BYTES_MAX = 8 << 10;

export class Transaction {
  /** By their keys in the table, which name the database, too. */
  readonly #watched = new Map<string, Told>();
  #queued: QueuedCommand[] | undefined;
  #queuedBytes = 0;
  #isBroken = false;

  /** Between MULTI and EXEC. */
  get isOpen(): boolean {
    return this.#queued !== undefined;
  }

  get isWatching(): boolean {
    return this.#watched.size > 0;
  }

  /** Those so far, with one more. */
  stepsWith(next: QueuedCommand): Steps {
    return { commands: [...(this.#queued ?? []), next], told: this.#watched };
  }

  watch(tableKey: string): void {
    if (this.#watched.has(tableKey)) return;
    if (this.#watched.size >= WATCHED_MAX) {
      throw new RefusedCommand(`WATCH of more than ${WATCHED_MAX} keys`);
    }
    this.#watched.set(tableKey, undefined);
  }

  unwatch(): void {
    this.#watched.clear();
  }

  /** GET has told the value of a key. */
  tell(tableKey: string, value: Buffer | null): void {
    if (this.#watched.has(tableKey)) this.#watched.set(tableKey, value);
  }

  begin(): void {
    if (this.isOpen) throw new RefusedCommand("MULTI calls can not be nested", "ERR");
    this.#queued = [];
    this.#queuedBytes = 0;
    this.#isBroken = false;
  }

  /** Throws `RefusedCommand` for one too long, and EXEC will refuse the transaction as a whole. */
  queue(command: QueuedCommand): void {
    const { args } = command;
    const bytes = args.reduce((sum, { length }) => sum + length, this.#queuedBytes);
    if (bytes > QUEUED_BYTES_MAX) {
      this.breakOff();
      throw new RefusedCommand(`a transaction of more than ${QUEUED_BYTES_MAX} bytes`);
    }
    this.#queuedBytes = bytes;
    if (this.#isBroken) return;
    this.#queued?.push({ ...command, args: args.map((argument) => Buffer.from(argument)) });
  }

  /** A command of the transaction was refused: EXEC will refuse it as a whole. */
  breakOff(): void {
    this.#isBroken = true;
    if (this.#queued !== undefined) this.#queued = [];
  }

  discard(): void {
    this.#queued = undefined;
    this.unwatch();
  }

  /** Ends the transaction. Returns its commands, and what was answered about each watched key. */
  take(): Steps {
    const commands = this.#queued;
    if (commands === undefined) throw new RefusedCommand("EXEC without MULTI", "ERR");
    const told = new Map(this.#watched);
    const isBroken = this.#isBroken;
    this.discard();
    if (isBroken) {
      throw new RefusedCommand("Transaction discarded because of previous errors.", "EXECABORT");
    }
    return { commands, told };
  }
}
