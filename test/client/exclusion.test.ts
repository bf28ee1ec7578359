/**
 * The promises of the SDK under arbitrary faults: while a signal is not aborted the table has the
 * hold; nobody is told twice; nothing is left behind.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Lock, Owner } from "../../src/client/index.js";
import { HoldfastError } from "../../src/errors.js";
import { EMPTY } from "./set-up.js";
import { connectTo, type SimulatedClient } from "./simulated-client.js";
import { SimulatedWorld } from "./simulated-world.js";
import { TableServer } from "./table-server.js";

const CLIENTS = 3;
const PLAN_MS = 8_000;
const OWNERS = 2;
const CODES = ["LOCK_TIMEOUT", "SESSION_EXPIRED", "CANCELLED", "BUSY", "UNAVAILABLE", "DEADLOCK"];
/** What changing a lock that is held may end with, beside these. */
const CHANGE_CODES = [...CODES, "LOCK_LOST", "NOT_HELD"];

const CHANGES = [
  "none",
  "upgrade",
  "downgrade",
  "lower and raise",
  "lower and count",
  "leave and raise",
  "raise twice and leave one",
  "raise and go on",
] as const;

const key = fc.constantFrom("a", "b");
const client = fc.integer({ min: 0, max: CLIENTS - 1 });
const duration = fc.integer({ min: 1, max: 3_000 });

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("acquire" as const),
      client,
      key,
      mode: fc.constantFrom("exclusive" as const, "shared" as const),
      waitMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
      abortMs: fc.option(fc.integer({ min: 0, max: 1_500 }), { nil: undefined }),
      holdMs: fc.integer({ min: 0, max: 2_500 }),
      maxHoldMs: fc.option(fc.integer({ min: 1_000, max: 2_500 }), { nil: undefined }),
      owner: fc.option(fc.integer({ min: 0, max: OWNERS - 1 }), { nil: undefined, freq: 2 }),
      change: fc.constantFrom(...CHANGES),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("revoke" as const),
      client,
      key,
      graceMs: fc.integer({ min: 0, max: 1_500 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("cut" as const), client }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("blackhole" as const), client }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("stop" as const), client, duration }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("busy" as const), duration }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("leaderless" as const), duration }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("nodeDown" as const),
      node: fc.integer({ min: 1, max: 3 }),
      duration,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("wallJump" as const),
      client,
      byMs: fc.integer({ min: -5_000, max: 5_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("slow" as const), duration }) },
);

const plan = fc.record({
  seed: fc.nat(),
  duplicates: fc.constantFrom(0, 0.3),
  refusals: fc.constantFrom(0, 0.3),
  ttlMs: fc.constantFrom(1_000, 2_000),
  rates: fc.tuple(...Array.from({ length: CLIENTS }, () => fc.constantFrom(0.96, 1, 1.04))),
  steps: fc.array(fc.record({ atMs: fc.integer({ min: 0, max: PLAN_MS }), step }), {
    minLength: 5,
    maxLength: 60,
  }),
});

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;
type Step = Plan["steps"][number]["step"];
type Acquire = Extract<Step, { type: "acquire" }>;

/** What an acquire asked for, from its call to the end of its lock. */
interface Wish extends Pick<Acquire, "mode"> {
  readonly key: string;
  readonly by: SimulatedClient;
  /** `undefined`: a task of its own. */
  readonly owner: Owner | undefined;
  /** The same task asked since for something that makes the lock shared. */
  isLowered: boolean;
}

class Trial {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly clients: SimulatedClient[] = [];
  /** By client: those that are named by several requests, which count up what they hold. */
  readonly owners: Owner[][] = [];
  /** Locks that were handed out and not released by their caller yet. */
  readonly live = new Map<Lock, Wish>();
  readonly wishes = new Set<Wish>();
  readonly tokens = new Set<number>();
  readonly endings: Promise<void>[] = [];
  readonly #plan: Plan;

  constructor(given: Plan) {
    this.#plan = given;
    this.world = new SimulatedWorld(given.seed);
    this.server = new TableServer(this.world);
    this.world.afterEach = () => this.checkExclusion();
  }

  async run(): Promise<void> {
    const { ttlMs, rates, steps, duplicates, refusals } = this.#plan;
    for (const rate of rates) {
      const one = await connectTo(this.server, { ttlMs }, rate);
      this.clients.push(one);
      this.owners.push(Array.from({ length: OWNERS }, () => one.client.owner()));
    }
    this.server.faults.duplicates = duplicates;
    this.server.faults.refusals = refusals;
    for (const { atMs, step } of steps) this.world.after(atMs, () => this.take(step));
    await this.world.run(PLAN_MS + 3_100);
    this.heal();
    await this.world.until(Promise.all(this.endings), 60_000);
    await this.world.run(2 * ttlMs);
    for (const each of this.clients) {
      expect(this.server.owedTo(each.client.session)).toEqual([]);
    }
    const left = this.server.table.counts();
    expect({ holds: left.holds, waiters: left.waiters }).toEqual({ holds: 0, waiters: 0 });
    await this.world.until(Promise.all(this.clients.map((each) => each.client.close())));
    // What is left are sessions that a client opened without hearing of it.
    await this.world.run(ttlMs + 1_000);
    expect(this.server.table.counts()).toMatchObject(EMPTY);
  }

  checkExclusion(): void {
    for (const [lock, wish] of this.live) {
      const { by } = wish;
      if (by.platform.isStopped || lock.signal.aborted) continue;
      const isExclusive =
        lock.mode === "exclusive" || (wish.mode === "exclusive" && !wish.isLowered);
      // The table may have a newer token that is on its way, but not another mode.
      const isThere = this.server.table.inspect(lock.key).holds.some(({ session, owner, mode }) => {
        const isStrong = mode === "exclusive" || !isExclusive;
        return session === by.client.session && owner === lock.owner.id && isStrong;
      });
      if (isThere) continue;
      throw new Error(`${lock.key} ${lock.token} is believed in but gone: ${this.world.nowMs} ms`);
    }
  }

  take(step: Step): void {
    const { faults } = this.server;
    switch (step.type) {
      case "acquire":
        this.endings.push(this.hold(step));
        return;
      case "revoke": {
        const { client: by, key: revoked, graceMs } = step;
        this.clients[by]?.client.revoke({ key: revoked }, { graceMs }).catch(expectCode(CODES));
        return;
      }
      case "cut":
        this.clients[step.client]?.platform.connection?.cut();
        return;
      case "blackhole": {
        const connection = this.clients[step.client]?.platform.connection;
        if (connection !== undefined) connection.isBlackhole = true;
        return;
      }
      case "stop": {
        const platform = this.clients[step.client]?.platform;
        platform?.stop();
        this.world.after(step.duration, () => platform?.goOn());
        return;
      }
      case "busy":
        faults.busy = "everything";
        this.world.after(step.duration, () => {
          faults.busy = "nothing";
        });
        return;
      case "leaderless":
        faults.isLeaderless = true;
        this.world.after(step.duration, () => {
          faults.isLeaderless = false;
        });
        return;
      case "nodeDown":
        faults.downNodes.add(step.node);
        for (const each of this.server.connections) if (each.nodeId === step.node) each.cut();
        this.world.after(step.duration, () => faults.downNodes.delete(step.node));
        return;
      case "wallJump":
        this.clients[step.client]?.platform.jumpWallClock(step.byMs);
        return;
      case "slow":
        faults.latencyMs = [1, 300];
        this.world.after(step.duration, () => {
          faults.latencyMs = [0.2, 2];
        });
    }
  }

  /** A stopped process calls nothing, so what it would have asked for is left out. */
  async hold(step: Acquire): Promise<void> {
    const by = this.clients[step.client] as SimulatedClient;
    if (by.platform.isStopped) return;
    const controller = new AbortController();
    // Without an abort or deadline of its own a request ends with the trial.
    const abortMs = step.abortMs ?? (step.waitMs === undefined ? 20_000 : undefined);
    if (abortMs !== undefined) {
      this.world.after(abortMs, () => by.platform.call(() => controller.abort()));
    }
    const { mode } = step;
    const owner = step.owner === undefined ? undefined : this.owners[step.client]?.[step.owner];
    const wish: Wish = { key: step.key, mode, by, owner, isLowered: false };
    this.wishes.add(wish);
    await this.use(wish, step, controller.signal);
    this.wishes.delete(wish);
  }

  async use(wish: Wish, step: Acquire, signal: AbortSignal): Promise<void> {
    const { by, owner, mode } = wish;
    const { waitMs, maxHoldMs } = step;
    let lock: Lock;
    try {
      lock = await by.client.acquire(step.key, {
        mode,
        signal,
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(maxHoldMs === undefined ? {} : { maxHoldMs }),
        ...(owner === undefined ? {} : { owner, reentrant: true }),
      });
    } catch (error) {
      if (error === signal.reason) return;
      expect(error).toBeInstanceOf(HoldfastError);
      const expected = step.waitMs === 0 ? [...CODES, "LOCK_HELD"] : CODES;
      expect(expected).toContain((error as HoldfastError).code);
      return;
    }
    if (owner === undefined) expect(this.tokens.has(lock.token)).toBe(false);
    this.tokens.add(lock.token);
    this.live.set(lock, wish);
    this.checkExclusion();
    await this.change(lock, step, wish).catch(expectCode(CHANGE_CODES));
    this.checkExclusion();
    await new Promise<void>((resolve) => {
      this.world.after(step.holdMs, () => by.platform.call(resolve));
    });
    const wasHeld = lock.isHeld;
    const result = await lock.release();
    if (result.released) expect(wasHeld).toBe(true);
    this.live.delete(lock);
  }

  /** Something was asked for that makes shared what the task holds. */
  lower(lowered: Wish): void {
    const { key: loweredKey, owner } = lowered;
    lowered.isLowered = true;
    for (const wish of owner === undefined ? [] : this.wishes) {
      if (wish.owner === owner && wish.key === loweredKey) wish.isLowered = true;
    }
  }

  /** One that is given up leaves what the task holds shared. */
  async raise(wish: Wish, upgrading: Promise<void>): Promise<void> {
    await upgrading.catch((error) => {
      this.lower(wish);
      throw error;
    });
  }

  /** Asks for the same once more, exclusively. */
  async count(lock: Lock, { by }: Wish): Promise<void> {
    const { key: counted, owner } = lock;
    const wish: Wish = { key: counted, mode: "exclusive", by, owner, isLowered: false };
    this.wishes.add(wish);
    try {
      const again = await lock.acquire(counted, { reentrant: true, waitMs: 500 });
      this.live.set(again, wish);
      this.checkExclusion();
      await new Promise<void>((resolve) => {
        this.world.after(100, () => by.platform.call(resolve));
      });
      await again.release();
      this.live.delete(again);
    } finally {
      this.wishes.delete(wish);
    }
  }

  async change(lock: Lock, { change, owner }: Acquire, wish: Wish): Promise<void> {
    switch (change) {
      case "none":
        return;
      case "upgrade":
        return this.raise(wish, lock.upgrade({ waitMs: 500 }));
      case "downgrade":
        this.lower(wish);
        return lock.downgrade();
      case "lower and raise":
        this.lower(wish);
        lock.downgrade().catch(expectCode(CHANGE_CODES));
        await this.raise(wish, lock.upgrade({ waitMs: 500 }));
        break;
      case "lower and count":
        this.lower(wish);
        lock.downgrade().catch(expectCode(CHANGE_CODES));
        return this.count(lock, wish);
      case "raise and go on":
        // It may be granted whenever, also when the lock was given back.
        this.lower(wish);
        lock.upgrade({ waitMs: 500 }).catch(expectCode(CHANGE_CODES));
        return;
      case "raise twice and leave one": {
        const controller = new AbortController();
        const { platform } = wish.by;
        this.world.after(this.world.random() * 5, () => platform.call(() => controller.abort()));
        const { signal } = controller;
        lock.upgrade({ signal }).catch((error: unknown) => {
          if (error !== signal.reason) expectCode(CHANGE_CODES)(error);
        });
        await this.raise(wish, lock.upgrade({ waitMs: 500 }));
        break;
      }
      case "leave and raise": {
        const controller = new AbortController();
        const { signal } = controller;
        const { platform } = wish.by;
        this.world.after(this.world.random() * 5, () => platform.call(() => controller.abort()));
        await this.raise(wish, lock.upgrade({ signal })).catch((error) => {
          if (error !== signal.reason) throw error;
        });
        await this.raise(wish, lock.upgrade({ waitMs: 500 }));
      }
    }
    // Of a hold that is counted another handle may have changed it since.
    if (owner === undefined && lock.isHeld) expect(lock.mode).toBe("exclusive");
  }

  heal(): void {
    const { faults } = this.server;
    faults.busy = "nothing";
    faults.refusals = 0;
    faults.isLeaderless = false;
    faults.downNodes.clear();
    faults.latencyMs = [0.2, 2];
    for (const { platform } of this.clients) platform.goOn();
  }
}

function expectCode(codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    expect(error).toBeInstanceOf(HoldfastError);
    expect(codes).toContain((error as HoldfastError).code);
  };
}

it("believes in no lock that the table could have given to another, and leaks none", async () => {
  await fc.assert(
    fc.asyncProperty(plan, (given) => new Trial(given).run()),
    { numRuns: 300 },
  );
}, 120_000);
