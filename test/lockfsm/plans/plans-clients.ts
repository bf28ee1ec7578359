/**
 * The clients of a random history: they turn a plan's turns into entries of a log, and listen to what
 * the table says to them. A client stands for all the processes that ever had its session. See
 * `plans.ts`.
 */
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { TableCommand, TableEntry, TableOutbox } from "../../../src/lockfsm/index.js";
import {
  type AttachCommand,
  type Attached,
  attachKeyOf,
  type Command,
  type HandOverCommand,
  type HeldItem,
  type Item,
  isAttachCommand,
  isOrder,
  isStateOrder,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Reply,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
  type StateOrder,
  type TakeCommand,
} from "../../../src/protocol/index.js";
import {
  type Action,
  type Attaching,
  CLIENTS,
  type Forcing,
  GOOD_MANNERS,
  type Heir,
  type Holding,
  KEYS,
  type Manners,
  type Owning,
  type Sending,
  type Taking,
  type Turn,
  USUAL_LIMIT,
} from "./plans.js";

const TTLS_MS = [1_500, 4_000, 20_000, 60_000];
/** Numbers beyond the newest one that a recall asks for. */
const BEYOND = 3;

/** Takes of anybody that others may repeat, and what owners have that others may extend or give back. */
const TAKES_MAX = 8;

/** A hold that a client heard of, with the task and the items that it may be of. */
interface Known {
  readonly sequence: number;
  readonly token: number;
  readonly task: number;
  readonly items: readonly Item[];
}

const NOTHING: Known = { sequence: 0, token: 0, task: 1, items: [] };

/** What an owner may have, a bearer or another one. */
interface Owned {
  readonly owner: string;
  readonly keys: readonly string[];
}

interface ClientState {
  /** Counts its nonces: each session has another one. */
  life: number;
  session: number;
  hasEnded: boolean;
  epoch: number;
  attempt: number;
  /** The highest number that was answered. */
  highest: number;
  /** What the next command is numbered, if those before it are executed. */
  next: number;
  /** Numbers whose end was reported to it. */
  unacknowledged: number[];
  readonly executed: Map<number, SequencedCommand>;
  /** Every hold. */
  known: Known[];
  /** Those that it believes to have. */
  held: Known[];
  /** Numbers that wait. */
  waiting: number[];
  sent: TableCommand[];
}

export class Clients implements TableOutbox {
  readonly #clients: ClientState[] = Array.from({ length: CLIENTS }, () => freshClient(0));
  /** The commands of the last entry. */
  #commands: readonly TableCommand[] = [];
  /** Who sent an attach, by what its answer is found by. */
  readonly #attaching = new Map<string, number>();
  /** Secrets of bearers: what nobody has adopted yet. */
  #left: Owned[] = [];
  readonly #spent: Owned[] = [];
  /** The last takes of anybody: their owners are known to all. */
  #takes: TakeCommand[] = [];
  /** What these asked for, and what was handed over, to bearers too. */
  #owned: Owned[] = [];
  /** The limits of semaphores that somebody learned. */
  readonly #limits = new Map<string, number>();
  /** State orders that were executed; and that will be, if all of this entry are. */
  readonly #orders = { limits: 0, rest: 0 };
  #assumed = { limits: 0, rest: 0 };
  #index: number;
  #stamp: number;

  /** The first entry comes after `index`, with a stamp not below `stamp`. */
  constructor(index = 0, stamp = 1_000) {
    this.#index = index;
    this.#stamp = stamp;
  }

  /** The index of the last entry. */
  get index(): number {
    return this.#index;
  }

  entryOf(turn: Turn): TableEntry {
    this.#index += 1;
    this.#stamp += turn.elapsedMs;
    // What was not executed gives its number back.
    for (const client of this.#clients) client.next = client.highest + 1;
    this.#assumed = { ...this.#orders };
    this.#commands = turn.actions.flatMap((wanted) => this.#resolve(wanted));
    return { index: this.#index, stamp: this.#stamp, wallMs: 5_000, commands: this.#commands };
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    if (message.kind === MESSAGE.reply) this.#countOrder(session, epoch, message);
    const client = this.#clients.find((other) => other.session === session);
    if (client === undefined || client.epoch !== epoch) return;
    switch (message.kind) {
      case MESSAGE.ended: {
        const at = this.#clients.indexOf(client);
        this.#clients[at] = { ...freshClient(client.life + 1), session, epoch, hasEnded: true };
        return;
      }
      case MESSAGE.lost:
        client.unacknowledged.push(message.sequence);
        drop(client, message.sequence);
        return;
      case MESSAGE.recalled:
        for (const told of message.sequences) {
          if (told.state !== RECALL_STATE.held) continue;
          const { task } =
            client.known.find(({ sequence }) => sequence === told.sequence) ?? NOTHING;
          gain(client, { ...told, task, items: itemsOf(told.items) });
        }
        return;
      case MESSAGE.reply: {
        const { sequence, result } = message;
        const executed = this.#commands.find(
          (one) => one.session === session && one.epoch === epoch && sequenceOf(one) === sequence,
        )?.command;
        if (executed === undefined || !("sequence" in executed)) return;
        client.highest = Math.max(client.highest, sequence);
        client.executed.set(sequence, executed);
        if (result.status === STATUS.queued) client.waiting.push(sequence);
        this.#learn(client, executed, result);
        return;
      }
      case MESSAGE.outcome: {
        const { sequence, result } = message;
        client.waiting = client.waiting.filter((other) => other !== sequence);
        if (result.status !== STATUS.granted) client.unacknowledged.push(sequence);
        const executed = client.executed.get(sequence);
        if (executed !== undefined) this.#learn(client, executed, result);
      }
    }
  }

  #countOrder(session: number, epoch: number, { sequence, result }: Reply): void {
    const executed = this.#commands.find((one) => {
      const isIts = session === 0 || one.epoch === epoch;
      return one.session === session && isIts && sequenceOf(one) === sequence;
    })?.command;
    if (executed === undefined || !isStateOrder(executed)) return;
    const { status } = result;
    if (status === ERROR_NUMBERS.OUTDATED_ORDER) {
      this.#orders[countOf(executed)] = result.orderCount ?? 0;
    } else if (status !== ERROR_NUMBERS.FORBIDDEN && status !== ERROR_NUMBERS.UNAUTHENTICATED) {
      this.#orders[countOf(executed)] += 1;
    }
  }

  #learn(client: ClientState, command: SequencedCommand, result: Result): void {
    const { sequence } = command;
    if (command.op === OP.acquire) {
      const { task, items } = command;
      if ("token" in result) gain(client, { sequence, token: result.token, task, items });
      const permits = items.find(({ mode }) => mode === "permits");
      if (permits && "limit" in result) this.#limits.set(permits.key, result.limit ?? USUAL_LIMIT);
    } else if (command.op === OP.upgrade) {
      const hold = client.held.find((other) => other.sequence === command.target);
      if (hold && "token" in result) gain(client, { ...hold, token: result.token });
    } else if (command.op === OP.adopt) {
      if (!("items" in result)) return;
      const { token, items } = result;
      const isIt = ({ owner, keys }: Owned) =>
        owner === command.secret && keys.includes(command.key);
      this.#spent.push(...this.#left.filter(isIt));
      this.#left = this.#left.filter((one) => !isIt(one));
      gain(client, { sequence, token, task: command.task, items: itemsOf(items) });
    } else if (command.op === OP.end) {
      drop(client, command.target);
      client.waiting = client.waiting.filter((other) => other !== command.target);
    } else if (command.op === OP.handOver) {
      if (result.status === STATUS.leased) this.#leave(client, command);
    } else if (command.op === OP.setLimit) {
      if (result.status === STATUS.ok) this.#limits.set(command.key, command.limit ?? USUAL_LIMIT);
    }
  }

  #leave(client: ClientState, { target, to: owner, isBearer }: HandOverCommand): void {
    const hold = client.held.find((other) => other.sequence === target);
    drop(client, target);
    if (hold === undefined) return;
    const left = { owner, keys: hold.items.map(({ key }) => key) };
    this.#own(left);
    if (isBearer) this.#left.push(left);
  }

  #own(owned: Owned): void {
    this.#owned = [...this.#owned, owned].slice(-TAKES_MAX);
  }

  attached(message: Attached): void {
    const client = this.#clients[this.#attaching.get(message.key) ?? -1];
    if (client === undefined || message.status !== STATUS.ok) return;
    if (client.session === message.session && client.epoch === message.epoch) return;
    const { session, epoch, highestSequence } = message;
    Object.assign(client, { session, epoch, hasEnded: false });
    client.highest = highestSequence;
    client.next = highestSequence + 1;
  }

  #nonceOf(at: number): string {
    const life = this.#clients[at]?.life ?? 0;
    return `${at}${life.toString(16)}`.padStart(32, "0");
  }

  #resolve(wanted: Action): TableCommand[] {
    const client = this.#clients[wanted.client] as ClientState;
    if (wanted.kind === "copy") {
      const from = Math.max(0, client.sent.length - 1 - wanted.back);
      const copies = client.sent.slice(from, from + wanted.count);
      return wanted.isRenewed ? copies.map((one) => ({ ...one, epoch: client.epoch })) : copies;
    }
    const command = this.#commandOf(wanted, client);
    if (isAttachCommand(command)) {
      this.#attaching.set(attachKeyOf(command), wanted.client);
      const place = command.attempt % 7;
      const origin = { node: 1 + (place % 3), address: `10.0.0.${place}` };
      return [{ session: 0, epoch: wanted.credential ?? 0, command, origin }];
    }
    // Every third one is given by nobody's session.
    const isUnattached = wanted.kind === "access" ? wanted.isUnattached : undefined;
    if (isOrder(command) && (isUnattached ?? command.sequence % 3 === 0)) {
      const order = isStateOrder(command) ? this.#atItsCount(command) : command;
      return [{ session: 0, epoch: wanted.credential ?? 0, command: order }];
    }
    if (isStateOrder(command)) this.#assumed[countOf(command)] += 1;
    const { epochShift, sequenceShift, isHeldBack } = wanted.manners;
    const epoch = Math.max(0, client.epoch + epochShift);
    const sent = { session: client.session, epoch, command };
    if (!("sequence" in command)) return [sent];
    if (sequenceShift === 0) client.next += 1;
    client.sent.push(sent);
    return isHeldBack ? [] : [sent];
  }

  /** Every fifth one is a late copy, or of somebody who has not heard of the last one. */
  #atItsCount(command: StateOrder): StateOrder {
    const count = countOf(command);
    const mark = this.#assumed[count];
    if (command.sequence % 5 === 4) return { ...command, mark: Math.max(0, mark - 1) };
    this.#assumed[count] += 1;
    return { ...command, mark };
  }

  #commandOf(wanted: Sending, client: ClientState): Command {
    if (wanted.kind === "open" || wanted.kind === "resume") {
      return this.#attachingBy(wanted, client);
    }
    const isUnattached = wanted.kind === "access" && wanted.isUnattached;
    if (!isUnattached && this.#mustOpen(client)) {
      return this.#attachingBy(opening(wanted.client), client);
    }
    const { manners } = wanted;
    const { mark, acknowledged } = readBy(client, manners);
    const number = client.next;
    if (wanted.kind === "keepalive") return { op: OP.keepalive, number, mark, acknowledged };
    if (wanted.kind === "recall") {
      const sequences = Array.from({ length: client.highest + BEYOND }, (_, at) => at);
      return { op: OP.recall, number, mark, acknowledged, sequences };
    }
    const sequence = Math.max(1, number + manners.sequenceShift);
    const head = { sequence, mark, acknowledged };
    switch (wanted.kind) {
      case "withdraw": {
        const { pick, back } = wanted;
        // What waits, or ended without having been read.
        const open = [...client.unacknowledged, ...client.waiting];
        const target = back === undefined ? (open.at(-1 - pick) ?? open[0]) : undefined;
        return { op: OP.end, ...head, target: target ?? sequence - 1 - (back ?? 0) };
      }
      case "acquire": {
        const { task, waitMs, options } = wanted;
        const items = wanted.items.map((item) => this.#withLimit(item));
        return { op: OP.acquire, ...head, task, items, waitMs, options };
      }
      case "take":
        return this.#taking(wanted, head);
      case "act": {
        const steps = wanted.steps.map(({ leaseOwner, ...step }) => {
          return { ...step, owner: ownerNamed(leaseOwner) };
        });
        return { op: OP.act, ...head, steps };
      }
      case "extend":
      case "giveBack":
        return this.#owning(wanted, client, head);
      case "adopt": {
        const { pick, part, task, isStranger, isSpent, elsewhere } = wanted;
        const list = isSpent ? this.#spent : this.#left;
        const left = list.at(-1 - pick) ?? list.at(-1);
        if (left === undefined) {
          const heir = { at: part % 3, isBearer: true, ttlMs: 5_000 };
          return handingOver(head, oneOf(client.held, pick), heir);
        }
        const secret = isStranger ? "f".repeat(32) : left.owner;
        const key = elsewhere ?? left.keys[part % left.keys.length] ?? KEYS[0];
        return { op: OP.adopt, ...head, key, secret, task };
      }
      case "setLimit":
        return { op: OP.setLimit, ...head, key: wanted.key, limit: wanted.limit };
      case "changeSetting":
        return { op: OP.changeSetting, ...head, name: wanted.name, value: wanted.value };
      case "access":
        return { ...head, ...wanted.wish };
      case "revoke":
      case "endSession":
        return this.#forcing(wanted, head);
      case "end":
      case "downgrade":
      case "upgrade":
      case "update":
      case "handOver":
        return holding(wanted, client, head);
      default:
        return { op: OP.close, ...head };
    }
  }

  #taking(wanted: Taking, head: Head): Command {
    const { again, isSplit, waitMs, ttlMs, options } = wanted;
    const owner = ownerNamed(wanted.leaseOwner);
    const request = wanted.request === 2 ? owner : `${wanted.request}b`.repeat(16);
    const name = `owner ${wanted.leaseOwner}`;
    const items = wanted.items.map((item) => this.#withLimit(item));
    const fresh = { owner, request, name, isSplit, items, options };
    const before = again === undefined ? undefined : this.#takes.at(-1 - again);
    // The order of the items does not matter, nor does what else is said now.
    const repeated = before && {
      ...{ ...before, name, options },
      items: wanted.request === 1 ? [...before.items].reverse() : before.items,
    };
    const command: TakeCommand = {
      ...{ ...fresh, ...repeated },
      ...{ op: OP.take, ...head, waitMs, ttlMs },
    };
    this.#takes = [...this.#takes, command].slice(-TAKES_MAX);
    this.#own({ owner: command.owner, keys: command.items.map(({ key }) => key) });
    return command;
  }

  #owning(wanted: Owning, client: ClientState, head: Head): Command {
    const { kind, pick, leaseOwner, ttlMs, mode, takenBack } = wanted;
    const own = [...client.executed.values()].filter(({ op }) => op === OP.take) as TakeCommand[];
    const mine = takenBack === undefined || kind === "extend" ? undefined : own.at(-1 - takenBack);
    const owned = mine && { owner: mine.owner, keys: mine.items.map(({ key }) => key) };
    const meant = owned ?? this.#owned.at(-1 - pick) ?? this.#owned.at(-1);
    const owner = leaseOwner === undefined && meant ? meant.owner : ownerNamed(leaseOwner ?? 0);
    const named = meant?.keys ?? [];
    const keys = wanted.keys ?? (named.length > 0 ? [...new Set(named)] : [KEYS[0]]);
    if (kind === "extend") return { op: OP.extend, ...head, owner, keys, ttlMs, mode };
    return { op: OP.giveBack, ...head, owner, keys, taken: mine?.sequence ?? 0 };
  }

  #attachingBy(wanted: Attaching, client: ClientState): AttachCommand {
    const { kind, client: at, attemptShift, isStranger } = wanted;
    client.attempt = Math.max(1, client.attempt + attemptShift);
    const { attempt, session } = client;
    if (kind === "open") {
      const nonce = this.#nonceOf(at);
      const ttlMs = TTLS_MS[at] as number;
      return { op: OP.open, nonce, attempt, ttlMs, name: `client ${at}`, metadata: `of ${at}` };
    }
    const nonce = isStranger ? "f".repeat(32) : this.#nonceOf(at);
    return { op: OP.resume, session, nonce, attempt };
  }

  #forcing({ kind, client: at, key, pick, graceMs, now }: Forcing, head: Head): Command {
    const other = this.#clients[(at + (pick ?? 1)) % CLIENTS] as ClientState;
    const force = { graceMs, now, reason: "told to" };
    if (kind === "endSession") {
      return { op: OP.endSession, ...head, session: other.session, ...force };
    }
    // At once only what is no newer than some other hold.
    const { token } = oneOf(other.held, pick ?? 0);
    if (pick === undefined)
      return { op: OP.revoke, ...head, key, token: now ? token : 0, ...force };
    return { op: OP.revoke, ...head, key: undefined, token, ...force };
  }

  /** A client whose session ended tries it once more, then opens another one. */
  #mustOpen(client: ClientState): boolean {
    if (client.epoch === 0) return true;
    if (client.hasEnded) client.epoch = 0;
    return false;
  }

  #withLimit(item: Item): Item {
    if (item.mode !== "permits" || item.limit !== USUAL_LIMIT) return item;
    return { ...item, limit: this.#limits.get(item.key) ?? USUAL_LIMIT };
  }
}

function ownerNamed(at: number): string {
  return `${at}a`.repeat(16);
}

function sequenceOf({ command }: TableCommand): number | undefined {
  return command !== undefined && "sequence" in command ? command.sequence : undefined;
}

function gain(client: ClientState, gained: Known): void {
  if (!client.known.some(({ sequence }) => sequence === gained.sequence)) client.known.push(gained);
  drop(client, gained.sequence);
  client.held.push(gained);
}

function drop(client: ClientState, gone: number): void {
  client.held = client.held.filter(({ sequence }) => sequence !== gone);
}

function readBy(client: ClientState, { acknowledges, markLag }: Manners) {
  const mark = Math.max(1, client.highest + 1 - markLag);
  if (acknowledges === "any") {
    return { mark, acknowledged: [3, 2, 1, 0].map((back) => Math.max(0, client.highest - back)) };
  }
  const read = { none: [0, 0], oldest: [0, 1], newest: [-1, 1], all: [0, 1_000] } as const;
  const [from, count] = read[acknowledges];
  return { mark, acknowledged: client.unacknowledged.splice(from, count) };
}

function opening(client: number): Attaching {
  const how = { attemptShift: 1, isStranger: false };
  return { kind: "open", client, manners: GOOD_MANNERS, ...how };
}

function holding(wanted: Holding, client: ClientState, head: Head): Command {
  const { kind, pick, part, waitMs, detect, heir, isStale } = wanted;
  if (!isStale && client.held.length === 0) return takingFirst(head, part);
  const hold = oneOf(isStale ? client.known : client.held, pick);
  const { sequence: target, items } = hold;
  const key = items[part % items.length]?.key ?? KEYS[0];
  switch (kind) {
    case "end":
      return { op: OP.end, ...head, target };
    case "downgrade":
      return { op: OP.downgrade, ...head, target, key: part === 0 ? undefined : key };
    case "upgrade":
      return { op: OP.upgrade, ...head, target, key, waitMs, detect };
    case "update":
      return { op: OP.update, ...head, target, value: `of ${head.sequence}` };
    case "handOver":
      return handingOver(head, hold, heir);
  }
}

function handingOver(head: Head, { sequence: target }: Known, heir: Heir): Command {
  const { at, isBearer, ttlMs } = heir;
  return { op: OP.handOver, ...head, target, to: ownerNamed(at), isBearer, ttlMs };
}

/** What a client does instead that has nothing yet with which it could do something. */
function takingFirst(head: Head, pick: number): Command {
  const key = KEYS[pick % 3] ?? KEYS[0];
  return { op: OP.acquire, ...head, task: 1, items: [{ key, mode: "shared" }], waitMs: 500 };
}

function itemsOf(items: readonly HeldItem[]): Item[] {
  return items.map(({ key, mode, permits }): Item => {
    return mode === "permits" ? { key, mode, permits, limit: undefined } : { key, mode };
  });
}

/** One of the last. */
function oneOf(list: readonly Known[], pick: number): Known {
  return list.at(-1 - (pick % 4)) ?? list.at(-1) ?? NOTHING;
}

function countOf({ op }: StateOrder): "limits" | "rest" {
  return op === OP.setLimit ? "limits" : "rest";
}

interface Head {
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

function freshClient(life: number): ClientState {
  return {
    life,
    session: 0,
    hasEnded: false,
    epoch: 0,
    attempt: 0,
    highest: 0,
    next: 1,
    unacknowledged: [],
    executed: new Map(),
    known: [],
    held: [],
    waiting: [],
    sent: [],
  };
}
