/**
 * MULTI as lock clients use it: WATCH a key, GET it, compare with the own value, and then MULTI, one
 * command that ends or extends the lock, EXEC. The comparison that Redis makes by watching is made
 * here with the value that GET told on this connection: the command counts only for the lock of that
 * value. A transaction of any other kind is refused.
 */
import type { Buffer } from "node:buffer";
import { RefusedCommand } from "./refusals.js";

/** A command as it came. */
export type Command = readonly Buffer[];

/** What GET told of a watched key: its value, `null` for none; `undefined`: it has not been asked. */
type Told = Buffer | null | undefined;

const WATCHED_MAX = 16;
const QUEUED_MAX = 16;

export class Transaction {
  readonly #watched = new Map<string, Told>();
  #queued: Command[] | undefined;
  #isBroken = false;

  /** Between MULTI and EXEC. */
  get isOpen(): boolean {
    return this.#queued !== undefined;
  }

  watch(key: Buffer): void {
    const name = nameOf(key);
    if (this.#watched.has(name)) return;
    if (this.#watched.size >= WATCHED_MAX) {
      throw new RefusedCommand(`WATCH of more than ${WATCHED_MAX} keys`);
    }
    this.#watched.set(name, undefined);
  }

  unwatch(): void {
    this.#watched.clear();
  }

  /** GET has told the value of a key. */
  tell(key: Buffer, value: Buffer | null): void {
    const name = nameOf(key);
    if (this.#watched.has(name)) this.#watched.set(name, value);
  }

  begin(): void {
    if (this.isOpen) throw new RefusedCommand("MULTI calls can not be nested", "ERR");
    this.#queued = [];
    this.#isBroken = false;
  }

  queue(command: Command): void {
    if (this.#queued !== undefined && this.#queued.length < QUEUED_MAX) this.#queued.push(command);
    else this.#isBroken = true;
  }

  /** A command of the transaction was malformed: EXEC will refuse it as a whole. */
  breakOff(): void {
    this.#isBroken = true;
  }

  discard(): void {
    this.#queued = undefined;
    this.unwatch();
  }

  /** Ends the transaction. Returns its commands, and what was told of each watched key. */
  take(): { readonly commands: readonly Command[]; readonly toldOf: (key: Buffer) => Told } {
    const commands = this.#queued;
    if (commands === undefined) throw new RefusedCommand("EXEC without MULTI", "ERR");
    const watched = new Map(this.#watched);
    const isBroken = this.#isBroken;
    this.discard();
    if (isBroken) {
      throw new RefusedCommand("Transaction discarded because of previous errors.", "EXECABORT");
    }
    return { commands, toldOf: (key) => watched.get(nameOf(key)) };
  }
}

function nameOf(key: Buffer): string {
  return key.toString("latin1");
}
