/**
 * The clients of a random history: they turn a plan's turns into entries of a log, and listen to what
 * the table says to them. See `plans.ts`.
 */
import { ERROR_NUMBERS } from "../../src/errors.js";
import type { Outbox, TableCommand, TableEntry } from "../../src/lockfsm/index.js";
import {
  ACQUIRE_DEFAULTS,
  type Attached,
  type Command,
  type Item,
  isOrder,
  MESSAGE,
  OP,
  type Result,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import {
  type Action,
  type Attaching,
  CLIENTS,
  type Forcing,
  type Holding,
  KEYS,
  type Manners,
  type Sending,
  type Turn,
  USUAL_LIMIT,
} from "./plans.js";

const TTLS_MS = [1_500, 4_000, 20_000, 60_000];

/** A token that a client was told, with the owner and the items that it may be of. */
interface Known {
  readonly token: number;
  readonly owner: number;
  readonly items: readonly Item[];
}

const NOTHING: Known = { token: 0, owner: 1, items: [] };

interface Ticket {
  readonly token: number;
  readonly secret: string;
}

interface ClientState {
  /** Of the nonce. */
  generation: number;
  session: number;
  hasEnded: boolean;
  epoch: number;
  attempt: number;
  nextSequence: number;
  answered: Set<number>;
  /** Outcomes and losses that it was told: sequences and tokens. */
  unacknowledged: number[];
  /** Every token. */
  known: Known[];
  /** Those that it believes to hold. */
  held: Known[];
  /** Sequences that wait. */
  waiting: number[];
  sent: TableCommand[];
}

export class Clients implements Outbox {
  readonly #clients: ClientState[] = Array.from({ length: CLIENTS }, () => freshClient(0));
  /** Those that nobody has claimed yet. */
  #tickets: Ticket[] = [];
  readonly #spent: Ticket[] = [];
  /** The limits of semaphores that somebody was told. */
  readonly #limits = new Map<string, number>();
  #index: number;
  #stamp: number;

  /** The first entry comes behind `index`, with a stamp not below `stamp`. */
  constructor(index = 0, stamp = 1_000) {
    this.#index = index;
    this.#stamp = stamp;
  }

  /** Of the last entry. */
  get index(): number {
    return this.#index;
  }

  entryOf(turn: Turn): TableEntry {
    this.#index += 1;
    this.#stamp += turn.elapsedMs;
    const commands = turn.actions.map((wanted) => this.#resolve(wanted));
    return { index: this.#index, stamp: this.#stamp, wallMs: 5_000, commands };
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    const client = this.#clients.find((other) => other.session === session);
    if (client === undefined || client.epoch !== epoch) return;
    switch (message.kind) {
      case MESSAGE.ended: {
        const at = this.#clients.indexOf(client);
        const { generation, epoch } = client;
        this.#clients[at] = { ...freshClient(generation + 1), session, epoch, hasEnded: true };
        return;
      }
      case MESSAGE.lost:
        client.unacknowledged.push(message.token);
        this.#drop(client, message.token);
        return;
      case MESSAGE.recalled:
        for (const told of message.tokens) {
          if (told.held && told.current !== told.token) this.#replace(client, told.token, told);
        }
        return;
      case MESSAGE.reply:
      case MESSAGE.outcome:
        this.#hear(client, message.sequence, message.result);
    }
  }

  #hear(client: ClientState, sequence: number, result: Result): void {
    if (result.status === ERROR_NUMBERS.SESSION_EXPIRED) return;
    client.answered.add(sequence);
    client.waiting = client.waiting.filter((other) => other !== sequence);
    if (result.status === STATUS.queued) {
      client.waiting.push(sequence);
      return;
    }
    if (!client.unacknowledged.includes(sequence)) client.unacknowledged.push(sequence);
    const sent = client.sent.find(
      ({ command }) => command && "sequence" in command && command.sequence === sequence,
    );
    if (sent?.command !== undefined) this.#learn(client, sent.command, result);
  }

  #learn(client: ClientState, command: Command, result: Result): void {
    if (command.op === OP.acquire) {
      const { owner, items } = command;
      if ("token" in result) this.#gain(client, { token: result.token, owner, items });
      const permits = items.find(({ mode }) => mode === "permits");
      if (permits && "limit" in result) this.#limits.set(permits.key, result.limit ?? USUAL_LIMIT);
    } else if (command.op === OP.upgrade) {
      if ("token" in result) this.#replace(client, command.token, { current: result.token });
    } else if (command.op === OP.claim) {
      if (!("items" in result)) return;
      this.#tickets = this.#tickets.filter(({ token }) => token !== command.token);
      this.#spent.push(command);
      const items = result.items.map(({ key, mode, permits }): Item => {
        return mode === "permits" ? { key, mode, permits, limit: undefined } : { key, mode };
      });
      this.#gain(client, { token: result.token, owner: command.owner, items });
    } else if (command.op === OP.release) {
      if (!("remaining" in result)) this.#drop(client, command.token);
    } else if (command.op === OP.detach) {
      if (result.status !== STATUS.ok) return;
      this.#drop(client, command.token);
      this.#tickets.push(command);
    } else if (command.op === OP.setLimit) {
      if (result.status === STATUS.ok) this.#limits.set(command.key, command.limit ?? USUAL_LIMIT);
    }
  }

  #gain(client: ClientState, gained: Known): void {
    if (client.held.some(({ token }) => token === gained.token)) return;
    client.known.push(gained);
    client.held.push(gained);
  }

  #drop(client: ClientState, gone: number): void {
    client.held = client.held.filter(({ token }) => token !== gone);
  }

  #replace(client: ClientState, old: number, { current }: { readonly current: number }): void {
    const before = client.known.find(({ token }) => token === old) ?? NOTHING;
    this.#drop(client, old);
    this.#gain(client, { ...before, token: current });
  }

  attached(message: Attached): void {
    const at = this.#clients.findIndex((_, index) => this.#nonceOf(index) === message.nonce);
    const client = this.#clients[at];
    if (client === undefined || message.status !== STATUS.ok) return;
    client.session = message.session;
    client.epoch = message.epoch;
    client.hasEnded = false;
  }

  #nonceOf(at: number): string {
    const generation = this.#clients[at]?.generation ?? 0;
    return `${at}${generation.toString(16)}`.padStart(32, "0");
  }

  #resolve(wanted: Action): TableCommand {
    const client = this.#clients[wanted.client] as ClientState;
    if (wanted.kind === "resubmit") {
      const sent = client.sent[client.sent.length - 1 - wanted.back];
      return sent === undefined
        ? { session: 0, epoch: 0, command: undefined }
        : { ...sent, epoch: client.epoch };
    }
    const command = this.#commandOf(wanted, client);
    if (command.op === OP.open || command.op === OP.resume || command.op === OP.takeOver) {
      return { session: 0, epoch: 0, command };
    }
    // Every third one is given by nobody's session.
    if (isOrder(command) && command.sequence % 3 === 0) return { session: 0, epoch: 0, command };
    const epoch = Math.max(0, client.epoch + wanted.manners.epochShift);
    const sent = { session: client.session, epoch, command };
    if ("sequence" in command) client.sent.push(sent);
    return sent;
  }

  #commandOf(wanted: Sending, client: ClientState): Command {
    if (wanted.kind === "open" || wanted.kind === "resume" || wanted.kind === "takeOver") {
      return this.#attaching(wanted, client);
    }
    if (this.#mustOpen(client)) {
      const { client: at, manners } = wanted;
      const how = { client: at, manners, attemptShift: 1, isStranger: false };
      return this.#attaching({ ...how, kind: "open" }, client);
    }
    const { mark, acknowledged } = this.#readBy(client, wanted.manners);
    if (wanted.kind === "keepalive") {
      return { op: OP.keepalive, number: client.nextSequence, mark, acknowledged };
    }
    if (wanted.kind === "recall") {
      const back = Array.from({ length: wanted.back + 1 }, (_, at) => at);
      const sequences = back.map((at) => client.nextSequence - at);
      const tokens = back.map((at) => oneOf(client.known, wanted.pick + at).token);
      return { op: OP.recall, number: 7, mark, acknowledged, sequences, tokens };
    }
    client.nextSequence += 1 + wanted.manners.sequenceGap;
    const head = { sequence: client.nextSequence, mark, acknowledged };
    switch (wanted.kind) {
      case "cancel": {
        const { pick, back } = wanted;
        const waiting = client.waiting.at(-1 - pick) ?? client.waiting[0];
        const target = back === undefined && waiting !== undefined ? waiting : undefined;
        return { op: OP.cancel, ...head, target: target ?? head.sequence - 1 - (back ?? 0) };
      }
      case "acquire": {
        const { owner, waitMs, options } = wanted;
        const items = wanted.items.map((item) => this.#withLimit(item));
        return { op: OP.acquire, ...head, owner, items, waitMs, options };
      }
      case "reenter": {
        if (client.held.length === 0) return takingFirst(head, wanted.pick);
        const { owner, items } = oneOf(client.held, wanted.pick);
        const options = { ...ACQUIRE_DEFAULTS, reentrant: true };
        return { op: OP.acquire, ...head, owner, items, waitMs: wanted.waitMs, options };
      }
      case "claim": {
        const { pick, owner, isStranger, isSpent } = wanted;
        const tickets = isSpent ? this.#spent : this.#tickets;
        const ticket = tickets.at(-1 - pick) ?? tickets.at(-1);
        if (ticket === undefined) return detaching(head, oneOf(client.held, pick).token, 5_000);
        const secret = isStranger ? "f".repeat(32) : ticket.secret;
        return { op: OP.claim, ...head, token: ticket.token, secret, owner };
      }
      case "setLimit":
        return { op: OP.setLimit, ...head, key: wanted.key, limit: wanted.limit };
      case "changeSetting":
        return { op: OP.changeSetting, ...head, name: wanted.name, value: wanted.value };
      case "revoke":
      case "endSession":
        return this.#forcing(wanted, head);
      case "release":
      case "downgrade":
      case "upgrade":
      case "update":
      case "detach":
        return this.#holding(wanted, client, head);
      default:
        return { op: OP.close, ...head };
    }
  }

  #attaching(
    { kind, client: at, attemptShift, isStranger }: Attaching,
    client: ClientState,
  ): Command {
    const nonce = this.#nonceOf(at);
    client.attempt = Math.max(1, client.attempt + attemptShift);
    const { attempt, session } = client;
    if (kind === "open") {
      const ttlMs = TTLS_MS[at] as number;
      return { op: OP.open, nonce, attempt, ttlMs, name: `client ${at}`, metadata: `of ${at}` };
    }
    const op = kind === "resume" ? OP.resume : OP.takeOver;
    return { op, session, nonce: isStranger ? "f".repeat(32) : nonce, attempt };
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

  #holding(wanted: Holding, client: ClientState, head: Head): Command {
    const { kind, client: at, pick, part, waitMs, detect, ticketTtlMs } = wanted;
    const other = this.#clients[(at + 1) % CLIENTS] as ClientState;
    const of = wanted.isForeign ? other : client;
    if (!wanted.isStale && of.held.length === 0) return takingFirst(head, part);
    const { token, items } = oneOf(wanted.isStale ? of.known : of.held, pick);
    const key = items[part % items.length]?.key ?? KEYS[0];
    switch (kind) {
      case "release":
        return { op: OP.release, ...head, token };
      case "downgrade":
        return { op: OP.downgrade, ...head, token, key: part === 0 ? undefined : key };
      case "upgrade":
        return { op: OP.upgrade, ...head, token, key, waitMs, detect };
      case "update":
        return { op: OP.update, ...head, token, value: `of ${head.sequence}` };
      case "detach":
        return detaching(head, token, ticketTtlMs);
    }
  }

  #readBy(client: ClientState, { acknowledges, markLag }: Manners) {
    let mark = 1;
    while (client.answered.has(mark) || mark < client.nextSequence - 20) mark += 1;
    const read = { none: [0, 0], oldest: [0, 1], newest: [-1, 1], all: [0, 1_000] } as const;
    const [from, count] = read[acknowledges];
    const acknowledged = client.unacknowledged.splice(from, count);
    return { mark: Math.max(1, mark - markLag), acknowledged };
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

function detaching(head: Head, token: number, ticketTtlMs: number): Command {
  const secret = `${token}`.padStart(32, "0");
  return { op: OP.detach, ...head, token, secret, ticketTtlMs };
}

/** What a client does instead that has nothing yet with which it could do something. */
function takingFirst(head: Head, pick: number): Command {
  const key = KEYS[pick % 3] ?? KEYS[0];
  return { op: OP.acquire, ...head, owner: 1, items: [{ key, mode: "shared" }], waitMs: 500 };
}

/** One of the last. */
function oneOf(list: readonly Known[], pick: number): Known {
  return list.at(-1 - (pick % 4)) ?? list.at(-1) ?? NOTHING;
}

interface Head {
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

function freshClient(generation: number): ClientState {
  return {
    generation,
    session: 0,
    hasEnded: false,
    epoch: 0,
    attempt: 0,
    nextSequence: 0,
    answered: new Set(),
    unacknowledged: [],
    known: [],
    held: [],
    waiting: [],
    sent: [],
  };
}
