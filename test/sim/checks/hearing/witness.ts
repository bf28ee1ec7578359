/**
 * The committed log as a witness: it is one order in which everything may have happened. Each entry
 * is executed as it becomes committed, by a table that no node has and by the naive model, which must
 * say and show the same; every word that a client hears must be one that this order has said already,
 * at a place not before what the client, or any other, had heard when it asked; and all words must be
 * within the laws of locks, which know nothing of how a table works (`lock-laws.ts`).
 */
import { LockTable, type TableEntry, type TableOutbox } from "../../../../src/lockfsm/index.js";
import { resolveTableSettings } from "../../../../src/lockfsm/settings.js";
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
  type Reply,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";
import type { Entry } from "../../../../src/raft/index.js";
import { NaiveTable } from "../../../lockfsm/model/model.js";
import type { NamedCycle } from "../../../lockfsm/model/records.js";
import { AccessLaws } from "../access/access-laws.js";
import type { Speakers } from "../access/speakers.js";
import { canonicalTextOf } from "../canonical-text.js";
import { MARKER } from "../locks/exactly-once.js";
import { summaryOf, UNUSED } from "../locks/key-summary.js";
import { LockLaws } from "../locks/lock-laws.js";
import { SpokenWords } from "./spoken-words.js";

export interface WitnessEvents {
  /** An acquire whose hold is to have the value `marker` was answered for the first time, or ended. */
  onAnswered(marker: string, call: string, result: Result): void;
  /** `session` ended in the log: by its lease, or by an operator who had given it time. */
  onSessionEnded(session: number, reason: EndReason): void;
  /** A hold ended in the log, at a time that its holder could know. */
  onLost(token: number, reason: EndReason): void;
  /** An entry executed it, for the first and only time. */
  onExecuted(session: number, epoch: number, command: SequencedCommand): void;
  /** What was executed is answered, or its wait has ended. */
  onResult(session: number, sequence: number, result: Result): void;
  /** By a command of its own session a hold is not its own any more. */
  onGivenUp(token: number): void;
}

interface Version {
  readonly index: number;
  readonly view: string;
}

/** What the first entry of a cluster is executed by. */
export interface Beginning {
  readonly table: LockTable;
  readonly model: NaiveTable;
  readonly laws: LockLaws;
  readonly access: AccessLaws;
}

/** The beginning of a new cluster. */
export function emptyBeginning(speakers?: Speakers): Beginning {
  const model = new NaiveTable(resolveTableSettings());
  const access = new AccessLaws(speakers);
  return { table: new LockTable(), model, laws: new LockLaws(), access };
}

export class Witness implements TableOutbox {
  readonly table: LockTable;
  readonly model: NaiveTable;
  readonly laws: LockLaws;
  readonly access: AccessLaws;
  readonly #keys: readonly string[];
  readonly #hasReaders: boolean;
  readonly #events: WitnessEvents;
  readonly #words = new SpokenWords();
  /** What was said to a session. */
  readonly #said = new Map<number, Set<string>>();
  readonly #attached = new Set<string>();
  /** The entry that executed a sequence of a session. */
  readonly #executedAt = new Map<string, number>();
  /** The markers of applications' acquires, by session and sequence. */
  readonly #markers = new Map<string, string>();
  readonly #versions = new Map<string, Version[]>();
  #index: number;
  /** What the table said of this entry. */
  #spoken: string[] = [];
  /** Cycles that it named: of several the model takes any that is one. */
  #named: NamedCycle[] = [];
  #complaint: string | undefined;

  constructor(
    keys: readonly string[],
    hasReaders: boolean,
    events: WitnessEvents,
    { table, model, laws, access }: Beginning,
  ) {
    this.#keys = keys;
    this.#hasReaders = hasReaders;
    this.#events = events;
    this.table = table;
    this.model = model;
    this.laws = laws;
    this.access = access;
    this.#index = table.index;
    laws.personOf = (session) => access.personOf(session);
    // The first client sees what an earlier cluster left behind.
    if (hasReaders && table.index > 0) for (const key of keys) this.#note(key);
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
    for (const token of this.laws.endingTokens) this.#events.onLost(token, END_REASON.expired);
    this.access.begin(index, commands);
    this.#spoken = [];
    this.#named = [];
    this.table.apply(entry, this);
    this.laws.finish();
    this.#complaint ??= this.#differenceOf(entry) ?? this.laws.complaint;
    if (this.#hasReaders) for (const key of this.#keys) this.#note(key);
    return this.#complaint;
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    const words = canonicalTextOf(message);
    let said = this.#said.get(session);
    if (said === undefined) {
      said = new Set();
      this.#said.set(session, said);
    }
    said.add(words);
    const at = this.#spoken.push(`${session}/${epoch} ${words}`) - 1;
    this.#words.say(session, epoch, words);
    if (message.kind === MESSAGE.reply) this.#executed(session, epoch, message);
    this.access.hear(session, epoch, message, this.laws);
    for (const dismissed of this.access.takeDismissed()) this.laws.dismiss(dismissed);
    this.#tell(session, message);
    this.laws.hear(session, epoch, message);
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) return;
    const { sequence, result } = message;
    this.#events.onResult(session, sequence, result);
    if ("cycle" in result) this.#named.push({ at, session, sequence, cycle: result.cycle ?? [] });
    const key = `${session}/${sequence}`;
    const marker = this.#markers.get(key);
    if (marker !== undefined) this.#events.onAnswered(marker, key, result);
  }

  #executed(session: number, epoch: number, { sequence, result }: Reply): void {
    const command = this.laws.commands.executed(session, epoch, sequence);
    if (session === 0 || command === undefined) return;
    const key = `${session}/${sequence}`;
    if (!this.#executedAt.has(key)) this.#executedAt.set(key, this.#index);
    this.#events.onExecuted(session, epoch, command);
    for (const token of this.laws.givenUpBy(session, command, result)) {
      this.#events.onGivenUp(token);
    }
    if (command.op !== OP.acquire) return;
    const marker = command.options?.value;
    if (marker?.startsWith(MARKER)) this.#markers.set(key, marker);
  }

  attached(message: Attached): void {
    this.#spoken.push(canonicalTextOf(message));
    this.#attached.add(attachWordsOf(message));
    if (message.status === STATUS.ok) this.#words.sayAttached(message);
    if (message.index !== this.#index) this.#complaint ??= `attached by ${message.index}`;
    this.access.attached(message);
    this.laws.attached(message);
  }

  hasSaid(session: number, message: SessionMessage): boolean {
    return this.#said.get(session)?.has(canonicalTextOf(message)) === true;
  }

  /** A connection is attached: from here on nothing that is said to it may be left out. */
  hearAttached(message: Attached): void {
    this.#words.hearAttached(message);
  }

  /** What is left out or out of order on a connection. */
  hear(session: number, epoch: number, message: SessionMessage): string | undefined {
    return this.#words.hear(session, epoch, message);
  }

  hasAttached(message: Attached): boolean {
    return this.#attached.has(attachWordsOf(message));
  }

  /** Who holds and who waits, for people. */
  viewOf(key: string): string {
    return summaryOf(this.table.inspect(key));
  }

  /** Where a sequence was executed; 0 when it was not. */
  executedAt(session: number, sequence: number): number {
    return this.#executedAt.get(`${session}/${sequence}`) ?? 0;
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

  /** Between what the table and the model say and show of an entry. */
  #differenceOf(entry: TableEntry): string | undefined {
    const said: string[] = [];
    const outbox = {
      said,
      toSession: (session: number, epoch: number, message: SessionMessage): void => {
        said.push(`${session}/${epoch} ${canonicalTextOf(message)}`);
      },
      attached: (message: Attached): void => {
        said.push(canonicalTextOf(message));
      },
    };
    this.model.apply(entry, outbox, this.#named);
    const spoken = this.#spoken;
    for (let at = 0; at < Math.max(said.length, spoken.length); at += 1) {
      if (said[at] === spoken[at]) continue;
      return `the table says ${spoken[at]}, the model ${said[at]}`;
    }
    const { reckoning } = this.access;
    const hasChanged = reckoning.now.index === entry.index;
    const rights = hasChanged ? reckoning.differenceFrom(this.table) : undefined;
    if (rights !== undefined) return rights;
    for (const key of this.#keys) {
      const [shown, right] = [this.table, this.model].map((one) =>
        canonicalTextOf(one.inspect(key)),
      );
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
    const { sequence, token, reason } = message;
    const isExpected = reason === END_REASON.maxHold || this.laws.isWarned(session, sequence);
    if (isExpected) events.onLost(token, reason);
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

/** What the wire carries, which is less in a refusal. */
function attachWordsOf(message: Attached): string {
  const { attempt, status } = message;
  if (status === STATUS.ok) return canonicalTextOf({ ...message, key: "" });
  return canonicalTextOf({ attempt, status });
}
