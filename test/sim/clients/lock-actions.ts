/**
 * What a client does with locks beyond acquiring and releasing them, and how it acquires: as commands,
 * with what must be given up before they are said. Draws from a stream of its own, so that everything
 * else it does stays as it was.
 */
import type { RandomStream } from "../../../lab/random-stream.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  type Item,
  OP,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import type { LockMix } from "../plan/client-plan.js";
import { PERMITS_MOST } from "../plan/lock-mix.js";
import type { SemaphorePlan } from "../plan/plan.js";
import type { Belief } from "./belief.js";
import type { Action } from "./choose-action.js";
import type { HandOverBoard } from "./hand-over-board.js";
import type { Wish } from "./protocol/call.js";
import type { ClientSession } from "./protocol/client-session.js";
import { SETTINGS_TO_CHANGE } from "./settings-to-change.js";

/** The tasks of a session that may have several claims. */
const TASKS = 3;
/** Tasks from here on have one claim each. */
const SINGLE_TASKS_FROM = 100;
/** Among holds that end by themselves, one in this number is not kept until then. */
const KEPT_OF = 4;
/** The share of moments at which a waiting upgrade is abandoned. */
const ABANDONED_SHARE = 0.3;
/** Among holds that are handed over, one in this number goes to an owner of the identity. */
const OWNERS_OF = 3;
const HOLD_MS = { least: 1_000, most: 2_500 } as const;

export interface LockSurroundings {
  readonly random: RandomStream;
  readonly mix: LockMix;
  readonly keys: readonly string[];
  readonly semaphores: readonly SemaphorePlan[];
  readonly board: HandOverBoard;
  /** The cluster of its session. */
  readonly clusterId: () => string;
  /** For its secrets. */
  readonly host: number;
}

/** What others have, as the last reads showed. */
export interface Sight {
  readonly tokens: readonly number[];
  readonly sessions: readonly number[];
}

type Maker = () => Wish | undefined;

export class LockActions {
  readonly #world: LockSurroundings;
  readonly #session: ClientSession;
  #values = 0;
  #tasks = 0;

  constructor(world: LockSurroundings, session: ClientSession) {
    this.#world = world;
    this.#session = session;
  }

  /** What to say now instead of something usual; `undefined`: nothing. */
  choose(sight: Sight): Wish | undefined {
    const { random, mix } = this.#world;
    const makers: readonly (readonly [number, Maker])[] = [
      [mix.upgrade, () => this.#upgrade()],
      [mix.downgrade, () => this.#downgrade()],
      [mix.update, () => this.#update()],
      [mix.revoke, () => this.#revoke(sight)],
      [mix.endSession, () => this.#endSession(sight)],
      [mix.setLimit, () => this.#setLimit()],
      [mix.handOver, () => this.#handOver()],
      [mix.adopt, () => this.#adopt()],
      [mix.changeSetting, () => this.#changeSetting()],
    ];
    for (const [share, make] of makers) {
      const wish = random.chance(share) ? make() : undefined;
      if (wish !== undefined) return wish;
    }
    return undefined;
  }

  /** What it has no mind to give back soon: so that its end is seen that comes by itself. */
  keeps({ deadlineMs, token }: Belief): boolean {
    return deadlineMs !== Number.POSITIVE_INFINITY && token % KEPT_OF !== 0;
  }

  /** A hold that waits to become stronger is given away, or is to stay as it is after all. */
  abandons(): (() => Wish | undefined) | undefined {
    const { random, mix } = this.#world;
    const session = this.#session;
    const upgrade = session.calls.queued.find(({ wish, isLeft }) => {
      return wish.op === OP.upgrade && !isLeft;
    });
    if (upgrade?.wish.op !== OP.upgrade || !random.chance(ABANDONED_SHARE)) return undefined;
    const { target, key } = upgrade.wish;
    const belief = session.holds.of(target);
    if (belief === undefined || belief.givenUp === "released") return undefined;
    const isLeft = mix.handOver > 0 && belief.token % 2 === 0;
    return random.pick([
      () => (isLeft ? this.#handOver(belief) : session.giveBack(belief)),
      () => session.lower(belief, key),
      () => session.leave(upgrade),
    ]);
  }

  /** With preference while something waits to become stronger. */
  departs(): boolean {
    const { random, mix } = this.#world;
    if (random.chance(mix.depart)) return true;
    const waits = this.#session.calls.queued.some(({ wish }) => wish.op === OP.upgrade);
    return waits && mix.depart > 0 && random.chance(ABANDONED_SHARE);
  }

  /** All that it holds is handed over, and its session is closed. */
  depart(): Wish[] {
    const session = this.#session;
    const handed = session.holds.present.flatMap((belief) => this.#handOver(belief) ?? []);
    return [...handed, session.close()];
  }

  /** Says an end twice in a row: what it ends may have ended by itself, which it has not heard. */
  endsAgain(): boolean {
    const { random, mix } = this.#world;
    return mix.endAgain > 0 && random.chance(mix.endAgain);
  }

  /** Wants something ended of which it has nothing, or nothing any more. */
  meddle(target: number): Wish | undefined {
    return this.#session.isUsed(target) ? undefined : { op: OP.end, target };
  }

  /** The wish for a lock, as this client asks for locks. */
  acquire({ items, waitMs }: Extract<Action, { kind: "acquire" }>): Wish {
    const { random, mix } = this.#world;
    const isSteal = random.chance(mix.steal);
    const options = this.#options(isSteal);
    // Without a search for cycles only its deadline ends a wait that would last forever.
    const isBounded = options?.detect === false && waitMs === WAIT_FOREVER;
    return {
      op: OP.acquire,
      task: this.#task(),
      items: isSteal ? exclusively(items) : this.#withPermits(items),
      waitMs: isBounded ? random.integer(200, 800) : waitMs,
      options,
    };
  }

  #withPermits(items: readonly Item[]): readonly Item[] {
    const { random, mix, semaphores } = this.#world;
    if (!random.chance(mix.permits)) return items;
    const { key, limit } = random.pick(semaphores);
    const permits = random.integer(1, Math.min(limit, PERMITS_MOST));
    const named = random.chance(0.5) ? limit : undefined;
    const item = { key, mode: "permits", permits, limit: named } as const;
    return random.chance(0.3) ? [...items, item] : [item];
  }

  /** A task of its own, or one that may hold something already, be it the same key. */
  #task(): number {
    const { random, mix } = this.#world;
    this.#tasks += 1;
    return random.chance(mix.nested) ? random.integer(1, TASKS) : SINGLE_TASKS_FROM + this.#tasks;
  }

  #options(isSteal: boolean): AcquireTerms | undefined {
    const { random, mix } = this.#world;
    const holdMs = (share: number): number => {
      return random.chance(share) ? random.integer(HOLD_MS.least, HOLD_MS.most) : 0;
    };
    const options = {
      priority: random.chance(mix.priority) ? random.integer(1, 3) : 0,
      maxHoldMs: holdMs(mix.maxHold),
      minHoldMs: random.chance(mix.minHold) ? random.integer(1, 800) : 0,
      lockDelayMs: random.chance(mix.lockDelay) ? random.integer(1, 800) : 0,
      value: random.chance(mix.value) ? this.#value() : "",
      steal: isSteal,
      detect: !random.chance(mix.undetected),
    };
    const names = Object.keys(options) as (keyof AcquireTerms)[];
    return names.some((name) => options[name] !== ACQUIRE_DEFAULTS[name]) ? options : undefined;
  }

  /** Now and then of what is exclusive already, or waits to be it. */
  #upgrade(): Wish | undefined {
    const { random } = this.#world;
    const able = this.#session.holds.present.filter(({ givenUp, claims }) => {
      return givenUp === undefined && claims.some(({ mode }) => mode !== "permits");
    });
    const belief = random.pickOrNone(able);
    if (belief === undefined) return undefined;
    const locks = belief.claims.filter(({ mode }) => mode !== "permits");
    const shared = locks.filter(({ mode }) => mode === "shared");
    const claim = random.pickOrNone(random.chance(0.1) ? locks : shared);
    if (claim === undefined) return undefined;
    const detect = random.chance(0.9);
    const waitMs = random.pick([detect ? WAIT_FOREVER : 300, 0, random.integer(20, 200)]);
    return { op: OP.upgrade, target: belief.sequence, key: claim.key, waitMs, detect };
  }

  /** Makes something weaker that is exclusive, or is about to become so. */
  #downgrade(): Wish | undefined {
    const { random } = this.#world;
    const session = this.#session;
    const strongOf = (belief: Belief): string[] => {
      const strong = belief.claims.filter(({ key, mode }) => {
        return mode === "exclusive" || session.isUpgrading(belief, key);
      });
      return strong.map(({ key }) => key);
    };
    const able = session.holds.present.filter((belief) => strongOf(belief).length > 0);
    const belief = random.pickOrNone(able);
    if (belief === undefined) return undefined;
    return session.lower(belief, random.chance(0.5) ? random.pick(strongOf(belief)) : undefined);
  }

  #update(): Wish | undefined {
    const belief = this.#world.random.pickOrNone(this.#session.holds.present);
    if (belief === undefined) return undefined;
    return { op: OP.update, target: belief.sequence, value: this.#value() };
  }

  /** Another one than before. */
  #value(): string {
    const { random, mix } = this.#world;
    this.#values += 1;
    const value = `value ${this.#values}`;
    return mix.anyValues === true ? ofAnyLength(random, value) : value;
  }

  #revoke({ tokens }: Sight): Wish {
    const { random, keys, semaphores } = this.#world;
    const own = this.#session.holds.present.map(({ token }) => token);
    const token = random.chance(0.5) ? random.pickOrNone([...tokens, ...own]) : undefined;
    const all = [...keys, ...semaphores.map(({ key }) => key)];
    const key = token === undefined ? random.pick(all) : undefined;
    const graceMs = random.pick([0, random.integer(1, 600)]);
    const now = random.chance(0.2);
    const reason = "wanted elsewhere";
    return { op: OP.revoke, key, token: token ?? 0, graceMs, now, reason };
  }

  #endSession({ sessions }: Sight): Wish {
    const { random } = this.#world;
    const session = random.pick([...sessions, this.#session.id]);
    const graceMs = random.integer(0, 500);
    const now = random.chance(0.3);
    const reason = "moved";
    return { op: OP.endSession, session, graceMs, now, reason };
  }

  #setLimit(): Wish {
    const { random, semaphores } = this.#world;
    const { key, limit } = random.pick(semaphores);
    const wanted = random.chance(0.3)
      ? undefined
      : random.pick([limit, random.integer(1, Math.max(5, limit))]);
    return { op: OP.setLimit, key, limit: wanted };
  }

  #handOver(belief = this.#world.random.pickOrNone(this.#session.holds.present)): Wish | undefined {
    const { random, board, host, clusterId } = this.#world;
    if (belief === undefined) return undefined;
    const { sequence, claims } = belief;
    belief.givenUp = "released";
    const number = random.below(2 ** 32);
    const to = number.toString(16).padStart(28, "0") + padded(host);
    const isBearer = number % OWNERS_OF !== 0;
    const keys = claims.map(({ key }) => key);
    if (isBearer) board.postSecret(clusterId(), to, keys);
    else board.leave({ owner: to, host, claims });
    const ttlMs = random.integer(1_000, 2_500);
    return { op: OP.handOver, target: sequence, to, isBearer, ttlMs };
  }

  #adopt(): Wish | undefined {
    const { random, board } = this.#world;
    const [hold] = random.pickOrNone(board.handed)?.holds ?? [];
    const key = hold?.keys.at(-1);
    if (hold === undefined || key === undefined) return undefined;
    const secret = random.chance(0.1) ? "0".repeat(32) : hold.secret;
    return { op: OP.adopt, key, secret, task: this.#task() };
  }

  #changeSetting(): Wish {
    const { random } = this.#world;
    const { name, values } = random.pick(SETTINGS_TO_CHANGE);
    const value = random.chance(0.3) ? undefined : random.pick<number>(values);
    return { op: OP.changeSetting, name, value };
  }
}

function exclusively(items: readonly Item[]): readonly Item[] {
  return items.map(({ key }) => ({ key, mode: "exclusive" }));
}

function padded(host: number): string {
  return host.toString(16).padStart(4, "0");
}

/** Shorter or longer than others, and now and then nothing. */
export function ofAnyLength(random: RandomStream, value: string): string {
  return random.pick(["", value, value.repeat(random.integer(2, 12))]);
}
