/**
 * A log with a table after it, for tests of one story: each call is an entry, each client
 * numbers its own sequences, and what the table said to it is kept in order.
 */
import { LockTable, type TableSettings } from "../../../src/lockfsm/index.js";
import { TableState } from "../../../src/lockfsm/records/state.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  type ActStep,
  type AttachCommand,
  type Attached,
  type Command,
  type ExtendMode,
  type Item,
  type LockMode,
  MESSAGE,
  OP,
  type PermitItem,
  type RecalledSequence,
  type Result,
  type RevokeCommand,
  type SessionMessage,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";

/** `mark` and `acknowledged` of the next commands of a client. */
export interface Read {
  readonly mark?: number;
  readonly acknowledged?: readonly number[];
}

/**
 * What an acquire says besides its items and its wait. The task is 1, the options the defaults.
 */
export interface Asking extends Read {
  readonly task?: number;
  readonly options?: Partial<AcquireTerms>;
}

/** Named owners, and requests of theirs. */
export const [OWNER, OTHER_OWNER] = ["0a".repeat(16), "0b".repeat(16)] as const;
export const [REQUEST, OTHER_REQUEST] = ["0c".repeat(16), "0d".repeat(16)] as const;

/** What a take says besides its items: by default the first owner tries to get a lease of 5 s. */
export interface Leasing extends Read {
  readonly owner?: string;
  readonly request?: string;
  readonly name?: string;
  readonly ttlMs?: number;
  readonly waitMs?: number;
  readonly isSplit?: boolean;
  readonly options?: Partial<AcquireTerms>;
}

/** A hold or a wait, as its session knows it: by the sequence of its acquire or adopt. */
export type Target = number | { readonly sequence: number };

/** A hold as it was granted. */
export interface Taken {
  readonly sequence: number;
  readonly token: number;
}

/** How an operator takes something away: by default without a grace, yet not before the lease ends. */
export type Force = Partial<Pick<RevokeCommand, "graceMs" | "now" | "reason">>;

/** A command of no session, on a connection with that credential; 0: with none. */
export const unattached = (command: Command, credential = 0) => {
  return { session: 0, epoch: credential, command };
};

export const exclusive = (...keys: string[]) =>
  keys.map((key) => ({ key, mode: "exclusive" as LockMode }));
export const shared = (...keys: string[]) =>
  keys.map((key) => ({ key, mode: "shared" as LockMode }));
/** One item of a semaphore. */
export const permits = (key: string, count: number, limit?: number): PermitItem[] => [
  { key, mode: "permits", permits: count, limit },
];

export class ClusterLog {
  readonly table: LockTable;
  readonly state: TableState;
  stamp = 10_000;
  wallMs = 5_000;
  attached: Attached[] = [];
  readonly said: { session: number; epoch: number; message: SessionMessage }[] = [];
  #index = 0;

  constructor(settings?: Partial<TableSettings>) {
    this.state = new TableState(resolveTableSettings(settings));
    this.table = LockTable.of(this.state);
  }

  /** The index of the last entry. */
  get index(): number {
    return this.#index;
  }

  /** The next entry comes behind `index`. */
  skipTo(index: number): void {
    this.#index = index;
  }

  /** An entry of these commands; returns what was said in it. */
  apply(...commands: { session: number; epoch: number; command: Command }[]): SessionMessage[] {
    this.#index += 1;
    const before = this.said.length;
    this.table.apply(
      { index: this.#index, stamp: this.stamp, wallMs: this.wallMs, commands },
      {
        toSession: (session, epoch, message) => this.said.push({ session, epoch, message }),
        attached: (message) => this.attached.push(message),
      },
    );
    return this.said.slice(before).map(({ message }) => message);
  }

  /** Time passes, noticed by an entry without commands. */
  pass(elapsedMs: number): SessionMessage[] {
    this.stamp += elapsedMs;
    return this.apply();
  }

  /** Empty entries until the work queue is empty; returns how many that took. */
  finishWork(): number {
    let entries = 0;
    for (; this.table.hasQueuedWork; entries += 1) this.apply();
    return entries;
  }

  open(name: string, ttlMs = 15_000): Client {
    const nonce = `${name}-nonce`;
    const command = { op: OP.open, nonce, attempt: 1, ttlMs, name, metadata: "" } as const;
    this.apply({ session: 0, epoch: 0, command });
    return new Client(this, this.attached.at(-1)?.session ?? 0, nonce);
  }

  /** The names of who has or wants a key, holders first: `["a", "|", "b", "c"]`. */
  line(key: string): string[] {
    const { holds, waiters } = this.table.inspect(key);
    const names = (list: readonly { sessionName: string }[]) =>
      list.map(({ sessionName }) => sessionName);
    return [...names(holds), "|", ...names(waiters)];
  }
}

export class Client {
  readonly session: number;
  readonly nonce: string;
  epoch = 1;
  /** The last sequence that was used. */
  sequence = 0;
  readonly #log: ClusterLog;

  constructor(log: ClusterLog, session: number, nonce: string) {
    this.#log = log;
    this.session = session;
    this.nonce = nonce;
  }

  /** A command of this client, not sent yet. */
  make(command: Command) {
    return { session: this.session, epoch: this.epoch, command };
  }

  send(command: Command): SessionMessage[] {
    return this.#log.apply(this.make(command));
  }

  acquiring(
    items: readonly Item[] = exclusive("k"),
    waitMs = WAIT_FOREVER,
    { task = 1, options, ...read }: Asking = {},
  ) {
    const all = options === undefined ? undefined : { ...ACQUIRE_DEFAULTS, ...options };
    const head = this.#head(read);
    return this.make({ op: OP.acquire, ...head, task, items, waitMs, options: all });
  }

  acquire(
    items: readonly Item[] = exclusive("k"),
    waitMs = WAIT_FOREVER,
    asking: Asking = {},
  ): Result | undefined {
    return resultOf(this.#log.apply(this.acquiring(items, waitMs, asking)));
  }

  /** Acquires what it must get. */
  take(items: readonly Item[] = exclusive("k"), asking: Asking = {}): Taken {
    const result = this.acquire(items, 0, asking);
    if (result === undefined || !("token" in result)) throw new Error(JSON.stringify(result));
    return { sequence: this.sequence, token: result.token };
  }

  /** A take, not sent yet. */
  leasing(items: readonly Item[] = exclusive("k"), leasing: Leasing = {}) {
    const { owner = OWNER, request = REQUEST, name = "owner", ttlMs = 5_000 } = leasing;
    const { waitMs = 0, isSplit = false, options: some } = leasing;
    const options = some === undefined ? undefined : { ...ACQUIRE_DEFAULTS, ...some };
    const wanted = { owner, request, name, ttlMs, isSplit, items, waitMs, options };
    return this.make({ op: OP.take, ...this.#head(leasing), ...wanted });
  }

  lease(items?: readonly Item[], leasing?: Leasing): Result | undefined {
    return resultOf(this.#log.apply(this.leasing(items, leasing)));
  }

  extend(
    keys: readonly string[],
    ttlMs: number,
    mode: ExtendMode = "atLeast",
    owner: string = OWNER,
  ): Result | undefined {
    return resultOf(this.send({ op: OP.extend, ...this.#head({}), owner, keys, ttlMs, mode }));
  }

  /** With `taken` only what that take got. */
  giveBack(keys: readonly string[], owner: string = OWNER, taken = 0): SessionMessage[] {
    return this.send({ op: OP.giveBack, ...this.#head({}), owner, keys, taken });
  }

  act(...steps: readonly ActStep[]): SessionMessage[] {
    return this.send({ op: OP.act, ...this.#head({}), steps });
  }

  end(target: Target, read: Read = {}): SessionMessage[] {
    return this.send({ op: OP.end, ...this.#head(read), target: sequenceOf(target) });
  }

  close(): SessionMessage[] {
    return this.send({ op: OP.close, ...this.#head({}) });
  }

  upgrade(
    target: Target,
    key = "k",
    waitMs = WAIT_FOREVER,
    { detect = true, ...read }: Read & { readonly detect?: boolean } = {},
  ): Result | undefined {
    const head = this.#head(read);
    return resultOf(this.send({ op: OP.upgrade, ...head, ...of(target), key, waitMs, detect }));
  }

  /** For one of its keys, or for all. */
  downgrade(target: Target, key?: string, read: Read = {}): SessionMessage[] {
    return this.send({ op: OP.downgrade, ...this.#head(read), ...of(target), key });
  }

  update(target: Target, value: string, read: Read = {}): SessionMessage[] {
    return this.send({ op: OP.update, ...this.#head(read), ...of(target), value });
  }

  /** Everybody who holds the key. */
  revokeKey(key: string, force: Force = {}): SessionMessage[] {
    return this.send({ op: OP.revoke, ...this.#head({}), key, token: 0, ...forceOf(force) });
  }

  revokeToken(token: number, force: Force = {}): SessionMessage[] {
    const head = this.#head({});
    return this.send({ op: OP.revoke, ...head, key: undefined, token, ...forceOf(force) });
  }

  endSession(session: number, force: Force = {}): SessionMessage[] {
    return this.send({ op: OP.endSession, ...this.#head({}), session, ...forceOf(force) });
  }

  /** `undefined`: the key remembers none. */
  setLimit(key: string, limit: number | undefined): SessionMessage[] {
    return this.send({ op: OP.setLimit, ...this.#head({}), key, limit });
  }

  /** To a bearer; with `isBearer` false to an owner of its identity. */
  handOver(target: Target, to: string, ttlMs = 15_000, isBearer = true): SessionMessage[] {
    return this.send({ op: OP.handOver, ...this.#head({}), ...of(target), to, isBearer, ttlMs });
  }

  adopt(key: string, secret: string, task = 1): Result | undefined {
    return resultOf(this.send({ op: OP.adopt, ...this.#head({}), key, secret, task }));
  }

  /** `undefined`: its default. */
  changeSetting(name: string, value: number | undefined): SessionMessage[] {
    return this.send({ op: OP.changeSetting, ...this.#head({}), name, value });
  }

  keepalive(read: Read = {}): SessionMessage[] {
    const { mark = 1, acknowledged = [] } = read;
    return this.send({ op: OP.keepalive, number: 1, mark, acknowledged });
  }

  recall(...sequences: number[]): SessionMessage[] {
    return this.send({ op: OP.recall, number: 9, mark: 1, acknowledged: [], sequences });
  }

  /** What the table says became of one sequence. */
  recallOne(target: Target): RecalledSequence | undefined {
    const [message] = this.recall(sequenceOf(target));
    return message?.kind === MESSAGE.recalled ? message.sequences[0] : undefined;
  }

  /** By another connection. */
  resume(attempt: number, nonce = this.nonce): Attached | undefined {
    const { session } = this;
    return this.#attach({ op: OP.resume, session, nonce, attempt });
  }

  #attach(command: AttachCommand): Attached | undefined {
    const before = this.#log.attached.length;
    this.#log.apply({ session: 0, epoch: 0, command });
    const answer = this.#log.attached[before];
    if (answer?.status === STATUS.ok && answer.epoch !== this.epoch) {
      this.epoch = answer.epoch;
      this.sequence = answer.highestSequence;
    }
    return answer;
  }

  #head({ mark = 1, acknowledged = [] }: Read) {
    this.sequence += 1;
    return { sequence: this.sequence, mark, acknowledged };
  }
}

function sequenceOf(target: Target): number {
  return typeof target === "number" ? target : target.sequence;
}

function of(target: Target): { readonly target: number } {
  return { target: sequenceOf(target) };
}

function forceOf({ graceMs = 0, now = false, reason = "" }: Force) {
  return { graceMs, now, reason };
}

/** The result of the first message that has one. */
export function resultOf(messages: readonly SessionMessage[]): Result | undefined {
  for (const message of messages) if ("result" in message) return message.result;
  return undefined;
}
