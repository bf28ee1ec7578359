/**
 * MULTI as lock clients use it: WATCH a key, GET it, compare with the own value, and then MULTI, one
 * command on that key, EXEC. The comparison that Redis makes by watching is made here with what GET told
 * on this connection: the command counts only if the key still is so. What it means is decided by
 * `commands/transaction-commands.ts`; a transaction of any other kind is refused.
 *
 * It keeps what clients send for as long as they like, so it keeps little, and never a part of a larger
 * buffer.
 */
import { Buffer } from "node:buffer";
import { RefusedCommand } from "./refusals.js";

/** A command as it came. */
export type Command = readonly Buffer[];

/** What GET told of a watched key: its value, `null` for none; `undefined`: it has not been asked. */
export type Told = Buffer | null | undefined;

const WATCHED_MAX = 16;
const QUEUED_MAX = 16;
const QUEUED_BYTES_MAX = 8 << 10;

export class Transaction {
  /** By their keys in the table, which name the database, too. */
  readonly #watched = new Map<string, Told>();
  #queued: Command[] | undefined;
  #queuedBytes = 0;
  #isBroken = false;

  /** Between MULTI and EXEC. */
  get isOpen(): boolean {
    return this.#queued !== undefined;
  }

  get isWatching(): boolean {
    return this.#watched.size > 0;
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

  /** Throws `RefusedCommand` for one too many, and EXEC will refuse the transaction as a whole. */
  queue(command: Command): void {
    const queued = this.#queued ?? [];
    const bytes = command.reduce((sum, { length }) => sum + length, this.#queuedBytes);
    if (queued.length >= QUEUED_MAX || bytes > QUEUED_BYTES_MAX) {
      this.breakOff();
      throw new RefusedCommand(
        `a transaction of more than ${QUEUED_MAX} commands or ${QUEUED_BYTES_MAX} bytes`,
      );
    }
    this.#queuedBytes = bytes;
    queued.push(command.map((argument) => Buffer.from(argument)));
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

  /** Ends the transaction. Returns its commands, and what was told of each watched key. */
  take(): { readonly commands: readonly Command[]; readonly told: ReadonlyMap<string, Told> } {
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
