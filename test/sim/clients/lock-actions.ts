/**
 * What a client does with locks beyond acquiring and releasing them, and how it acquires: as commands,
 * with what must be given up before they are said. Draws from a stream of its own, so that everything
 * else it does stays as it was.
 */
import {
  ACQUIRE_DEFAULTS,
  type AcquireCommand,
  type AcquireOptions,
  type Item,
  OP,
  type SequencedCommand,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import type { RandomStream } from "../engine/random-stream.js";
import type { LockMix, SemaphorePlan } from "../plan/plan.js";
import type { Belief } from "./belief.js";
import type { Action } from "./choose-action.js";
import type { ClientSession } from "./client-session.js";
import { SETTINGS_TO_CHANGE } from "./settings-to-change.js";
import type { TicketBoard } from "./ticket-board.js";

/** Owners that a session's tasks with several claims share. */
const TASKS = 3;
/** Owners from here on have one claim each. */
const SINGLE_TASKS_FROM = 100;
/** Of holds that end by themselves one of so many is not kept until then. */
const KEPT_OF = 4;
/** Of moments at which an upgrade waits. */
const ABANDONED_SHARE = 0.15;
const HOLD_MS = { least: 1_000, most: 2_500 } as const;

export interface LockSurroundings {
  readonly random: RandomStream;
  readonly mix: LockMix;
  readonly keys: readonly string[];
  readonly semaphores: readonly SemaphorePlan[];
  readonly board: TicketBoard;
  /** For its secrets. */
  readonly host: number;
}

/** A command, and the hold that it makes one less. */
export interface LockWish {
  readonly command: SequencedCommand;
  readonly gives?: Belief | undefined;
}

/** What others have, as the last reads showed. */
export interface Sight {
  readonly tokens: readonly number[];
  readonly sessions: readonly number[];
}

type Maker = () => SequencedCommand | undefined;

export class LockActions {
  readonly #world: LockSurroundings;
  readonly #session: ClientSession;
  #values = 0;

  constructor(world: LockSurroundings, session: ClientSession) {
    this.#world = world;
    this.#session = session;
  }

  /** What to say now instead of something usual; `undefined`: nothing. */
  choose(sight: Sight): LockWish | undefined {
    const { random, mix } = this.#world;
    const taken = random.chance(mix.takeBack) ? this.#takeBack() : undefined;
    if (taken !== undefined) return taken;
    const makers: readonly (readonly [number, Maker])[] = [
      [mix.upgrade, () => this.#upgrade()],
      [mix.downgrade, () => this.#downgrade()],
      [mix.update, () => this.#update()],
      [mix.revoke, () => this.#revoke(sight)],
      [mix.endSession, () => this.#endSession(sight)],
      [mix.setLimit, () => this.#setLimit()],
      [mix.detach, () => this.#detach()],
      [mix.claim, () => this.#claim()],
      [mix.changeSetting, () => this.#changeSetting()],
    ];
    for (const [share, make] of makers) {
      const command = random.chance(share) ? make() : undefined;
      if (command !== undefined) return { command };
    }
    return undefined;
  }

  #takeBack(): LockWish | undefined {
    const session = this.#session;
    const call = this.#world.random.pickOrNone(session.calls.granted);
    if (call === undefined) return undefined;
    const target = call.command.sequence;
    const gives = session.giveUpGrantOf(target);
    const { acknowledged, ...head } = session.head();
    // What is said to have been read cannot be taken back any more.
    const others = acknowledged.filter((number) => number !== target);
    return { command: { op: OP.cancel, ...head, acknowledged: others, target }, gives };
  }

  /** What it has no mind to give back soon: so that its end is seen that comes by itself. */
  keeps({ deadlineMs, token }: Belief): boolean {
    return deadlineMs !== Number.POSITIVE_INFINITY && token % KEPT_OF !== 0;
  }

  /** The token of a hold to be given back though it waits to become stronger. */
  abandons(): number | undefined {
    const { calls, holds } = this.#session;
    const upgrade = calls.queued.find(({ command }) => command.op === OP.upgrade)?.command;
    if (upgrade?.op !== OP.upgrade || !this.#world.random.chance(ABANDONED_SHARE)) return undefined;
    const belief = holds.of(upgrade.token);
    return belief === undefined || belief.givenUp === "released" ? undefined : belief.token;
  }

  takesOver(): boolean {
    return this.#world.random.chance(this.#world.mix.takeOver);
  }

  /** The wish for a lock, as this client asks for locks. */
  acquire({ items, waitMs }: Extract<Action, { kind: "acquire" }>): AcquireCommand {
    const { random, mix } = this.#world;
    const head = this.#session.head();
    const again = random.chance(mix.reentrant) ? this.#ofSomeTask() : undefined;
    // Another task of the session must wait for it as anybody else.
    const isAnother = again === undefined || random.chance(0.2);
    const owner = isAnother ? this.#owner(head.sequence) : again.owner;
    const isSteal = again === undefined && random.chance(mix.steal);
    const wanted = isSteal ? exclusively(items) : this.#withPermits(items);
    const options = this.#options(isSteal, again !== undefined);
    // Without a search for circles only its deadline ends a wait for ever.
    const isBounded = options?.detect === false && waitMs === WAIT_FOREVER;
    const boundMs = isBounded ? random.integer(200, 800) : waitMs;
    return {
      op: OP.acquire,
      ...head,
      owner,
      items: again === undefined ? wanted : this.#itemsOf(again),
      waitMs: boundMs,
      options,
    };
  }

  #withPermits(items: readonly Item[]): readonly Item[] {
    const { random, mix, semaphores } = this.#world;
    if (!random.chance(mix.permits)) return items;
    const { key, limit } = random.pick(semaphores);
    const permits = random.integer(1, limit);
    const named = random.chance(0.5) ? limit : undefined;
    const item = { key, mode: "permits", permits, limit: named } as const;
    return random.chance(0.3) ? [...items, item] : [item];
  }

  /** What a task with several claims holds already. */
  #ofSomeTask(): Belief | undefined {
    const held = this.#session.holds.present.filter(({ owner }) => owner <= TASKS);
    return this.#world.random.pickOrNone(held);
  }

  /** The same keys, now and then as more than they are held. */
  #itemsOf({ claims }: Belief): readonly Item[] {
    const { random } = this.#world;
    return claims.map(({ key, mode, slots }): Item => {
      if (mode === "permits") return { key, mode, permits: slots.length, limit: undefined };
      return { key, mode: random.chance(0.2) ? "exclusive" : mode };
    });
  }

  #owner(sequence: number): number {
    const { random, mix } = this.#world;
    return random.chance(mix.nested) ? random.integer(1, TASKS) : SINGLE_TASKS_FROM + sequence;
  }

  #options(isSteal: boolean, isAgain: boolean): AcquireOptions | undefined {
    const { random, mix } = this.#world;
    const holdMs = (share: number): number => {
      return random.chance(share) ? random.integer(HOLD_MS.least, HOLD_MS.most) : 0;
    };
    this.#values += 1;
    const options = {
      priority: random.chance(mix.priority) ? random.integer(1, 3) : 0,
      reentrant: isAgain && random.chance(0.9),
      maxHoldMs: holdMs(mix.maxHold),
      minHoldMs: random.chance(mix.minHold) ? random.integer(1, 800) : 0,
      lockDelayMs: random.chance(mix.lockDelay) ? random.integer(1, 800) : 0,
      value: random.chance(mix.value) ? `value ${this.#values}` : "",
      steal: isSteal,
      detect: !random.chance(mix.undetected),
    };
    const names = Object.keys(options) as (keyof AcquireOptions)[];
    return names.some((name) => options[name] !== ACQUIRE_DEFAULTS[name]) ? options : undefined;
  }

  #upgrade(): SequencedCommand | undefined {
    const { random } = this.#world;
    const { holds } = this.#session;
    const able = holds.present.filter(({ givenUp, claims }) => {
      return givenUp === undefined && claims.some(({ mode }) => mode === "shared");
    });
    const belief = random.pickOrNone(able);
    if (belief === undefined) return undefined;
    const claim = random.pick(belief.claims.filter(({ mode }) => mode === "shared"));
    const detect = random.chance(0.9);
    const waitMs = random.pick([detect ? WAIT_FOREVER : 300, 0, random.integer(50, 800)]);
    const { token } = belief;
    return { op: OP.upgrade, ...this.#session.head(), token, key: claim.key, waitMs, detect };
  }

  #downgrade(): SequencedCommand | undefined {
    const { random } = this.#world;
    const able = this.#session.holds.present.filter(({ claims }) => {
      return claims.some(({ mode }) => mode === "exclusive");
    });
    const belief = random.pickOrNone(able);
    if (belief === undefined) return undefined;
    const strong = belief.claims.filter(({ mode }) => mode === "exclusive");
    // What becomes exclusive on the way would be shared again, unknown to the client.
    const isOne = random.chance(0.5) || this.#session.isUpgrading(belief.token);
    const key = isOne ? random.pick(strong).key : undefined;
    this.#session.lower(belief, key === undefined ? strong.map((claim) => claim.key) : [key]);
    return { op: OP.downgrade, ...this.#session.head(), token: belief.token, key };
  }

  #update(): SequencedCommand | undefined {
    const belief = this.#world.random.pickOrNone(this.#session.holds.present);
    if (belief === undefined) return undefined;
    this.#values += 1;
    const value = `value ${this.#values}`;
    return { op: OP.update, ...this.#session.head(), token: belief.token, value };
  }

  #revoke({ tokens }: Sight): SequencedCommand {
    const { random, keys, semaphores } = this.#world;
    const own = this.#session.holds.present.map(({ token }) => token);
    const token = random.chance(0.5) ? random.pickOrNone([...tokens, ...own]) : undefined;
    const all = [...keys, ...semaphores.map(({ key }) => key)];
    const key = token === undefined ? random.pick(all) : undefined;
    const graceMs = random.pick([0, random.integer(1, 600)]);
    const now = random.chance(0.2);
    const reason = "wanted elsewhere";
    return {
      op: OP.revoke,
      ...this.#session.head(),
      key,
      token: token ?? 0,
      graceMs,
      now,
      reason,
    };
  }

  #endSession({ sessions }: Sight): SequencedCommand {
    const { random } = this.#world;
    const session = random.pick([...sessions, this.#session.id]);
    const graceMs = random.integer(0, 500);
    const now = random.chance(0.3);
    const reason = "moved";
    return { op: OP.endSession, ...this.#session.head(), session, graceMs, now, reason };
  }

  #setLimit(): SequencedCommand {
    const { random, semaphores } = this.#world;
    const { key, limit } = random.pick(semaphores);
    const wanted = random.chance(0.3) ? undefined : random.pick([limit, random.integer(1, 5)]);
    return { op: OP.setLimit, ...this.#session.head(), key, limit: wanted };
  }

  #detach(): SequencedCommand | undefined {
    const { random, board, host } = this.#world;
    const belief = random.pickOrNone(this.#session.holds.present);
    if (belief === undefined) return undefined;
    const { token } = belief;
    belief.givenUp = "released";
    const secret =
      random
        .below(2 ** 32)
        .toString(16)
        .padStart(28, "0") + padded(host);
    board.post({ token, secret });
    const ticketTtlMs = random.integer(1_000, 2_500);
    return { op: OP.detach, ...this.#session.head(), token, secret, ticketTtlMs };
  }

  #claim(): SequencedCommand | undefined {
    const { random, board } = this.#world;
    const ticket = random.pickOrNone(board.tickets);
    if (ticket === undefined) return undefined;
    const secret = random.chance(0.1) ? "0".repeat(32) : ticket.secret;
    const head = this.#session.head();
    const owner = this.#owner(head.sequence);
    return { op: OP.claim, ...head, token: ticket.token, secret, owner };
  }

  #changeSetting(): SequencedCommand {
    const { random } = this.#world;
    const { name, values } = random.pick(SETTINGS_TO_CHANGE);
    const value = random.chance(0.3) ? undefined : random.pick<number>(values);
    return { op: OP.changeSetting, ...this.#session.head(), name, value };
  }
}

function exclusively(items: readonly Item[]): readonly Item[] {
  return items.map(({ key }) => ({ key, mode: "exclusive" }));
}

function padded(host: number): string {
  return host.toString(16).padStart(4, "0");
}
