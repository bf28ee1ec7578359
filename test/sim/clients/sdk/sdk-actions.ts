/**
 * What an application does next with the public SDK, by the shares of its plan: locks and permits of
 * one or several keys, tries, tasks with several claims, counted holds, upgrades and downgrades,
 * tickets, revokes, reads; it gives up what it waits for by its signals, and closes.
 */
import type { Client, HoldOptions, Lock, WantedItem } from "../../../../src/client/index.js";
import { MESSAGE, OP, STATUS } from "../../../../src/protocol/index.js";
import { MARKER } from "../../checks/exactly-once.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import type { OpenCall } from "./sdk-calls.js";
import type { SdkHold } from "./sdk-hold.js";
import type { SdkProcess } from "./sdk-process.js";

/** Beyond so many waits it asks for nothing more. */
const WAITS_MAX = 3;
const TRY_SHARE = 0.2;
const STRONGER_SHARE = 0.1;
/** Of holds that end by themselves one of so many is not kept until then. */
const KEPT_OF = 4;
/** Beside those of its plan. */
const REVOKE_SHARE = 0.02;
const AT_ONCE_SHARE = 0.1;
const GRACE_MS_MOST = 1_500;
const HOLD_MS = { least: 1_000, most: 2_500 } as const;
const TICKET_TTL_MS = { least: 1_000, most: 3_000 } as const;

export class SdkActions {
  readonly #world: ProcessSurroundings;
  readonly #process: SdkProcess;
  #calls = 0;
  #reads = 0;

  constructor(world: ProcessSurroundings, process: SdkProcess) {
    this.#world = world;
    this.#process = process;
  }

  perform(client: Client): void {
    const { random, plan } = this.#world;
    const { mix, locks } = plan;
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
      [locks.detach, () => this.#detach()],
      [locks.claim, () => this.#claim(client)],
      [locks.revoke + REVOKE_SHARE, () => this.#revoke(client)],
    ];
    for (const [share, make] of makers) if (random.chance(share) && make()) return;
    const isGreedy = this.#process.calls.waits.length >= WAITS_MAX;
    if ((isGreedy || random.chance(mix.release)) && this.#release()) return;
    if (!isGreedy) this.#acquire(client);
  }

  // Asking for locks.

  #acquire(client: Client): void {
    const { random, plan } = this.#world;
    const { locks } = plan;
    const controller = new AbortController();
    const marker = this.#marker();
    const held = random.pickOrNone(this.#process.holds.held);
    const options = { ...this.#options(), value: marker, signal: controller.signal };
    const isCapped = options.maxHoldMs !== undefined;
    if (held !== undefined && random.chance(locks.reentrant)) {
      this.#acquireAgain(client, held, marker, controller);
      return;
    }
    if (held !== undefined && random.chance(locks.nested)) {
      const { lock } = held;
      const waitMs = this.#waitMs();
      const [key = ""] = this.#keys(1);
      const nested = lock.acquire(key, { ...options, mode: this.#mode(), waitMs });
      const call = { what: marker, owner: lock.owner.id, controller };
      this.#ask(call, marker, nested, isCapped);
      return;
    }
    const owner = client.owner();
    const call: OpenCall = { what: marker, owner: owner.id, controller };
    this.#ask(call, marker, this.#request(client, { ...options, owner }), isCapped);
  }

  #request(client: Client, options: HoldOptions): Promise<Lock | undefined> {
    const { random, plan, semaphores } = this.#world;
    const { mix, locks } = plan;
    const isTry = random.chance(TRY_SHARE);
    const waited = { ...options, waitMs: this.#waitMs() };
    const hasPermits = random.chance(locks.permits);
    const hasSeveral = random.chance(mix.several);
    if (hasSeveral) {
      const items: WantedItem[] = this.#keys(2).map((key) => ({ key, mode: this.#mode() }));
      if (hasPermits) {
        const { key, limit } = random.pick(semaphores);
        items.push({ key, permits: random.integer(1, limit), limit });
      }
      return client.acquireAll(items, waited);
    }
    if (hasPermits) {
      const { key, limit } = random.pick(semaphores);
      const semaphore = client.semaphore(key, random.chance(0.5) ? { limit } : {});
      const permits = random.integer(1, limit);
      if (isTry) return semaphore.tryAcquire({ ...options, permits });
      return semaphore.acquire({ ...waited, permits });
    }
    const [key = ""] = this.#keys(1);
    if (random.chance(locks.steal)) return client.acquire(key, { ...waited, steal: true });
    const mode = this.#mode();
    if (isTry) return client.tryAcquire(key, { ...options, mode });
    return client.acquire(key, { ...waited, mode });
  }

  /** The same keys by the same task, now and then as more than they are held. */
  #acquireAgain(client: Client, hold: SdkHold, marker: string, controller: AbortController): void {
    const { random } = this.#world;
    const items = hold.claims.map(({ key, mode, slots }): WantedItem => {
      if (mode === "permits") return { key, permits: slots.length };
      return { key, mode: random.chance(STRONGER_SHARE) ? "exclusive" : mode };
    });
    hold.isCounted = true;
    const { owner } = hold.lock;
    const { signal } = controller;
    const waitMs = this.#waitMs();
    const options = { owner, reentrant: true, value: marker, signal, waitMs };
    const call = { what: marker, owner: owner.id, controller };
    this.#ask(call, marker, client.acquireAll(items, options), false);
  }

  #ask(call: OpenCall, marker: string, lock: Promise<Lock | undefined>, isCapped: boolean): void {
    const process = this.#process;
    process.calls.ask(call, marker, lock, (given) => process.take(given, isCapped));
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
  #marker(): string {
    this.#calls += 1;
    return `${MARKER}${this.#world.name}.${this.#calls}`;
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
    if (hold !== undefined) this.#process.holds.release(hold);
    return hold !== undefined;
  }

  #upgrade(): boolean {
    const { random } = this.#world;
    const able = this.#process.holds.held.filter(({ isChanging, claims }) => {
      return !isChanging && claims.some(({ mode }) => mode === "shared");
    });
    const hold = random.pickOrNone(able);
    if (hold === undefined) return false;
    const { key } = random.pick(hold.claims.filter(({ mode }) => mode === "shared"));
    const controller = new AbortController();
    const { lock } = hold;
    hold.isChanging = true;
    const waitMs = this.#waitMs();
    const upgrade = lock.upgrade({ key, waitMs, signal: controller.signal });
    const done = upgrade.finally(() => {
      hold.isChanging = false;
    });
    const call = { what: `upgrade ${hold.token}`, owner: lock.owner.id, controller };
    this.#process.calls.track(call, done, () => {
      hold.setMode(key, "exclusive");
      this.#process.holds.believe(hold);
    });
    return true;
  }

  #downgrade(): boolean {
    const able = this.#process.holds.held.filter(({ isChanging, claims }) => {
      return !isChanging && claims.some(({ mode }) => mode === "exclusive");
    });
    const hold = this.#world.random.pickOrNone(able);
    if (hold === undefined) return false;
    const { key } = this.#world.random.pick(hold.claims.filter(({ mode }) => mode === "exclusive"));
    // Before it asks: others may be let in before it hears of it.
    hold.setMode(key, "shared");
    const what = `downgrade ${hold.token}`;
    this.#process.calls.track({ what, owner: 0 }, hold.lock.downgrade(key), () => {});
    return true;
  }

  #detach(): boolean {
    const { random, board } = this.#world;
    const hold = random.pickOrNone(
      this.#process.holds.held.filter(({ isChanging }) => !isChanging),
    );
    if (hold === undefined) return false;
    const ticketTtlMs = random.integer(TICKET_TTL_MS.least, TICKET_TTL_MS.most);
    const what = `detach ${hold.token}`;
    this.#process.calls.track({ what, owner: 0 }, hold.lock.detach({ ticketTtlMs }), (ticket) => {
      board.post(ticket);
    });
    return true;
  }

  #claim(client: Client): boolean {
    const { random, board } = this.#world;
    const ticket = random.pickOrNone(board.tickets);
    if (ticket === undefined) return false;
    const controller = new AbortController();
    const owner = client.owner();
    const lock = client.claim(ticket, { owner, signal: controller.signal });
    const call = { what: `claim ${ticket.token}`, owner: owner.id, controller };
    this.#process.calls.track(call, lock, (given) => this.#process.take(given));
    return true;
  }

  /** From whoever has it, be it itself. */
  #revoke(client: Client): boolean {
    const { random } = this.#world;
    const [key = ""] = this.#keys(1);
    const graceMs = random.integer(0, GRACE_MS_MOST);
    const revoked = client.revoke({ key }, { graceMs, now: random.chance(AT_ONCE_SHARE) });
    this.#process.calls.track({ what: `revoke ${key}`, owner: 0 }, revoked, () => {});
    return true;
  }

  #inspect(client: Client): void {
    const { random, keys, watch, name: reader } = this.#world;
    this.#reads += 1;
    const id = this.#reads;
    const key = random.pick(keys);
    watch.onRead(reader, id);
    this.#process.calls.track(
      { what: `inspect ${key}`, owner: 0 },
      client.inspect(key),
      (payload) => {
        const { kind, status } = { kind: MESSAGE.answer, status: STATUS.ok } as const;
        watch.onAnswer(reader, OP.inspect, { kind, id, status, payload });
      },
    );
  }
}
