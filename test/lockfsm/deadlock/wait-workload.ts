/**
 * Random lives of a few tasks that ask for locks and permits in any order, so that cycles of waits
 * come about in every way there is. An entry has one cause: a command, or one step of what is due or
 * left to do. The log is kept, so that any moment can be lived again with the search for cycles off.
 */
import fc from "fast-check";
import { LockTable, type TableEntry, type TableSettings } from "../../../src/lockfsm/index.js";
import { SEARCH_STEPS_MAX, TableState } from "../../../src/lockfsm/records/state.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireCommand,
  type ClaimMode,
  type Command,
  type Item,
  MESSAGE,
  OP,
  type Result,
  type SessionMessage,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";

const LOCKS = ["a", "b", "c"] as const;
const SEMAPHORES = ["s", "t"] as const;
export const KEYS: readonly string[] = [...LOCKS, ...SEMAPHORES];
const LIMIT = 3;
const CLIENTS = 3;
const TASKS = 3;
const TTL_MS = 600_000;

interface Wish {
  readonly key: (typeof KEYS)[number];
  readonly isShared: boolean;
  readonly permits: number;
}

export type Deed =
  | {
      readonly kind: "acquire";
      readonly client: number;
      readonly task: number;
      readonly wishes: readonly Wish[];
      readonly priority: number;
      readonly steal: boolean;
      readonly detect: boolean;
      readonly waitMs: number;
      readonly maxHoldMs: number;
      readonly lockDelayMs: number;
    }
  | { readonly kind: "withdraw" | "close"; readonly pick: number }
  | { readonly kind: "end" | "downgrade" | "handOver" | "revoke"; readonly pick: number }
  | { readonly kind: "upgrade"; readonly pick: number; readonly key: number; detect: boolean }
  | { readonly kind: "adopt"; readonly pick: number; readonly client: number; task: number }
  | { readonly kind: "setLimit"; readonly key: number; readonly limit: number }
  | { readonly kind: "pass"; readonly elapsedMs: number };

const client = fc.nat(CLIENTS - 1);
const task = fc.nat(TASKS - 1);
const pick = fc.nat(20);
const kind = <K extends string>(name: K) => fc.constant(name);
const seldom = fc.nat(9).map((roll) => roll === 0);

const wish: fc.Arbitrary<Wish> = fc.record({
  key: fc.constantFrom(...KEYS),
  isShared: fc.boolean(),
  permits: fc.integer({ min: 1, max: LIMIT }),
});

/** `mayOptOut`: some requests say `detect: false`. */
export function deeds(mayOptOut: boolean): fc.Arbitrary<readonly Deed[]> {
  const detect = mayOptOut ? seldom.map((opts) => !opts) : fc.constant(true);
  const acquire = fc.record({
    kind: kind("acquire"),
    client,
    task,
    wishes: fc.uniqueArray(wish, { minLength: 1, maxLength: 3, selector: ({ key }) => key }),
    priority: fc.constantFrom(0, 0, 0, 0, 1, 5),
    steal: fc.nat(24).map((roll) => roll === 0),
    detect,
    waitMs: fc.constantFrom(WAIT_FOREVER, WAIT_FOREVER, WAIT_FOREVER, WAIT_FOREVER, 40, 0),
    maxHoldMs: fc.constantFrom(0, 0, 0, 0, 1_000),
    lockDelayMs: fc.constantFrom(0, 0, 0, 0, 30),
  });
  const one: fc.Arbitrary<Deed> = fc.oneof(
    { weight: 24, arbitrary: acquire },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom("end", "end", "end", "downgrade"),
        pick,
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: kind("withdraw"), pick }) },
    { weight: 3, arbitrary: fc.record({ kind: kind("upgrade"), pick, key: pick, detect }) },
    { weight: 2, arbitrary: fc.record({ kind: kind("handOver"), pick }) },
    { weight: 3, arbitrary: fc.record({ kind: kind("adopt"), pick, client, task }) },
    { weight: 1, arbitrary: fc.record({ kind: kind("revoke"), pick }) },
    { weight: 1, arbitrary: fc.record({ kind: kind("close"), pick }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: kind("setLimit"),
        key: fc.nat(SEMAPHORES.length - 1),
        limit: fc.integer({ min: 1, max: 4 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: kind("pass"), elapsedMs: fc.constantFrom(1, 40, 1_000) }),
    },
  );
  return fc.array(one, { minLength: 8, maxLength: 60, size: "max" });
}

/** What somebody asked for, as its asker remembers it. */
export interface Asked {
  readonly id: string;
  readonly detect: boolean;
  /** By which it stands in the queues. */
  rank: number;
  readonly enqueuedAt: number;
  readonly arrival: number;
}

/** A hold as its holder remembers it: the token changes with upgrades. */
interface Handle {
  readonly session: number;
  readonly sequence: number;
  token: number;
  readonly client: number;
  readonly parts: readonly { readonly key: string; readonly mode: ClaimMode }[];
}

export interface Moment {
  /** It had all steps of search that it needed. */
  readonly isSearched: boolean;
  readonly entry: TableEntry;
  readonly said: readonly { readonly session: number; readonly message: SessionMessage }[];
}

export class WaitWorkload {
  readonly table: LockTable;
  readonly entries: TableEntry[] = [];
  readonly #state: TableState;
  /** Steps of search that each entry may take. */
  readonly #steps: number[] = [];
  readonly #stepsOfCommands: (index: number) => number;
  /** Searches may be left to later entries. */
  readonly isLate: boolean;
  readonly asked = new Map<string, Asked>();
  /** The handles of waiting upgrades. */
  readonly #upgrading = new Map<string, Handle>();
  readonly #settings: Partial<TableSettings>;
  readonly #sessions: number[] = [];
  readonly #handles: Handle[] = [];
  /** What bearers have or had, each under a secret of its own. */
  readonly #left: { readonly handle: Handle; readonly secret: string }[] = [];
  readonly #parts = new Map<string, { client: number; parts: Handle["parts"] }>();
  #stamp = 100_000;
  #nonce = 0;
  /** The last number of each session. */
  readonly #sequences = new Map<number, number>();

  /**
   * What is due or left over is done in steps of one unit, an entry each. `stepsOfCommands`: how many
   * steps of search an entry with a command may take; the others may take as many as they need.
   */
  constructor(settings: Partial<TableSettings>, stepsOfCommands?: (index: number) => number) {
    this.isLate = stepsOfCommands !== undefined;
    this.#settings = { ...settings, unitsPerEntryMax: 1 };
    this.#stepsOfCommands = stepsOfCommands ?? (() => SEARCH_STEPS_MAX);
    this.#state = new TableState(resolveTableSettings(this.#settings));
    this.table = LockTable.of(this.#state);
    for (let at = 0; at < CLIENTS; at += 1) this.#open(at);
    for (const key of SEMAPHORES) {
      this.#apply(0, { op: OP.setLimit, ...this.#head(0), key, limit: LIMIT });
    }
  }

  /** Every entry that a deed takes, one after the other. */
  *live(deed: Deed): Generator<Moment, void, void> {
    if (deed.kind === "pass") {
      this.#stamp += deed.elapsedMs;
      // A late search comes before what is due, and is judged by what it found.
      if (this.isLate) yield this.#apply(0, undefined);
    } else {
      const command = this.#commandOf(deed);
      if (command !== undefined) yield this.#apply(...command);
      if (deed.kind === "close") this.#open(deed.pick % CLIENTS);
    }
    while (!this.isSettled) yield this.#apply(0, undefined);
  }

  get isSettled(): boolean {
    return isSettled(this.table);
  }

  /** The token that a waiting upgrade is about. */
  upgradeOf = (id: string): number => this.#upgrading.get(id)?.token ?? 0;

  /** The table after the last entry, had it not looked for cycles in it; or in another entry. */
  withoutSearch(instead?: TableEntry) {
    const state = new TableState(resolveTableSettings(this.#settings));
    const table = LockTable.of(state);
    const outbox = { toSession: () => {}, attached: () => {} };
    for (const [at, entry] of this.entries.slice(0, -1).entries()) {
      state.searchStepsMax = this.#steps[at] as number;
      table.apply(entry, outbox);
    }
    state.searchStepsMax = 0;
    table.apply(instead ?? (this.entries.at(-1) as TableEntry), outbox);
    /** Nothing is due, and nothing is left over but searches. */
    const isSettled = () => state.work.size === 0 && !isSomethingDue(table);
    const sequences = new Map(this.#sequences);
    let index = this.entries.length;
    /** In an entry of its own. */
    const giveUp = (id: string) => {
      const [session = 0, target = 0] = id.split("/").map(Number);
      const command = { op: OP.end, ...nextHead(sequences, session), target } as const;
      index += 1;
      const commands = [{ session, epoch: 1, command }];
      table.apply({ index, stamp: this.#stamp, wallMs: 0, commands }, outbox);
    };
    return { table, isSettled, giveUp };
  }

  #open(at: number): void {
    this.#nonce += 1;
    const nonce = this.#nonce.toString(16).padStart(32, "0");
    const name = `client ${at}`;
    const command = { op: OP.open, nonce, attempt: 1, ttlMs: TTL_MS, name, metadata: "" } as const;
    const entry = this.#entryOf([{ session: 0, epoch: 0, command }], false);
    this.table.apply(entry, {
      toSession: () => {},
      attached: ({ session }) => {
        this.#sessions[at] = session;
      },
    });
  }

  #entryOf(commands: TableEntry["commands"], hasFewSteps: boolean): TableEntry {
    const entry = { index: this.entries.length + 1, stamp: this.#stamp, wallMs: 0, commands };
    this.entries.push(entry);
    this.#state.searchStepsMax = hasFewSteps
      ? this.#stepsOfCommands(entry.index)
      : SEARCH_STEPS_MAX;
    this.#steps.push(this.#state.searchStepsMax);
    return entry;
  }

  #apply(at: number, command: Command | undefined): Moment {
    const session = this.#sessions[at] as number;
    const commands = command === undefined ? [] : [{ session, epoch: 1, command }];
    const entry = this.#entryOf(commands, command !== undefined);
    const said: { session: number; message: SessionMessage }[] = [];
    this.table.apply(entry, {
      toSession: (to, _epoch, message) => said.push({ session: to, message }),
      attached: () => {},
    });
    for (const { session: to, message } of said) {
      if (message.kind === MESSAGE.reply || message.kind === MESSAGE.outcome) {
        this.#learn(`${to}/${message.sequence}`, message.result);
      }
    }
    return { entry, said, isSearched: this.#state.searchStepsMax === SEARCH_STEPS_MAX };
  }

  #learn(id: string, result: Result): void {
    const known = this.#parts.get(id);
    if (result.status === STATUS.upgraded) {
      const handle = this.#upgrading.get(id);
      if (handle !== undefined) handle.token = result.token;
    } else if (result.status === STATUS.granted && known !== undefined) {
      const { token } = result;
      this.#handles.push({ ...namesIn(id), token, ...known });
    } else if (result.status === STATUS.adopted && known !== undefined) {
      const { token, items } = result;
      this.#handles.push({ ...namesIn(id), token, client: known.client, parts: items });
    }
  }

  #head(at: number) {
    return nextHead(this.#sequences, this.#sessions[at] as number);
  }

  #commandOf(deed: Exclude<Deed, { kind: "pass" }>): [number, Command] | undefined {
    switch (deed.kind) {
      case "acquire":
        return this.#acquiring(deed);
      case "setLimit": {
        const key = SEMAPHORES[deed.key] as string;
        return [0, { op: OP.setLimit, ...this.#head(0), key, limit: deed.limit }];
      }
      case "close": {
        const at = deed.pick % CLIENTS;
        return [at, { op: OP.close, ...this.#head(at) }];
      }
      case "withdraw": {
        const id = [...this.asked.keys()].at(-1 - deed.pick);
        if (id === undefined) return undefined;
        const [session = 0, target = 0] = id.split("/").map(Number);
        const at = this.#sessions.indexOf(session);
        return at < 0 ? undefined : [at, { op: OP.end, ...this.#head(at), target }];
      }
      case "adopt": {
        const left = this.#left[deed.pick % Math.max(1, this.#left.length)];
        if (left === undefined) return undefined;
        const { client: at, task } = deed;
        const { handle, secret } = left;
        const head = this.#head(at);
        this.#parts.set(this.#idOf(at, head.sequence), { ...handle, client: at });
        const key = handle.parts[0]?.key ?? "a";
        return [at, { op: OP.adopt, ...head, key, secret, task }];
      }
      default:
        return this.#aboutHold(deed);
    }
  }

  #aboutHold(
    deed: Extract<Deed, { kind: "end" | "downgrade" | "handOver" | "revoke" | "upgrade" }>,
  ): [number, Command] | undefined {
    const handle = this.#handles.at(-1 - (deed.pick % Math.max(1, this.#handles.length)));
    if (handle === undefined) return undefined;
    const { session, sequence: target, token, client: at } = handle;
    if (deed.kind === "revoke") {
      const how = { graceMs: 0, now: true, reason: "" };
      return [0, { op: OP.revoke, ...this.#head(0), key: undefined, token, ...how }];
    }
    // It ended with its session, and the number may be another hold's by now.
    if (session !== this.#sessions[at]) return undefined;
    const head = this.#head(at);
    switch (deed.kind) {
      case "end":
        return [at, { op: OP.end, ...head, target }];
      case "downgrade":
        return [at, { op: OP.downgrade, ...head, target, key: undefined }];
      case "handOver": {
        const secret = this.#left.length.toString(16).padStart(32, "0");
        this.#left.push({ handle, secret });
        const how = { to: secret, isBearer: true, ttlMs: 60_000 };
        return [at, { op: OP.handOver, ...head, target, ...how }];
      }
      case "upgrade": {
        const key = handle.parts[deed.key % handle.parts.length]?.key ?? "a";
        const { detect } = deed;
        const id = this.#idOf(at, head.sequence);
        this.#upgrading.set(id, handle);
        this.#note(id, detect, Number.NEGATIVE_INFINITY);
        return [at, { op: OP.upgrade, ...head, target, key, waitMs: WAIT_FOREVER, detect }];
      }
    }
  }

  #acquiring(deed: Extract<Deed, { kind: "acquire" }>): [number, AcquireCommand] {
    const { client: at, task: by, wishes, waitMs, kind: _, ...rest } = deed;
    const head = this.#head(at);
    const items = wishes.map(itemOf).filter(({ mode }) => !rest.steal || mode !== "permits");
    const id = this.#idOf(at, head.sequence);
    this.#parts.set(id, { client: at, parts: items });
    this.#note(id, rest.detect, this.#stamp - rest.priority * 1_000);
    const asItems = rest.steal
      ? items.map(({ key }) => ({ key, mode: "exclusive" as const }))
      : items;
    const options = { ...ACQUIRE_DEFAULTS, ...rest, steal: rest.steal && asItems.length > 0 };
    return [at, { op: OP.acquire, ...head, task: by, items: asItems, waitMs, options }];
  }

  #note(id: string, detect: boolean, rank: number): void {
    const enqueuedAt = this.#stamp;
    this.asked.set(id, { id, detect, rank, enqueuedAt, arrival: this.asked.size });
  }

  #idOf(at: number, sequence: number): string {
    return `${this.#sessions[at]}/${sequence}`;
  }
}

/** What `session/sequence` stands for. */
function namesIn(id: string) {
  const [session = 0, sequence = 0] = id.split("/").map(Number);
  return { session, sequence };
}

function nextHead(sequences: Map<number, number>, session: number) {
  const sequence = (sequences.get(session) ?? 0) + 1;
  sequences.set(session, sequence);
  return { sequence, mark: 1, acknowledged: [] };
}

/** Nothing is due, and nothing is left over. */
function isSettled(table: LockTable): boolean {
  return !table.hasQueuedWork && !isSomethingDue(table);
}

function isSomethingDue({ nextDueAt, stamp }: LockTable): boolean {
  return nextDueAt !== undefined && nextDueAt <= stamp;
}

function itemOf({ key, isShared, permits }: Wish): Item {
  if (key === "s" || key === "t") return { key, mode: "permits", permits, limit: undefined };
  return { key, mode: isShared ? "shared" : "exclusive" };
}
