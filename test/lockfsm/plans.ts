/**
 * Random histories for the table. A plan is data with small numbers in it; what they mean is
 * decided while it runs, from what the clients were told so far, so that a shrunk plan still makes
 * sense and hits what matters: tokens that exist, sequences that were used, connections that lost.
 */
import fc from "fast-check";
import { ERROR_NUMBERS } from "../../src/errors.js";
import type { Outbox, TableCommand, TableEntry } from "../../src/lockfsm/index.js";
import {
  type Attached,
  type Command,
  END_REASON,
  type LockItem,
  MESSAGE,
  OP,
  type SessionMessage,
  STATUS,
  WAIT_FOREVER,
} from "../../src/protocol/index.js";

const CLIENTS = 4;
export const KEYS = ["a", "b", "c"] as const;
const TTLS_MS = [1_000, 2_000, 6_000, 60_000];

/** How far a command deviates from what a well-behaved client would send. */
interface Manners {
  /** Added to the epoch; 0 for the one the client was told. */
  readonly epochShift: number;
  /** Sequences left out before this one. */
  readonly sequenceGap: number;
  /** How far the mark lags behind what was answered; large values keep it at 1. */
  readonly markLag: number;
  readonly acknowledges: boolean;
}

interface From {
  readonly client: number;
  readonly manners: Manners;
}
interface Attaching extends From {
  readonly kind: "open" | "resume";
  readonly attemptShift: number;
  readonly isStranger: boolean;
}
interface Acquiring extends From {
  readonly kind: "acquire";
  readonly items: readonly LockItem[];
  readonly waitMs: number;
}
interface Releasing extends From {
  readonly kind: "release";
  readonly pick: number;
  readonly isForeign: boolean;
}
interface Cancelling extends From {
  readonly kind: "cancel";
  readonly back: number;
}
interface Recalling extends From {
  readonly kind: "recall";
  readonly back: number;
  readonly pick: number;
}
interface Simple extends From {
  readonly kind: "keepalive" | "close";
}
interface Resubmitting extends From {
  readonly kind: "resubmit";
  readonly back: number;
}
type Sending = Attaching | Acquiring | Releasing | Cancelling | Recalling | Simple;
export type Action = Sending | Resubmitting;

export interface Turn {
  readonly elapsedMs: number;
  readonly actions: readonly Action[];
}

const rarely = (value: number): fc.Arbitrary<number> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(value) });

const manners: fc.Arbitrary<Manners> = fc.record({
  epochShift: rarely(-1),
  sequenceGap: rarely(1),
  markLag: fc.constantFrom(0, 0, 0, 2, 1_000),
  acknowledges: fc.boolean(),
});

const base = { client: fc.nat(CLIENTS - 1), manners };
const kind = <K extends string>(name: K) => fc.constant(name);
const item: fc.Arbitrary<LockItem> = fc.record({
  key: fc.constantFrom(...KEYS),
  mode: fc.constantFrom("exclusive" as const, "shared" as const),
});
const itemCount = { minLength: 1, maxLength: 3 };
const attaching = {
  attemptShift: fc.constantFrom(1, 1, 1, 0, -1),
  isStranger: rarely(1).map(Boolean),
};

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ ...base, kind: kind("open"), ...attaching }) },
  { weight: 1, arbitrary: fc.record({ ...base, kind: kind("resume"), ...attaching }) },
  {
    weight: 16,
    arbitrary: fc.record({
      ...base,
      kind: kind("acquire"),
      items: fc.oneof(
        {
          weight: 30,
          arbitrary: fc.uniqueArray(item, { ...itemCount, selector: ({ key }) => key }),
        },
        { weight: 1, arbitrary: fc.array(item, { maxLength: 3 }) },
      ),
      waitMs: fc.constantFrom(WAIT_FOREVER, WAIT_FOREVER, WAIT_FOREVER, 0, 5, 500),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      ...base,
      kind: kind("release"),
      pick: fc.nat(9),
      isForeign: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ ...base, kind: kind("cancel"), back: fc.integer({ min: -2, max: 5 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ ...base, kind: kind("recall"), back: fc.nat(5), pick: fc.nat(9) }),
  },
  { weight: 4, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  { weight: 1, arbitrary: fc.record({ ...base, kind: kind("close") }) },
  { weight: 3, arbitrary: fc.record({ ...base, kind: kind("resubmit"), back: fc.nat(4) }) },
);

export const plan: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.record({
    elapsedMs: fc.constantFrom(0, 0, 0, 0, 1, 1, 5, 5, 100, 400, 1_500),
    actions: fc.array(action, { maxLength: 6, size: "max" }),
  }),
  { minLength: 1, maxLength: 40, size: "max" },
);

export const settings = fc.record({
  waitersMax: fc.constantFrom(2, 50, 50),
  inFlightMax: fc.constantFrom(4, 50, 50),
  unacknowledgedMax: fc.constantFrom(3, 50, 50),
  unitsPerEntryMax: fc.constantFrom(1, 3, 100),
  grantsPerStepMax: fc.constantFrom(1, 2, 64),
});

interface ClientState {
  /** Of the nonce. */
  generation: number;
  session: number;
  hasEnded: boolean;
  epoch: number;
  attempt: number;
  nextSequence: number;
  answered: Set<number>;
  unacknowledged: Set<number>;
  tokens: number[];
  sent: TableCommand[];
}

/** The clients of a run: turn a plan's turns into entries, and listen to what is said. */
export class Clients implements Outbox {
  readonly #clients: ClientState[] = Array.from({ length: CLIENTS }, () => freshClient(0));
  #index = 0;
  #stamp = 1_000;

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
    if (message.kind === MESSAGE.ended) {
      const at = this.#clients.indexOf(client);
      const { generation, epoch } = client;
      this.#clients[at] = { ...freshClient(generation + 1), session, epoch, hasEnded: true };
      return;
    }
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) return;
    if (message.result.status === ERROR_NUMBERS.SESSION_EXPIRED) return;
    client.answered.add(message.sequence);
    if (message.result.status === STATUS.queued) return;
    client.unacknowledged.add(message.sequence);
    if ("token" in message.result) client.tokens.push(message.result.token);
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
    if (command.op === OP.open || command.op === OP.resume) {
      return { session: 0, epoch: 0, command };
    }
    const epoch = Math.max(0, client.epoch + wanted.manners.epochShift);
    const sent = { session: client.session, epoch, command };
    if ("sequence" in command) client.sent.push(sent);
    return sent;
  }

  #commandOf(wanted: Sending, client: ClientState): Command {
    const nonce = this.#nonceOf(wanted.client);
    if (wanted.kind === "open" || wanted.kind === "resume" || this.#mustOpen(client)) {
      const { attemptShift, isStranger } =
        "attemptShift" in wanted ? wanted : { attemptShift: 1, isStranger: false };
      client.attempt = Math.max(1, client.attempt + attemptShift);
      const { attempt } = client;
      const ttlMs = TTLS_MS[wanted.client] as number;
      if (wanted.kind !== "resume") {
        return {
          op: OP.open,
          nonce,
          attempt,
          ttlMs,
          name: `client ${wanted.client}`,
          metadata: "",
        };
      }
      const stranger = isStranger ? "f".repeat(32) : nonce;
      return { op: OP.resume, session: client.session, nonce: stranger, attempt };
    }
    const { mark, acknowledged } = this.#readBy(client, wanted.manners);
    if (wanted.kind === "keepalive") {
      return { op: OP.keepalive, number: client.nextSequence, mark, acknowledged };
    }
    if (wanted.kind === "recall") {
      const sequences = Array.from(
        { length: wanted.back + 1 },
        (_, back) => client.nextSequence - back,
      );
      const tokens = this.#tokenOf(client, wanted.pick);
      return { op: OP.recall, number: 7, mark, acknowledged, sequences, tokens: [tokens] };
    }
    client.nextSequence += 1 + wanted.manners.sequenceGap;
    const sequence = client.nextSequence;
    const head = { sequence, mark, acknowledged };
    if (wanted.kind === "close") return { op: OP.close, ...head };
    if (wanted.kind === "cancel")
      return { op: OP.cancel, ...head, target: sequence - 1 - wanted.back };
    if (wanted.kind === "release") {
      const other = this.#clients[(wanted.client + 1) % CLIENTS] as ClientState;
      const isForeign = wanted.isForeign && wanted.pick > 6;
      return {
        op: OP.release,
        ...head,
        token: this.#tokenOf(isForeign ? other : client, wanted.pick),
      };
    }
    const { items, waitMs } = wanted as Acquiring;
    return { op: OP.acquire, ...head, owner: 1, items, waitMs };
  }

  #readBy(client: ClientState, { acknowledges, markLag }: Manners) {
    let mark = 1;
    while (client.answered.has(mark) || mark < client.nextSequence - 20) mark += 1;
    const acknowledged = acknowledges ? [...client.unacknowledged] : [];
    if (acknowledges) client.unacknowledged.clear();
    return { mark: Math.max(1, mark - markLag), acknowledged };
  }

  /** A client whose session ended tries it once more, then opens another one. */
  #mustOpen(client: ClientState): boolean {
    if (client.epoch === 0) return true;
    if (client.hasEnded) client.epoch = 0;
    return false;
  }

  #tokenOf({ tokens }: ClientState, pick: number): number {
    return tokens[Math.max(0, tokens.length - 1 - (pick % 3))] ?? END_REASON.unknown;
  }
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
    unacknowledged: new Set(),
    tokens: [],
    sent: [],
  };
}
