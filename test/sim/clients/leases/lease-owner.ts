/**
 * A process that has leases under names of its own and no session: it asks one door or another, and when
 * nobody answers, or the way breaks, another one the same. It counts on a lease by its own clock. What was
 * asked and not answered may still be executed at any time later; so after that it takes another name, as
 * users of the doors are told to.
 */
import type { RandomStream, RandomStreams } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  END_REASON,
  type ExtendMode,
  type Item,
  OP,
  STATUS,
  WAIT_FOREVER,
} from "../../../../src/protocol/index.js";
import { canonicalTextOf } from "../../checks/canonical-text.js";
import type { Simulation } from "../../engine/simulation.js";
import { PERMITS_MOST } from "../../plan/lock-mix.js";
import type { OwnerPlan } from "../../plan/owner-plan.js";
import type { SemaphorePlan } from "../../plan/plan.js";
import { driftingClock } from "../../world/node/drifting-clock.js";
import type { ClientWatch } from "../client-watch.js";
import { GuardedWrites } from "../guarded-writes.js";
import type { HandOverBoard } from "../hand-over-board.js";
import { SIGHTINGS } from "../sightings.js";
import { Errand } from "./errand.js";
import type { LeaseBelief, Owner } from "./lease-belief.js";
import type { DoorAnswer, ExtendWish, LeaseDoor, LeaseWish } from "./lease-door.js";

/** To a door and back, each. */
const WAY_MS_MAX = 4;
const PAUSE_MS = { least: 50, most: 2_000 } as const;
const KEPT_NAME_SHARE = 0.5;
const LATE_COPY_SHARE = 0.2;
/** The share of owners that break off without the door ever learning of it. */
const UNNOTICED_SHARE = 0.2;
/** The share of errands that go on with what was handed over to their owner, if anything was. */
const HEIR_SHARE = 0.5;
/** The share of the others that try to have what a bearer has. */
const MEDDLER_SHARE = 0.1;
/** The share of those that ask as if they had nothing. */
const FORGETFUL_SHARE = 0.2;
const RETURNS_MAX = 3;
const HOLD_MS = { least: 300, most: 2_000 } as const;
/** What an owner changes of the whole table: with few steps for an entry, what is due stays for a while. */
const SETTINGS = [
  { name: "endlessLeases", values: [1], defaultShare: 0.2 },
  { name: "leaseTtlMsMax", values: [500, 1_500], defaultShare: 0.6 },
  { name: "unitsPerEntryMax", values: [1], defaultShare: 0.4 },
] as const;

export interface OwnerSurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  readonly watch: ClientWatch;
  readonly keys: readonly string[];
  readonly semaphores: readonly SemaphorePlan[];
  readonly board: HandOverBoard;
  /** Those that speak for one and the same identity, as groups. */
  readonly doors: readonly (readonly LeaseDoor[])[];
}

/** What may be left under a name without an end. */
interface Debt {
  readonly owner: string;
  readonly keys: readonly string[];
}

export class LeaseOwner implements Owner {
  readonly plan: OwnerPlan;
  readonly host: number;
  readonly #world: OwnerSurroundings;
  readonly #random: RandomStream;
  readonly #clock: ProcessClock;
  readonly #life: ProcessLife;
  readonly #writes: GuardedWrites;
  readonly #copies: RandomStream;
  readonly #heirs: RandomStream;
  readonly #home: readonly LeaseDoor[];
  #errand: Errand | undefined;

  #name: string;
  #names = 1;
  #requests = 0;
  /** Something was asked under the current name, and never answered. */
  #isNameInDoubt = false;
  /** The longest lease is what its plan says. */
  #mayTake: boolean;
  #returnsLeft = 0;
  #actionsLeft: number;
  /** At doors, whether anybody waits for the answer or not. */
  #underWay = 0;
  readonly #debts = new Map<string, Debt>();
  /** Gives everything back and asks for nothing more. */
  isDraining = false;

  constructor(plan: OwnerPlan, world: OwnerSurroundings) {
    this.plan = plan;
    this.host = plan.host;
    this.#world = world;
    const { streams, simulation, watch } = world;
    this.#random = streams.of(`owner ${plan.host}`);
    this.#clock = driftingClock(simulation, streams.of(`clock ${plan.host}`));
    this.#life = new ProcessLife(simulation);
    this.#writes = new GuardedWrites(streams.of(`writes ${plan.host}`), plan.mix.write, watch);
    this.#copies = streams.of(`copies ${plan.host}`);
    this.#heirs = streams.of(`heirs ${plan.host}`);
    this.#home = this.#random.pick(world.doors);
    this.#actionsLeft = plan.actions;
    this.#mayTake = plan.longestMs === 0;
    this.#name = this.#numbered(0, this.#names);
  }

  /** By its own clock. */
  get nowMs(): number {
    return this.#clock.nowMs();
  }

  get trusted(): readonly LeaseBelief[] {
    return (this.#errand?.beliefs ?? []).filter(({ isTrusted }) => isTrusted);
  }

  /** Nothing asked, nothing counted on, and nothing left without an end. */
  get isIdle(): boolean {
    return this.#errand === undefined && this.#debts.size === 0;
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    const errand = this.#errand === undefined ? "none" : canonicalTextOf(this.#errand.plan);
    return `errand ${errand}, ${this.#underWay} under way, ${this.#debts.size} debts`;
  }

  start(): void {
    this.#world.simulation.after(this.plan.startMs, () => this.#live());
  }

  /** It may act so often from now on, beyond its plan. */
  allow(actions: number): void {
    this.#actionsLeft = actions;
  }

  #live(): void {
    this.#world.simulation.after(this.plan.thinkMs * 2 * this.#random.next(), () => {
      this.#life.deliver(() => {
        this.#act();
        this.#live();
      });
    });
  }

  #act(): void {
    if (this.isDraining) {
      this.#drain();
      return;
    }
    this.#writes.write();
    if (this.#actionsLeft <= 0) return;
    this.#actionsLeft -= 1;
    const { mix } = this.plan;
    if (!this.#mayTake) this.#setLongest();
    else if (this.#random.chance(mix.pause)) this.#pause();
    else if (this.#random.chance(mix.setting)) this.#changeSetting();
    else if (this.#errand !== undefined) this.#goOn(this.#errand);
    else if (!this.#inherit()) this.#begin();
  }

  /** It stands still, and what it counts on goes on ending. */
  #pause(): void {
    this.#life.pause();
    const forMs = this.#random.integer(PAUSE_MS.least, PAUSE_MS.most);
    this.#world.simulation.after(forMs, () => this.#life.resume());
  }

  #goOn(errand: Errand): void {
    const { mix } = this.plan;
    const random = this.#random;
    if (errand.openCount > 0) {
      // What is asked while something else is under way may be executed before it.
      if (errand.held.length > 0 && random.chance(mix.repeat)) this.#take(errand);
      return;
    }
    if (errand.isReturning) {
      this.#returnsLeft -= 1;
      if (this.#returnsLeft > 0 && random.chance(mix.persist)) this.#giveBack(errand, errand.keys);
      else this.#finish();
    } else if (errand.held.length === 0) {
      if (random.chance(mix.persist)) this.#take(errand);
      else this.#end(errand);
    } else if (random.chance(mix.giveBack)) this.#giveBackSome(errand);
    else if (random.chance(mix.extend)) this.#extend(errand);
    else if (random.chance(mix.repeat)) this.#take(errand);
    else if (random.chance(mix.conflict)) this.#conflict(errand);
    else if (!errand.held.some(({ isTrusted }) => isTrusted)) this.#end(errand);
  }

  // Errands.

  #begin(): void {
    const random = this.#random;
    const { mix, ttlMs } = this.plan;
    if (this.#isNameInDoubt || !random.chance(KEPT_NAME_SHARE)) {
      this.#names += 1;
      this.#name = this.#numbered(0, this.#names);
      this.#isNameInDoubt = false;
    }
    const items = this.#items();
    const isSplit = random.chance(mix.split);
    const isEndless = random.chance(mix.endless);
    const waits = [WAIT_FOREVER, random.integer(20, 800), random.integer(20, 800)];
    const waitMs = isSplit || random.chance(mix.tries) ? 0 : random.pick(waits);
    const errand = new Errand(this, {
      owner: this.#name,
      request: this.#nextRequest(),
      name: `owner ${this.host}`,
      items,
      ttlMs: isEndless ? 0 : ttlMs,
      waitMs,
      isSplit,
      options: this.#options(),
    });
    this.#errand = errand;
    if (isEndless) this.#debts.set(this.#name, { owner: this.#name, keys: this.#allKeys });
    this.#take(errand);
  }

  /** Goes on with what somebody of its identity left to it. */
  #inherit(): boolean {
    const heirs = this.#heirs;
    const hosts = this.#home.map(({ host }) => host);
    const { board } = this.#world;
    const isHeir = heirs.chance(HEIR_SHARE);
    const isMeddler = !isHeir && heirs.chance(MEDDLER_SHARE);
    const legacy = isHeir ? board.take(hosts) : isMeddler ? board.tryBearer() : undefined;
    if (legacy === undefined) return false;
    const { owner, claims } = legacy;
    const { ttlMs } = this.plan;
    const items = claims.map(({ key, mode, slots }): Item => {
      return mode === "permits"
        ? { key, mode, permits: slots.length, limit: undefined }
        : { key, mode };
    });
    const usual = { name: `owner ${this.host}`, ttlMs, waitMs: 0, isSplit: false };
    const plan = { owner, request: this.#nextRequest(), items, ...usual, options: undefined };
    const errand = new Errand(this, plan, claims);
    this.#errand = errand;
    this.#name = owner;
    if (heirs.chance(FORGETFUL_SHARE)) this.#take(errand);
    else this.#extend(errand);
    return true;
  }

  get #allKeys(): string[] {
    const { keys, semaphores } = this.#world;
    return [...keys, ...semaphores.map(({ key }) => key)];
  }

  #items(): Item[] {
    const random = this.#random;
    const { keys, semaphores } = this.#world;
    const { mix } = this.plan;
    const count = random.chance(mix.several) ? Math.min(2, keys.length) : 1;
    const items = random
      .shuffled(keys)
      .slice(0, count)
      .map((key): Item => {
        return { key, mode: random.chance(mix.shared) ? "shared" : "exclusive" };
      });
    if (!random.chance(mix.permits)) return items;
    const { key, limit } = random.pick(semaphores);
    const named = random.chance(0.5) ? limit : undefined;
    const permits = random.integer(1, Math.min(limit, PERMITS_MOST));
    const item = { key, mode: "permits", permits, limit: named } as const;
    const others = semaphores.length > 1 && this.#isVaried() ? this.#permitsBeside(key) : [];
    return random.chance(0.5) ? [...items, ...others, item] : [...others, item];
  }

  #permitsBeside(first: string): Item[] {
    const random = this.#copies;
    const others = this.#world.semaphores.filter(({ key }) => key !== first);
    return others.map(({ key, limit }): Item => {
      return { key, mode: "permits", permits: random.integer(1, limit), limit };
    });
  }

  #options(): AcquireTerms | undefined {
    const random = this.#random;
    const { mix } = this.plan;
    const options = {
      ...ACQUIRE_DEFAULTS,
      priority: random.chance(mix.priority) ? random.integer(1, 3) : 0,
      maxHoldMs: random.chance(mix.maxHold) ? random.integer(1_000, HOLD_MS.most) : 0,
      minHoldMs: random.chance(mix.minHold) ? random.integer(1, 800) : 0,
      lockDelayMs: random.chance(mix.lockDelay) ? random.integer(1, 800) : 0,
    };
    const names = Object.keys(options) as (keyof AcquireTerms)[];
    return names.some((name) => options[name] !== ACQUIRE_DEFAULTS[name]) ? options : undefined;
  }

  /** Nothing more is wanted of it. */
  #end(errand: Errand): void {
    if (this.#random.chance(this.plan.mix.forget)) {
      errand.giveUp("lapsed");
      this.#finish();
    } else this.#return(errand);
  }

  #return(errand: Errand): void {
    errand.giveUp("released");
    this.#returnsLeft = RETURNS_MAX;
    this.#giveBack(errand, errand.keys);
  }

  #finish(): void {
    if ((this.#errand?.openCount ?? 0) > 0) this.#isNameInDoubt = true;
    this.#errand = undefined;
  }

  #drain(): void {
    const errand = this.#errand;
    if (errand !== undefined) {
      if (errand.openCount > 0 && errand.isReturning) return;
      if (errand.isReturning) this.#finish();
      else this.#return(errand);
      return;
    }
    // As long as something is under way, it may bring what was given back once more.
    if (this.#underWay > 0) return;
    for (const debt of [...this.#debts.values()]) this.#settle(debt);
  }

  #settle({ owner, keys }: Debt): void {
    this.#ask({ op: OP.giveBack, owner, keys, taken: 0 }, this.#home, (answer) => {
      if (answer?.result.status === STATUS.givenBack) this.#debts.delete(owner);
    });
  }

  // Asking.

  #take(errand: Errand): void {
    const { waitMs } = errand.plan;
    const wish = errand.take(OP.take, errand.isRepeat ? this.#changeOf(errand) : undefined);
    errand.isRepeat = true;
    this.#askFor(errand, wish, Math.max(0, waitMs), (answer, sentMs) => {
      this.#onTaken(errand, wish.items, answer, sentMs);
    });
  }

  /** In what a repeat differs. */
  #changeOf({ plan: { items, ttlMs } }: Errand): { items: readonly Item[]; ttlMs: number } {
    const random = this.#copies;
    if (!this.#isVaried()) return { items, ttlMs };
    // The longest that leases may be is what the plan says.
    const most = this.plan.longestMs > 0 ? ttlMs : 2 * ttlMs;
    return {
      items: random.shuffled(items),
      ttlMs: ttlMs === 0 ? 0 : random.integer(Math.min(300, ttlMs), most),
    };
  }

  /** Whether it does something that plans did not always have. */
  #isVaried(): boolean {
    const { variety } = this.plan.mix;
    return variety !== undefined && this.#copies.chance(variety);
  }

  #onTaken(
    errand: Errand,
    items: readonly Item[],
    { result, stamp }: DoorAnswer,
    sentMs: number,
  ): void {
    if (result.status === STATUS.leased) {
      const { tokens, slots, endsAt } = result;
      const spanMs = endsAt === 0 ? Number.POSITIVE_INFINITY : endsAt - stamp;
      const known = errand.beliefs.map(({ token }) => token);
      if (tokens.some((token) => known.includes(token))) {
        this.#world.watch.onSeen(SIGHTINGS.leaseRepeated);
      }
      this.#believe(errand.onLeased(tokens, slots, { sentMs, spanMs }, items));
    } else if (result.status === ERROR_NUMBERS.CANCELLED) {
      this.#world.watch.onSeen(SIGHTINGS.takeMoved);
    } else {
      if ("isSameOwner" in result) this.#world.watch.onSeen(SIGHTINGS.sameOwner);
      if (errand.held.length > 0 || errand.isReturning || errand !== this.#errand) return;
      // It was told that it has nothing, and asks for something else.
      if (errand.openCount > 0) this.#end(errand);
      else this.#finish();
    }
  }

  #extend(errand: Errand): void {
    const random = this.#random;
    const { mix } = this.plan;
    const { ttlMs: usualMs, owner } = errand.plan;
    const keys = random.chance(0.7) ? errand.keys : [random.pick(errand.keys)];
    const modes: readonly ExtendMode[] = [
      ...(random.chance(mix.exactly) ? (["exactly"] as const) : []),
      ...(random.chance(mix.add) && errand.addsLeft > 0 ? (["add"] as const) : []),
    ];
    const mode = random.pickOrNone(modes) ?? "atLeast";
    if (mode === "add") errand.addsLeft -= 1;
    const longestMs = usualMs === 0 ? this.plan.ttlMs : usualMs;
    const ttlMs = random.pick([longestMs, random.integer(300, Math.max(300, longestMs))]);
    const wish: ExtendWish = {
      op: OP.extend,
      owner,
      keys,
      ttlMs: Math.min(ttlMs, longestMs),
      mode,
    };
    const onAnswered = errand.onExtending(wish, this.nowMs);
    this.#askFor(errand, wish, 0, ({ result, stamp }, sentMs) => {
      onAnswered();
      if (result.status === STATUS.extended) {
        this.#believe(errand.onExtended(keys, result.leases, sentMs, stamp));
      } else if (result.status === ERROR_NUMBERS.NOT_HELD) {
        const reason =
          "reason" in result ? (result.reason ?? END_REASON.unknown) : END_REASON.unknown;
        this.#world.watch.onSeen(SIGHTINGS.leaseGone(reason));
        if (errand === this.#errand && !errand.isReturning) this.#return(errand);
      }
    });
  }

  /** Another process of the same name, by mistake. */
  #conflict({ plan, keys }: Errand): void {
    const items = plan.items.slice(0, this.#random.integer(1, keys.length));
    const wish = { ...plan, op: OP.take, request: this.#nextRequest(), items, waitMs: 0 };
    this.#askFor(undefined, wish, 0, ({ result }) => {
      if ("isSameOwner" in result) this.#world.watch.onSeen(SIGHTINGS.sameOwner);
      // The lease was gone: what it got instead nobody counts on.
      else this.#isNameInDoubt = true;
    });
  }

  #giveBackSome(errand: Errand): void {
    const keys = errand.keys;
    if (!errand.plan.isSplit || keys.length === 1 || this.#random.chance(0.5)) {
      this.#return(errand);
      return;
    }
    const some = [this.#random.pick(keys)];
    errand.release(some);
    this.#giveBack(errand, some);
    if (this.#isVaried()) this.#sendCopy(errand);
  }

  #giveBack(errand: Errand, keys: readonly string[]): void {
    const { owner } = errand.plan;
    this.#askFor(errand, { op: OP.giveBack, owner, keys, taken: 0 }, 0, () => {
      if (errand.isReturning && errand === this.#errand) {
        if (this.#copies.chance(LATE_COPY_SHARE)) this.#sendCopy(errand);
        this.#finish();
      }
    });
  }

  /** A proxy sends the take once more, of which nobody wants to hear any more. */
  #sendCopy(errand: Errand): void {
    this.#askFor(undefined, errand.take(OP.take), 0, ({ result }) => {
      if (result.status === ERROR_NUMBERS.NOT_HELD) {
        this.#world.watch.onSeen(SIGHTINGS.lateCopyRefused);
      } else this.#isNameInDoubt = true;
    });
  }

  #setLongest(): void {
    const value = this.plan.longestMs;
    this.#ask({ op: OP.changeSetting, name: "leaseTtlMsMax", value }, this.#home, (answer) => {
      if (answer?.result.status === STATUS.ok) this.#mayTake = true;
    });
  }

  #changeSetting(): void {
    const random = this.#random;
    const { name, values, defaultShare } = random.pick(SETTINGS);
    const value = random.chance(defaultShare) ? undefined : random.pick<number>(values);
    this.#ask({ op: OP.changeSetting, name, value }, this.#home, () => {});
  }

  #believe(beliefs: readonly LeaseBelief[]): void {
    for (const belief of beliefs) {
      this.#writes.learn(belief);
      this.#world.watch.onBelief(belief);
    }
  }

  /** `errand`: what the answer is waited for by; `undefined`: nothing. */
  #askFor(
    errand: Errand | undefined,
    wish: LeaseWish,
    waitMs: number,
    heard: (answer: DoorAnswer, sentMs: number) => void,
  ): void {
    const random = this.#random;
    const { mix, patienceMs } = this.plan;
    const sentMs = this.nowMs;
    let isWaiting = true;
    if (errand !== undefined) errand.openCount += 1;
    const doors = random.chance(mix.foreign) ? random.pick(this.#world.doors) : this.#home;
    const stop = (): void => {
      isWaiting = false;
      if (errand !== undefined) errand.openCount -= 1;
    };
    const leave = this.#ask(wish, doors, (answer) => {
      if (!isWaiting || answer === undefined || random.chance(mix.lost)) return;
      stop();
      heard(answer, sentMs);
    });
    this.#world.simulation.after(patienceMs + waitMs, () => {
      this.#life.deliver(() => {
        if (!isWaiting) return;
        stop();
        this.#isNameInDoubt = true;
        this.#world.watch.onNote(this, `gives op ${wish.op} up`);
        if (!random.chance(UNNOTICED_SHARE)) leave();
      });
    });
  }

  /** Returns what breaks the way to the door, of which that learns. */
  #ask(
    wish: LeaseWish,
    doors: readonly LeaseDoor[],
    heard: (answer: DoorAnswer | undefined) => void,
  ): () => void {
    const random = this.#random;
    const { simulation, watch } = this.#world;
    const door = random.pick(doors);
    if (random.chance(this.plan.mix.lost)) return () => {};
    watch.onNote(this, `asks client ${door.host} for ${canonicalTextOf(wish)}`);
    this.#underWay += 1;
    let leave: (() => void) | undefined;
    let isLeft = false;
    simulation.after(random.next() * WAY_MS_MAX, () => {
      leave = door.ask(wish, (answer) => {
        this.#underWay -= 1;
        simulation.after(random.next() * WAY_MS_MAX, () => {
          this.#life.deliver(() => {
            watch.onNote(
              this,
              `hears ${answer === undefined ? "nothing" : canonicalTextOf(answer)}`,
            );
            heard(answer);
          });
        });
      });
      if (isLeft) leave();
    });
    return () => {
      simulation.after(random.next() * WAY_MS_MAX, () => {
        isLeft = true;
        leave?.();
      });
    };
  }

  #nextRequest(): string {
    this.#requests += 1;
    return this.#numbered(1, this.#requests);
  }

  #numbered(kind: number, number: number): string {
    return ((this.host * 2 + kind) * 1_000_000 + number).toString(16).padStart(32, "0");
  }
}
