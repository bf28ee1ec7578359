/**
 * The committed log as a witness: it is one order in which everything may have happened. A table of
 * its own, the naive model, executes it entry by entry as it becomes committed, and every word a
 * client hears must be one that this order has said already, at a place not before what the client,
 * or any other, had heard when it asked.
 */
import type { Outbox } from "../../../src/lockfsm/index.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import {
  type Attached,
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  END_REASON,
  type KeyView,
  MESSAGE,
  type SessionMessage,
} from "../../../src/protocol/index.js";
import type { Entry } from "../../../src/raft/index.js";
import { decodeCommands } from "../../../src/server/decode-commands.js";
import { NaiveTable } from "../../lockfsm/model.js";
import { wordsOf } from "./words.js";

export interface WitnessEvents {
  /** The lease of `session` ended in the log. */
  onExpired(session: number): void;
}

interface Version {
  readonly index: number;
  readonly view: string;
}

export class Witness implements Outbox {
  readonly table = new NaiveTable(resolveTableSettings(undefined));
  readonly #keys: readonly string[];
  readonly #hasReaders: boolean;
  readonly #events: WitnessEvents;
  /** What was said to a session. */
  readonly #said = new Map<number, Set<string>>();
  readonly #attached = new Set<string>();
  /** The entry that first answered a sequence of a session. */
  readonly #answeredAt = new Map<string, number>();
  readonly #refused = new Set<string>();
  readonly #versions = new Map<string, Version[]>();
  #index = 0;
  readonly #grants = new Map<number, string>();
  /** The highest token that was granted. */
  #lastToken = 0;
  #complaint: string | undefined;

  constructor(keys: readonly string[], hasReaders: boolean, events: WitnessEvents) {
    this.#keys = keys;
    this.#hasReaders = hasReaders;
    this.#events = events;
  }

  get index(): number {
    return this.#index;
  }

  get grantCount(): number {
    return this.#grants.size;
  }

  /** Executes the next committed entry. Returns what is wrong with the order itself. */
  apply({ index, kind, data }: Entry): string | undefined {
    this.#index = index;
    if (kind !== "command") return undefined;
    const { stamp, wallMs } = decodeBatchHeader(data);
    const commands = decodeCommands(data, BATCH_HEADER_BYTES);
    this.table.apply({ index, stamp, wallMs, commands }, this);
    if (this.#hasReaders) for (const key of this.#keys) this.#note(key);
    return this.#complaint;
  }

  toSession(session: number, _epoch: number, message: SessionMessage): void {
    let said = this.#said.get(session);
    if (said === undefined) {
      said = new Set();
      this.#said.set(session, said);
    }
    said.add(wordsOf(message));
    if (message.kind === MESSAGE.ended && message.reason === END_REASON.expired) {
      this.#events.onExpired(session);
    }
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) return;
    const key = `${session}/${message.sequence}`;
    if (!this.#answeredAt.has(key)) this.#answeredAt.set(key, this.#index);
    if (this.#refused.has(key)) this.#complaint ??= `${key} was refused and is executed`;
    if ("token" in message.result) this.#onToken(key, message.result.token);
  }

  attached(message: Attached): void {
    this.#attached.add(wordsOf(message));
  }

  hasSaid(session: number, message: SessionMessage): boolean {
    return this.#said.get(session)?.has(wordsOf(message)) === true;
  }

  hasAttached(message: Attached): boolean {
    return this.#attached.has(wordsOf(message));
  }

  /** Who holds and who waits, for people. */
  viewOf(key: string): string {
    return summaryOf(this.table.inspect(key));
  }

  /** A node refused it without an entry: it must not execute, before or later. */
  refuse(session: number, sequence: number): string | undefined {
    const key = `${session}/${sequence}`;
    this.#refused.add(key);
    return this.#answeredAt.has(key) ? `${key} was executed and is refused` : undefined;
  }

  /** Where a sequence was first answered; 0 when it was not. */
  answeredAt(session: number, sequence: number): number {
    return this.#answeredAt.get(`${session}/${sequence}`) ?? 0;
  }

  /** The first index from `from` on at which `view` was what a reader sees; `undefined`: none. */
  seenAt(view: KeyView, from: number): number | undefined {
    const text = summaryOf(view);
    const versions = this.#versions.get(view.key) ?? [];
    for (const [at, { index, view: seen }] of versions.entries()) {
      const end = versions[at + 1]?.index ?? Number.POSITIVE_INFINITY;
      if (end > from && seen === text) return Math.max(index, from);
    }
    const first = versions[0]?.index ?? Number.POSITIVE_INFINITY;
    return first > from && text === EMPTY ? from : undefined;
  }

  #onToken(call: string, token: number): void {
    const known = this.#grants.get(token);
    if (known === call) return;
    if (known !== undefined) this.#complaint ??= `token ${token} for ${known} and for ${call}`;
    if (token <= this.#lastToken) this.#complaint ??= `token ${token} after ${this.#lastToken}`;
    this.#grants.set(token, call);
    this.#lastToken = token;
  }

  #note(key: string): void {
    const view = summaryOf(this.table.inspect(key));
    let versions = this.#versions.get(key);
    if (versions === undefined) {
      versions = [];
      this.#versions.set(key, versions);
    }
    if (versions.at(-1)?.view !== view) versions.push({ index: this.#index, view });
  }
}

/** A key that nobody holds or waits for. */
const EMPTY = " | ";

/** Without the ages, which are those of the moment. */
function summaryOf({ holds, waiters }: KeyView): string {
  const held = holds.map(({ token, mode, session }) => `${token} ${mode} ${session}`);
  const waiting = waiters.map(({ session, sequence }) => `${session}/${sequence}`);
  return `${held.join(", ")} | ${waiting.join(", ")}`;
}
