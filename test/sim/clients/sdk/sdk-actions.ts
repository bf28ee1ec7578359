/**
 * What an application does next with the public SDK, by the shares of its plan: locks and permits of
 * one or several keys, tries, tasks with several claims, counted holds, upgrades and downgrades,
 * hand-overs, revokes, reads; it gives up what it waits for by its signals, hands everything over, and closes.
 */
import type {
  Client,
  HandedOver,
  HoldOptions,
  Lock,
  WantedItem,
} from "../../../../src/client/index.js";
import { MESSAGE, OP, STATUS } from "../../../../src/protocol/index.js";
import { markerOf } from "../../checks/locks/exactly-once.js";
import { wishOf } from "../../checks/locks/told-fates.js";
import { PERMITS_MOST } from "../../plan/lock-mix.js";
import { ofAnyLength } from "../lock-actions.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import { CODES_OF_A_LOCK, type SdkCalls } from "./sdk-calls.js";
import type { SdkHandle, SdkHold, WantedModes } from "./sdk-hold.js";
import type { SdkHolds } from "./sdk-holds.js";

/** With this many waits it asks for nothing more. */
const WAITS_MAX = 3;
const TRY_SHARE = 0.2;
const STRONGER_SHARE = 0.3;
/** The share of wishes for something that is given back in the same turn. */
const REGAIN_SHARE = 0.1;
/** The share of each action in the turn in which a process hands everything over. */
const LAST_SHARE = 0.3;
/** Among holds that end by themselves, one in this number is not kept until then. */
const KEPT_OF = 4;
/** In addition to the share in its plan. */
const REVOKE_SHARE = 0.02;
const AT_ONCE_SHARE = 0.1;
const GRACE_MS_MOST = 1_500;
const HOLD_MS = { least: 1_000, most: 2_500 } as const;
const BEARER_TTL_MS = { least: 1_000, most: 3_000 } as const;

/** How something is asked for, and what is done with the answer. */
interface Wish {
  readonly marker: string;
  readonly options: HoldOptions;
  readonly signal: AbortSignal;
  readonly ask: (lock: Promise<Lock | undefined>, items: readonly WantedItem[]) => void;
}

/** The process that acts. */
interface ActingProcess {
  readonly calls: SdkCalls;
  readonly holds: SdkHolds;
  reconnect(): void;
  watch(client: Client): void;
  /** Ends the session in peace, and begins another one. */
  close(client: Client): void;
  /** A lock that it was given, as `wanted`. */
  take(lock: Lock, wanted: WantedModes, isCapped: boolean): void;
  /** Adopts what somebody else had. */
  adopt(client: Client, handed: HandedOver): void;
}

export class SdkActions {
  readonly #world: ProcessSurroundings;
  readonly #process: ActingProcess;
  #calls = 0;
  #reads = 0;
  #updates = 0;
  readonly #lastUpdates = new WeakMap<SdkHold, number>();

  constructor(world: ProcessSurroundings, process: ActingProcess) {
    this.#world = world;
    this.#process = process;
  }

  perform(client: Client): void {
    const { random, plan } = this.#world;
    const { mix, locks } = plan;
    if (mix.watch !== undefined && random.chance(mix.watch)) {
      this.#process.watch(client);
      return;
    }
    const chance = random.next();
    if (chance < mix.reconnect) {
      this.#process.reconnect();
      return;
    }
    if (chance < mix.reconnect + mix.close) {
      this.#process.close(client);
      return;
    }
    if (chance < mix.reconnect + mix.close + mix.inspect) {
      this.#inspect(client);
      return;
    }
    const makers: readonly (readonly [number, () => boolean])[] = [
      [mix.cancel, () => this.#abort()],
      [locks.upgrade, () => this.#upgrade()],
      [locks.downgrade, () => this.#downgrade()],
      [locks.handOver, () => this.#handOver()],
      [locks.adopt, () => this.#adopt(client)],
      [locks.revoke + REVOKE_SHARE, () => this.#revoke(client)],
      ...(locks.anyValues === true ? [[locks.update, () => this.#update()] as const] : []),
    ];
    for (const [share, make] of makers) if (random.chance(share) && make()) return;
    const isGreedy = this.#process.calls.waits.length >= WAITS_MAX;
    if ((isGreedy || random.chance(mix.release)) && this.#release()) return;
    if (!isGreedy) this.#acquire(client);
  }

  /** One lock more, by a task of its own. */
  gather(client: Client): void {
    if (this.#process.calls.waits.length < WAITS_MAX) this.#request(client);
  }

  /** In the turn in which its process hands everything over. */
  performLast(client: Client): void {
    const { random } = this.#world;
    const makers = [
      () => this.#upgrade(),
      () => this.#acquireAgain(client),
      () => this.#downgrade(),
      () => this.#handOver(),
      () => this.#abort(),
      () => this.#release(),
    ];
    for (const make of makers) if (random.chance(LAST_SHARE)) make();
  }

  // Asking for locks.

  #acquire(client: Client): void {
    const { random, plan } = this.#world;
    const { locks } = plan;
    if (random.chance(locks.reentrant) && this.#acquireAgain(client)) return;
    if (random.chance(REGAIN_SHARE) && this.#regain(client)) return;
    if (random.chance(locks.nested) && this.#acquireNested()) return;
    this.#request(client);
  }

  /** By a task of its own. */
  #request(client: Client): void {
    const { random, plan, semaphores } = this.#world;
    const { mix, locks } = plan;
    const task = client.task();
    const { marker, ask, options } = this.#wish(task.id);
    const own = { ...options, task, value: marker };
    const isTry = random.chance(TRY_SHARE);
    const waited = { ...own, waitMs: this.#waitMs() };
    const hasPermits = random.chance(locks.permits);
    if (random.chance(mix.several)) {
      const items: WantedItem[] = this.#keys(2).map((key) => ({ key, mode: this.#mode() }));
      if (hasPermits) {
        const { key, limit } = random.pick(semaphores);
        items.push({ key, permits: random.integer(1, Math.min(limit, PERMITS_MOST)), limit });
      }
      ask(client.acquireAll(items, waited), items);
    } else if (hasPermits) {
      const { key, limit } = random.pick(semaphores);
      const semaphore = client.semaphore(key, random.chance(0.5) ? { limit } : {});
      const permits = random.integer(1, Math.min(limit, PERMITS_MOST));
      const items = [{ key, permits }];
      ask(
        isTry
          ? semaphore.tryAcquire({ ...own, permits })
          : semaphore.acquire({ ...waited, permits }),
        items,
      );
    } else {
      const [key = ""] = this.#keys(1);
      const isSteal = random.chance(locks.steal);
      const mode = isSteal ? "exclusive" : this.#mode();
      if (isSteal) ask(client.acquire(key, { ...waited, steal: true }), [{ key, mode }]);
      else if (isTry) ask(client.tryAcquire(key, { ...own, mode }), [{ key, mode }]);
      else ask(client.acquire(key, { ...waited, mode }), [{ key, mode }]);
    }
  }

  /** Another key, by a task that holds something. */
  #acquireNested(): boolean {
    const hold = this.#world.random.pickOrNone(this.#process.holds.held);
    if (hold === undefined) return false;
    const { lock } = hold;
    const { marker, ask, options } = this.#wish(lock.task.id, true);
    const [key = ""] = this.#keys(1);
    const mode = this.#mode();
    const waitMs = this.#waitMs();
    ask(lock.acquire(key, { ...options, value: marker, mode, waitMs }), [{ key, mode }]);
    return true;
  }

  /** The same keys by the same task, now and then as more than they are held. */
  #acquireAgain(client: Client): boolean {
    const { random } = this.#world;
    const hold = random.pickOrNone(this.#process.holds.held);
    if (hold === undefined) return false;
    const items = hold.claims.map(({ key, mode, slots }): WantedItem => {
      if (mode === "permits") return { key, permits: slots.length };
      return { key, mode: random.chance(STRONGER_SHARE) ? "exclusive" : mode };
    });
    const { task } = hold.lock;
    // The task may have the same keys by several holds: which of them it is counted with is not told.
    for (const other of this.#process.holds.held) {
      if (other.task !== hold.task || !hasSameKeys(other, hold)) continue;
      other.isCounted = true;
      this.#noteUpgrades(other, items);
    }
    const { marker, ask, signal } = this.#wish(task.id, true);
    const waitMs = this.#waitMs();
    const options = { task, reentrant: true, value: marker, signal, waitMs };
    ask(client.acquireAll(items, options), items);
    return true;
  }

  /** Gives something back and asks for it again in the same turn: it must not be in its own way. */
  #regain(client: Client): boolean {
    const { random } = this.#world;
    const { calls, holds } = this.#process;
    const able = holds.held.filter((hold) => {
      const isOnly = holds.held.every((other) => other === hold || other.task !== hold.task);
      return isOnly && hold.count === 1 && !calls.isBlocked(hold.task);
    });
    const hold = random.pickOrNone(able);
    if (hold === undefined) return false;
    const items = hold.claims.map(({ key, mode, slots }): WantedItem => {
      return mode === "permits" ? { key, permits: slots.length } : { key, mode };
    });
    const { task } = hold.lock;
    holds.release(hold);
    const { marker, ask, options } = this.#wish(task.id, true, true);
    ask(
      client.acquireAll(items, { ...options, task, value: marker, waitMs: this.#waitMs() }),
      items,
    );
    return true;
  }

  /**
   * How something is asked for. `isJoining`: by a task that may have to wait for another call of its own, so
   * that the log need not have it in its turn.
   */
  #wish(task: number, isJoining = false, hasNothing = false): Wish {
    const controller = new AbortController();
    const { signal } = controller;
    const marker = this.#marker(isJoining);
    const options = { ...this.#options(), signal };
    const isCapped = options.maxHoldMs !== undefined;
    const { calls } = this.#process;
    const ask = (lock: Promise<Lock | undefined>, items: readonly WantedItem[]): void => {
      const wanted = wantedModes(items);
      calls.ask({ what: marker, task, controller, hasNothing }, marker, lock, (given) => {
        this.#process.take(given, wanted, isCapped);
      });
    };
    return { marker, options, signal, ask };
  }

  #options(): HoldOptions {
    const { random, plan } = this.#world;
    const { locks } = plan;
    const options: HoldOptions = {};
    if (random.chance(locks.priority)) options.priority = random.integer(1, 3);
    if (random.chance(locks.maxHold)) {
      options.maxHoldMs = random.integer(HOLD_MS.least, HOLD_MS.most);
    }
    if (random.chance(locks.minHold)) options.minHoldMs = random.integer(1, 800);
    if (random.chance(locks.lockDelay)) options.lockDelayMs = random.integer(1, 800);
    return options;
  }

  #waitMs(): number {
    const { random } = this.#world;
    const forEver = Number.POSITIVE_INFINITY;
    return random.pick([forEver, forEver, 0, random.integer(50, 800)]);
  }

  #mode(): "exclusive" | "shared" {
    return this.#world.random.chance(this.#world.plan.mix.shared) ? "shared" : "exclusive";
  }

  #keys(count: number): string[] {
    const { random, keys } = this.#world;
    return random.shuffled(keys).slice(0, count).sort();
  }

  /** By which the log knows the call. */
  #marker(isJoining: boolean): string {
    this.#calls += 1;
    return markerOf(this.#world.name, this.#calls, isJoining);
  }

  // With what it has, or waits for.

  #abort(): boolean {
    const call = this.#world.random.pickOrNone(this.#process.calls.waits);
    call?.controller?.abort(new Error(`${call.what} is not wanted any more`));
    return call !== undefined;
  }

  #release(): boolean {
    const given = this.#process.holds.held.filter(({ endsByItself, token }) => {
      return !endsByItself || token % KEPT_OF === 0;
    });
    const hold = this.#world.random.pickOrNone(given);
    if (hold === undefined) return false;
    this.#process.holds.release(hold, this.#world.random.pickOrNone(hold.live));
    return true;
  }

  #upgrade(): boolean {
    const { random } = this.#world;
    const able = this.#handles.filter(({ handle }) => handle.keysIn("shared").length > 0);
    const chosen = random.pickOrNone(able);
    if (chosen === undefined) return false;
    const { hold, handle } = chosen;
    const key = random.pick(handle.keysIn("shared"));
    const controller = new AbortController();
    const { lock } = handle;
    const waitMs = this.#waitMs();
    const raised = handle.raise(key);
    const upgrade = lock.upgrade({ key, waitMs, signal: controller.signal });
    const what = `upgrade ${hold.token}`;
    const wish = this.#upgradeWish(hold, key);
    const call = { what, task: lock.task.id, controller, wish, codes: CODES_OF_A_LOCK };
    this.#process.calls.track(call, upgrade.finally(raised.over), () => {
      raised.done();
      this.#process.holds.believe(hold);
    });
    return true;
  }

  #downgrade(): boolean {
    const { random } = this.#world;
    const able = this.#handles.filter(({ handle }) => handle.strongKeys.length > 0);
    const chosen = random.pickOrNone(able);
    if (chosen === undefined) return false;
    const { hold, handle } = chosen;
    const key = random.pick(handle.strongKeys);
    handle.lower(key);
    const what = `downgrade ${hold.token}`;
    this.#process.calls.track({ what, task: 0 }, handle.lock.downgrade(key), () => {});
    return true;
  }

  /** What others see with it. */
  #update(): boolean {
    const { random } = this.#world;
    const hold = random.pickOrNone(this.#process.holds.held);
    if (hold === undefined) return false;
    const { lock } = hold;
    this.#updates += 1;
    const value = ofAnyLength(random, `update ${this.#updates}`);
    const updated = lock.update(value);
    const what = `update ${hold.token}`;
    const number = this.#updates;
    this.#lastUpdates.set(hold, number);
    this.#process.calls.track({ what, task: 0 }, updated, () => {
      const isLast = this.#lastUpdates.get(hold) === number;
      if (!isLast || lock.value === value) return;
      this.#process.calls.broken(
        "one answer",
        `${hold.token} has ${value}, and shows ${lock.value}`,
      );
    });
    return true;
  }

  /** It may be upgraded for a call that asks for these. */
  #noteUpgrades(hold: SdkHold, items: readonly WantedItem[]): void {
    const { watch, client } = this.#world;
    for (const { key, mode } of items) {
      if (mode === "exclusive") watch.onMade(client, this.#upgradeWish(hold, key));
    }
  }

  #upgradeWish(hold: SdkHold, key: string): string {
    return wishOf(hold.session, { op: OP.upgrade, target: this.#numberOf(hold), key });
  }

  /** By which its session knows it. */
  #numberOf({ session, token }: SdkHold): number {
    return this.#world.watch.numberInLog(session, token);
  }

  /** Everything that was not given back. */
  get #handles(): { readonly hold: SdkHold; readonly handle: SdkHandle }[] {
    return this.#process.holds.held.flatMap((hold) => {
      return hold.live.map((handle) => ({ hold, handle }));
    });
  }

  #handOver(): boolean {
    const { random, board, watch, client } = this.#world;
    const hold = random.pickOrNone(this.#process.holds.held);
    if (hold === undefined) return false;
    const ttlMs = random.integer(BEARER_TTL_MS.least, BEARER_TTL_MS.most);
    const what = `hand over ${hold.token}`;
    const target = this.#numberOf(hold);
    const wish = wishOf(hold.session, { op: OP.handOver, target });
    const asked = watch.onHandOverAsked(client, hold.session, target);
    this.#process.calls.track(
      { what, task: 0, wish },
      hold.lock.handOver({ ttlMs }),
      (handed) => {
        asked.given(handed);
        board.post(handed);
      },
      (error) => {
        asked.refused(!hold.lock.isHeld);
        this.#process.calls.judge(what, error);
      },
    );
    return true;
  }

  /** Hands over everything that its client holds, and passes the data to `onHandedOver`. */
  handOverAll(
    client: Client,
    onHandedOver: (handed: HandedOver) => void,
    onRefused: () => void,
  ): void {
    const { random, watch } = this.#world;
    const { calls } = this.#process;
    const ttlMs = random.integer(BEARER_TTL_MS.least, BEARER_TTL_MS.most);
    const what = "hand everything over";
    const asked = watch.onHandOverAsked(this.#world.client, client.session, undefined);
    calls.track(
      { what, task: 0 },
      client.handOver({ ttlMs }),
      (handed) => {
        asked.given(handed);
        onHandedOver(handed);
      },
      (error) => {
        asked.refused(false);
        calls.judge(what, error);
        onRefused();
      },
    );
  }

  #adopt(client: Client): boolean {
    const { random, board } = this.#world;
    const handed = random.pickOrNone(board.handed);
    if (handed === undefined) return false;
    this.#process.adopt(client, handed);
    return true;
  }

  /** Revokes a key, no matter which client has it, even its own. */
  #revoke(client: Client): boolean {
    const { random } = this.#world;
    const [key = ""] = this.#keys(1);
    const graceMs = random.integer(0, GRACE_MS_MOST);
    const now = random.chance(AT_ONCE_SHARE);
    const revoked = client.revoke({ key }, { graceMs, now });
    const wish = wishOf(0, { op: OP.revoke, key, graceMs, now });
    this.#process.calls.track({ what: `revoke ${key}`, task: 0, wish }, revoked, () => {});
    return true;
  }

  #inspect(client: Client): void {
    const { random, keys, watch, name: reader } = this.#world;
    this.#reads += 1;
    const id = this.#reads;
    const key = random.pick(keys);
    watch.onRead(reader, id);
    this.#process.calls.track(
      { what: `inspect ${key}`, task: 0 },
      client.inspect(key),
      (payload) => {
        const { kind, status } = { kind: MESSAGE.answer, status: STATUS.ok } as const;
        watch.onAnswer(reader, OP.inspect, { kind, id, status, payload });
      },
    );
  }
}

function wantedModes(items: readonly WantedItem[]): WantedModes {
  return new Map(
    items.map((item) => {
      return [item.key, item.permits === undefined ? (item.mode ?? "exclusive") : "permits"];
    }),
  );
}

function hasSameKeys(one: SdkHold, other: SdkHold): boolean {
  return (
    one.claims.length === other.claims.length &&
    one.claims.every(({ key }) => other.claimOf(key) !== undefined)
  );
}
