/**
 * The committed log as a witness: it is one order in which everything may have happened. Each entry
 * is executed as it becomes committed, by a table that no node has and by the naive model, which must
 * say and show the same; every word that a client hears must be one that this order has said already,
 * at a place not before what the client, or any other, had heard when it asked; and all words must be
 * within the laws of locks, which know nothing of how a table works (`lock-laws.ts`).
 */
import {
  LockTable,
  type Outbox,
  type TableCommand,
  type TableEntry,
} from "../../../src/lockfsm/index.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import {
  type Attached,
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeCommands,
  END_REASON,
  type EndReason,
  type KeyView,
  MESSAGE,
  OP,
  type Result,
  type SessionMessage,
} from "../../../src/protocol/index.js";
import type { Entry } from "../../../src/raft/index.js";
import { NaiveTable } from "../../lockfsm/model.js";
import type { NamedCircle } from "../../lockfsm/model-circles.js";
import { MARKER } from "./exactly-once.js";
import { SpokenWords } from "./heard-in-order.js";
import { summaryOf, UNUSED } from "./key-summary.js";
import { LockLaws } from "./lock-laws.js";
import { wordsOf } from "./words.js";

export interface WitnessEvents {
  /** An acquire whose hold is to have the value `marker` was answered for the first time, or ended. */
  onAnswered(marker: string, call: string, result: Result): void;
  /** `session` ended in the log: by its lease, or by an operator who had given it time. */
  onSessionEnded(session: number, reason: EndReason): void;
  /** A hold ended in the log, at a time that its holder could know. */
  onLost(session: number, token: number, reason: EndReason): void;
}

interface Version {
  readonly index: number;
  readonly view: string;
}

export class Witness implements Outbox {
  readonly table = new LockTable();
  readonly model = new NaiveTable(resolveTableSettings());
  readonly laws = new LockLaws();
  readonly #keys: readonly string[];
  readonly #hasReaders: boolean;
  readonly #events: WitnessEvents;
  readonly #words = new SpokenWords();
  /** What was said to a session. */
  readonly #said = new Map<number, Set<string>>();
  readonly #attached = new Set<string>();
  /** The entry that first answered a sequence of a session. */
  readonly #answeredAt = new Map<string, number>();
  readonly #refused = new Set<string>();
  /** Of acquires of applications, by session and sequence. */
  readonly #markers = new Map<string, string>();
  readonly #versions = new Map<string, Version[]>();
  #index = 0;
  /** What the table said of this entry. */
  #spoken: string[] = [];
  /** Circles that it named: of several the model takes any that is one. */
  #named: NamedCircle[] = [];
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
    return this.laws.grantCount;
  }

  /** Executes the next committed entry. Returns what is wrong with the order itself. */
  apply({ index, kind, data }: Entry): string | undefined {
    this.#index = index;
    if (kind !== "command") return undefined;
    const { stamp, wallMs } = decodeBatchHeader(data);
    const commands = decodeCommands(data, BATCH_HEADER_BYTES);
    const entry = { index, stamp, wallMs, commands };
    this.laws.begin(stamp, commands);
    this.#noteMarkers(commands);
    this.#spoken = [];
    this.#named = [];
    this.table.apply(entry, this);
    this.laws.finish();
    this.#complaint ??= this.#differenceOf(entry) ?? this.laws.complaint;
    if (this.#hasReaders) for (const key of this.#keys) this.#note(key);
    return this.#complaint;
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    const words = wordsOf(message);
    let said = this.#said.get(session);
    if (said === undefined) {
      said = new Set();
      this.#said.set(session, said);
    }
    said.add(words);
    const at = this.#spoken.push(`${session}/${epoch} ${words}`) - 1;
    this.#words.say(session, epoch, words);
    this.#tell(session, message);
    this.laws.hear(session, message);
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) return;
    const { sequence, result } = message;
    if ("cycle" in result) this.#named.push({ at, session, sequence, cycle: result.cycle ?? [] });
    const key = `${session}/${sequence}`;
    const isFirst = !this.#answeredAt.has(key);
    if (isFirst) this.#answeredAt.set(key, this.#index);
    const marker = this.#markers.get(key);
    if (marker !== undefined && (isFirst || message.kind === MESSAGE.outcome)) {
      this.#events.onAnswered(marker, key, result);
    }
    if (this.#refused.has(key)) this.#complaint ??= `${key} was refused and is executed`;
  }

  attached(message: Attached): void {
    const words = wordsOf(message);
    this.#spoken.push(words);
    this.#attached.add(words);
    // As it reads behind the wire, which does not carry the nonce.
    this.#attached.add(wordsOf({ ...message, nonce: "" }));
    this.laws.attached(message);
  }

  hasSaid(session: number, message: SessionMessage): boolean {
    return this.#said.get(session)?.has(wordsOf(message)) === true;
  }

  /** What is left out or out of order on a connection. */
  hear(session: number, epoch: number, message: SessionMessage): string | undefined {
    return this.#words.hear(session, epoch, message);
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
    return first > from && text === UNUSED ? from : undefined;
  }

  #noteMarkers(commands: readonly TableCommand[]): void {
    for (const { session, command } of commands) {
      if (command?.op !== OP.acquire) continue;
      const marker = command.options?.value;
      if (marker?.startsWith(MARKER)) this.#markers.set(`${session}/${command.sequence}`, marker);
    }
  }

  /** Between what the table and the model say and show of an entry. */
  #differenceOf(entry: TableEntry): string | undefined {
    const said: string[] = [];
    const outbox = {
      said,
      toSession: (session: number, epoch: number, message: SessionMessage): void => {
        said.push(`${session}/${epoch} ${wordsOf(message)}`);
      },
      attached: (message: Attached): void => {
        said.push(wordsOf(message));
      },
    };
    this.model.apply(entry, outbox, this.#named);
    const spoken = this.#spoken;
    for (let at = 0; at < Math.max(said.length, spoken.length); at += 1) {
      if (said[at] === spoken[at]) continue;
      return `the table says ${spoken[at]}, the model ${said[at]}`;
    }
    for (const key of this.#keys) {
      const [shown, right] = [this.table, this.model].map((one) => wordsOf(one.inspect(key)));
      if (shown !== right) return `the table shows ${shown}, the model ${right}`;
    }
    return undefined;
  }

  /** Before the laws forget what ended. */
  #tell(session: number, message: SessionMessage): void {
    const events = this.#events;
    if (message.kind === MESSAGE.ended) {
      const isExpected = message.reason === END_REASON.expired || this.laws.isWarned(session, 0);
      if (isExpected) events.onSessionEnded(session, message.reason);
    }
    if (message.kind !== MESSAGE.lost) return;
    const { token, reason } = message;
    const isExpected = reason === END_REASON.maxHold || this.laws.isWarned(session, token);
    if (isExpected) events.onLost(session, token, reason);
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
