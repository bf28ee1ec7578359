/**
 * What this node has seen of how clients end and extend their locks. A take does not say which release
 * will follow it: a client that takes by SET and releases by DEL gets a lock that nobody can release
 * here. So the node remembers that it refused such a release, and refuses the next take of that kind,
 * before it holds.
 *
 * A kind of locks is who the client is (identity, host, library) and what its keys look like. It must
 * never be held against a kind that somebody else's DEL was refused: only what comes from the client that
 * took the lock counts, and a DEL only until one of its releases has worked.
 */
import type { Buffer } from "node:buffer";
import { RefusedCommand, RefusedScript } from "../refusals.js";

const KINDS_MAX = 1_000;
const TAKEN_MAX = 10_000;
/** So long a kind is refused; then one take of it is let through again. */
const REFUSED_MS = 3_600_000;
const VARIABLE_PART = /[0-9a-f]{8,}|\d+/gi;
/** A text that is loaded and has one of these ends or extends locks. */
const ENDS_LOCKS = /\b(?:del|unlink|getdel|p?expire(?:at)?|persist)\b/i;

/** Commands that end or move a lock whatever its value is. */
const UNPROVEN_COMMANDS: ReadonlySet<string> = new Set([
  ...["DEL", "UNLINK", "GETDEL"],
  ...["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST"],
]);
const SCRIPT_COMMANDS: ReadonlySet<string> = new Set(["EVAL", "EVALSHA"]);

/** What a connection's calls on leases report. Keys are the keys of the table. */
export interface LeaseWitness {
  /** Throws `RefusedCommand` if a lock in one of the keys could not be ended by this client. */
  demandEnding(keys: readonly string[]): void;
  noteTaken(keys: readonly string[], value: Buffer): void;
  noteEnded(keys: readonly string[]): void;
}

interface Taken {
  readonly client: string;
  readonly value: Buffer;
}

interface RefusedKind {
  readonly what: string;
  readonly untilMs: number;
  /** It was refused for what it says, and not only because it proves nothing. */
  readonly isScript: boolean;
}

/** The endings for all clients of a node. */
export class Endings {
  readonly #nowMs: () => number;
  readonly #taken = new Map<string, Taken>();
  /** Kinds of which a release has worked. */
  readonly #worked = new Set<string>();
  readonly #refused = new Map<string, RefusedKind>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Kinds of locks that are refused. */
  get refusedKinds(): number {
    for (const [kind, { untilMs }] of this.#refused) {
      if (untilMs <= this.#nowMs()) this.#refused.delete(kind);
    }
    return this.#refused.size;
  }

  demandEnding(client: string, keys: readonly string[]): void {
    if (this.#refused.size === 0) return;
    for (const key of keys) {
      const refused = this.#refused.get(kindOf(client, key));
      if (refused !== undefined && refused.untilMs > this.#nowMs()) throw unendable(refused.what);
    }
  }

  noteTaken(client: string, keys: readonly string[], value: Buffer): void {
    for (const key of keys) {
      this.#taken.delete(key);
      keepNewest(this.#taken.set(key, { client, value }), TAKEN_MAX);
    }
  }

  noteEnded(client: string, keys: readonly string[]): void {
    for (const key of keys) {
      this.#taken.delete(key);
      const kind = kindOf(client, key);
      this.#worked.delete(kind);
      keepNewest(this.#worked.add(kind), KINDS_MAX);
      if (this.#refused.get(kind)?.isScript === false) this.#refused.delete(kind);
    }
  }

  /**
   * A command was refused that would have ended or moved the lock of a key.
   *
   * @param values its other arguments; a script must have the value of the lock among them
   */
  noteRefused(
    client: string,
    command: { readonly key: string; readonly what: string; readonly isScript: boolean },
    values: readonly Buffer[],
  ): void {
    const { key, what, isScript } = command;
    const taken = this.#taken.get(key);
    if (taken?.client !== client) return;
    const kind = kindOf(client, key);
    const isOfHolder = values.some((value) => value.equals(taken.value));
    if (isScript ? !isOfHolder : this.#worked.has(kind)) return;
    const untilMs = this.#nowMs() + REFUSED_MS;
    this.#refused.delete(kind);
    keepNewest(this.#refused.set(kind, { what, untilMs, isScript }), KINDS_MAX);
  }
}

/** The endings for one connection. */
export class ClientEndings implements LeaseWitness {
  readonly #endings: Endings;
  readonly #client: () => string;
  #refusedText: string | undefined;
  /** The last call of a script by a sum that was not known: its text may follow. */
  #missing: { readonly sum: string; readonly args: readonly Buffer[] } | undefined;

  /** @param client says who it is at the moment */
  constructor(endings: Endings, client: () => string) {
    this.#endings = endings;
    this.#client = client;
  }

  demandEnding(keys: readonly string[]): void {
    if (this.#refusedText !== undefined) throw unendable(this.#refusedText);
    this.#endings.demandEnding(this.#client(), keys);
  }

  noteTaken(keys: readonly string[], value: Buffer): void {
    this.#endings.noteTaken(this.#client(), keys, value);
  }

  noteEnded(keys: readonly string[]): void {
    this.#endings.noteEnded(this.#client(), keys);
  }

  /** A script was called whose text is not known here. */
  noteMissing(sum: string, args: readonly Buffer[]): void {
    this.#missing = { sum, args };
  }

  /**
   * The call of a script whose text was loaded because it was not known then; `undefined`: the text
   * is loaded before it is used.
   */
  callOfMissing(sum: string): readonly Buffer[] | undefined {
    return this.#missing?.sum === sum ? this.#missing.args : undefined;
  }

  /** A text was refused that the client wanted to load before its first take. */
  noteRefusedText(sum: string, text: Buffer, reason: string): void {
    if (!ENDS_LOCKS.test(text.toString("latin1"))) return;
    this.#refusedText = `SCRIPT LOAD of ${sum} was refused (${reason})`;
  }

  /** Whether a command that failed so may be one that ends or extends a lock. */
  concerns(name: string, error: unknown): error is RefusedCommand {
    if (SCRIPT_COMMANDS.has(name)) return error instanceof RefusedScript;
    if (!UNPROVEN_COMMANDS.has(name)) return false;
    return error instanceof RefusedCommand && error.code === "NOHOLDFAST";
  }

  /** @param tableKey names a key of Redis in the table; throws for a key that is too long */
  noteRefused(
    name: string,
    args: readonly Buffer[],
    error: RefusedCommand,
    tableKey: (key: Buffer) => string,
  ): void {
    const isScript = SCRIPT_COMMANDS.has(name);
    const keys = isScript ? args.slice(2, 2 + Number(args[1])) : args;
    const values = isScript ? args.slice(2 + keys.length) : [];
    const what = `${isScript ? "a script" : name} was refused (${error.reason})`;
    for (const key of keys.slice(0, 16)) {
      const named = nameIn(key, tableKey);
      if (named === undefined) continue;
      this.#endings.noteRefused(this.#client(), { key: named, what, isScript }, values);
    }
  }

  reset(): void {
    this.#refusedText = undefined;
    this.#missing = undefined;
  }
}

function nameIn(key: Buffer, tableKey: (key: Buffer) => string): string | undefined {
  try {
    return tableKey(key);
  } catch (error) {
    if (error instanceof RefusedCommand) return undefined;
    throw error;
  }
}

function unendable(what: string): RefusedCommand {
  return new RefusedCommand(
    `this client could not end or extend the lock: for its lock before this one ${what}`,
  );
}

/** Keys that differ in their numbers only are of one kind. */
function kindOf(client: string, key: string): string {
  return `${client} ${key.replaceAll(VARIABLE_PART, "#")}`;
}

function keepNewest(all: Map<string, unknown> | Set<string>, most: number): void {
  if (all.size <= most) return;
  for (const oldest of all.keys()) {
    all.delete(oldest);
    return;
  }
}
