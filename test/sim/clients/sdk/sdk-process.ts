/**
 * One process of an application: it connects, acts now and then, and uses what its locks guard. What it
 * asks for is `sdk-actions.ts`'s, what it has `sdk-holds.ts`'s, what it waits for `sdk-calls.ts`'s.
 */

import { ProcessLife } from "../../../../lab/simulated/process-life.js";
import {
  CLIENT_DEFAULTS,
  type Client,
  connectOn,
  type Lock,
} from "../../../../src/client/index.js";
import { type ErrorCode, HoldfastError } from "../../../../src/errors.js";
import { endpointOf, SdkPlatform } from "../../world/node/sdk-platform.js";
import { GuardedWrites } from "../guarded-writes.js";
import { SIGHTINGS } from "../sightings.js";
import type { GivenUp, LeftSession } from "./given-up.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import { SdkActions } from "./sdk-actions.js";
import { inheritedWait, SdkCalls } from "./sdk-calls.js";
import { SdkHeed } from "./sdk-heed.js";
import type { WantedModes } from "./sdk-hold.js";
import { SdkHolds } from "./sdk-holds.js";
import { SdkWatching } from "./sdk-watching.js";

const CONNECT_TIMEOUT_MS = 2_000;
const CONNECT_AGAIN_MS = 100;
/** Of watches that begin: the connection breaks within so long. */
const CUT_SHARE = 0.7;
const CUT_MS_MOST = 8;

/** How a wait of the process before ends without a lock. */
const WAIT_CODES: readonly ErrorCode[] = [
  "LOCK_HELD",
  "LOCK_TIMEOUT",
  "DEADLOCK",
  "QUEUE_FULL",
  "WRONG_KIND",
  "LIMIT_MISMATCH",
  "NOT_HELD",
  "FORBIDDEN",
  "QUOTA",
  "INVALID_ARGUMENT",
  "SESSION_EXPIRED",
  "UNAVAILABLE",
  "BUSY",
  "DISK_FULL",
  "CANCELLED",
  "TAKEN_OVER",
];
/**
 * Why a session that was left cannot be gone on with: `QUOTA` when it holds more than is moved at once,
 * `BUSY` when it was taken over just now.
 */
const GONE_CODES: readonly ErrorCode[] = [
  "UNAVAILABLE",
  "SESSION_EXPIRED",
  "FORBIDDEN",
  "QUOTA",
  "TAKEN_OVER",
  "BUSY",
];
/** Of processes that are refused a session: they take it from whoever has it. */
const FORCED_SHARE = 0.6;

export class SdkProcess {
  readonly calls: SdkCalls;
  readonly holds: SdkHolds;
  readonly #world: ProcessSurroundings;
  readonly #life: ProcessLife;
  readonly #platform: SdkPlatform;
  readonly #actions: SdkActions;
  readonly #watching: SdkWatching;
  readonly #writes: GuardedWrites;
  readonly #heed: SdkHeed;
  /** Before it got its session. */
  readonly #givenUp: GivenUp | undefined;
  #client: Client | undefined;
  /** It leaves its session, and does nothing more. */
  #isLeaving = false;

  constructor(world: ProcessSurroundings, left: LeftSession | undefined) {
    const { plan, clock, ears, network, streams, watch } = world;
    this.#world = world;
    this.#givenUp = left?.givenUp;
    this.#life = new ProcessLife(world.simulation);
    this.#platform = new SdkPlatform({
      host: plan.host,
      life: this.#life,
      clock,
      countsSleep: plan.countsSleep,
      network,
      random: world.platformRandom,
      listen: (node) => ears.listen(node),
    });
    const forWrites = streams.of(`writes ${world.name}`);
    this.#writes = new GuardedWrites(forWrites, plan.locks.write, watch);
    const mayBeRefused = (): boolean => world.keyring?.mayBeRefused(plan.host) === true;
    this.calls = new SdkCalls(world.client, watch, this.#life, plan.ttlMs, mayBeRefused);
    this.holds = new SdkHolds(world, this.#life, this.calls, this.#writes);
    this.#watching = new SdkWatching(world, this.#life, this.calls);
    this.#actions = new SdkActions(world, this);
    this.#heed = new SdkHeed(world, this.#life, this.calls, this.holds, (session) => {
      return this.#hasSession(session);
    });
    ears.process = this.#heed;
    this.#connect(left?.exported);
    this.#actLater();
  }

  get session(): number {
    return this.#client?.session ?? 0;
  }

  #hasSession(session: number): boolean {
    const client = this.#client;
    if (client === undefined || client.closed.aborted || this.#isLeaving) return false;
    return client.session === session && !this.calls.isOpen("close");
  }

  get isPaused(): boolean {
    return this.#life.isPaused;
  }

  get isIdle(): boolean {
    return this.calls.isEmpty && this.holds.held.length === 0;
  }

  get business(): string {
    const holds = this.holds.held.map(({ token, owner }) => `${token} of ${owner}`).join(", ");
    return `${this.#world.name}, session ${this.session}, asks [${this.calls.names}] holds [${holds}]`;
  }

  // Its life.

  pause(): void {
    if (this.#life.isPaused) return;
    this.holds.freeze();
    this.#life.pause();
  }

  /**
   * Now and then the application looks first, now and then what waited for the process comes first.
   * `roundingMs`: how far off its clocks may be by which it knows for how long it stood still.
   */
  resume(roundingMs = 0): void {
    if (!this.#life.isPaused) return;
    const over = this.holds.thaw(roundingMs);
    const looks = this.#world.random.chance(0.5);
    for (const { lock, token } of looks ? over : []) {
      if (lock.isHeld) this.calls.broken("lease from below", `${token} is held behind a pause`);
    }
    this.#life.resume();
    for (const { count, token } of over) {
      if (count > 0) this.calls.broken("lease from below", `${token} is counted on behind a pause`);
    }
  }

  reconnect(): void {
    this.#life.deliver(() => this.#platform.cut());
  }

  /** One thing more; its connection may break before that has begun. */
  watch(client: Client): void {
    const { random, simulation } = this.#world;
    if (this.calls.isOpen("close")) return;
    this.#watching.beginOne(client);
    if (!random.chance(CUT_SHARE)) return;
    simulation.after(random.next() * CUT_MS_MOST, () => this.reconnect());
  }

  kill(): void {
    this.#life.end();
    this.#platform.end();
    this.#watching.end();
  }

  /** Leaves the session to whoever is told; `undefined`: there was none, or it is no more. */
  export(onLeft: (left: LeftSession | undefined) => void): void {
    const client = this.#client;
    this.#isLeaving = true;
    if (client === undefined || client.session === 0 || client.closed.aborted) {
      onLeft(undefined);
      return;
    }
    if (!this.#life.isPaused) this.#actions.performLast(client);
    const givenUp = this.holds.givenUpIn(client.session, this.#givenUp);
    client.export().then(
      (exported) => onLeft({ exported: JSON.parse(JSON.stringify(exported)), givenUp }),
      (error) => {
        this.calls.judge("export", error);
        onLeft(undefined);
      },
    );
  }

  /** Ends the session in peace, and begins another one. */
  close(client: Client): void {
    this.calls.track({ what: "close", owner: 0 }, client.close(), () => {});
  }

  /** A lock that it was given, as `wanted`. */
  take(lock: Lock, wanted: WantedModes, isCapped: boolean): void {
    this.holds.take(lock, this.session, wanted, isCapped);
  }

  /** A lock that somebody else had. */
  inherit(lock: Lock): void {
    this.holds.inherit(lock, this.session, this.#givenUp);
  }

  // Connecting.

  #connect(resume: LeftSession["exported"] | undefined, force = false): void {
    const { plan, nodes, keyring } = this.#world;
    const isNamed = keyring?.isNamed(plan.host) === true;
    const tokenNow = (): string => {
      const token = keyring?.lastTokenOf(plan.host);
      if (token === undefined) throw new Error("none was handed out");
      return token;
    };
    const settings = {
      ...CLIENT_DEFAULTS,
      endpoints: nodes.map((node) => endpointOf(node, keyring !== undefined)),
      token: isNamed ? tokenNow : undefined,
      ttlMs: plan.ttlMs,
      name: `client ${plan.host}`,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      resume,
      force,
    };
    connectOn(this.#platform, settings).then(
      (client) => this.#onConnected(client),
      (error) => {
        this.calls.judge("connect", error, GONE_CODES);
        const isTaken = error instanceof HoldfastError && error.code === "TAKEN_OVER";
        // It is refused for a second after the last takeover, and does not give in.
        const isForced = isTaken && (force || this.#world.random.chance(FORCED_SHARE));
        if (isTaken) this.#world.watch.onSeen(SIGHTINGS.takerRefused);
        this.#connectLater(isForced ? resume : undefined);
      },
    );
  }

  /** `forced`: a session to be taken from whoever has it. */
  #connectLater(forced?: LeftSession["exported"]): void {
    this.#client = undefined;
    this.#world.simulation.after(CONNECT_AGAIN_MS, () => {
      this.#life.deliver(() => {
        if (!this.#isLeaving) this.#connect(forced, forced !== undefined);
      });
    });
  }

  #onConnected(client: Client): void {
    this.#client = client;
    client.closed.addEventListener("abort", () => this.#connectLater(), { once: true });
    const { locks = [], waits = [] } = client.resumed ?? {};
    for (const lock of locks) this.inherit(lock);
    this.#watching.begin(client);
    for (const { owner, lock, keys } of waits) {
      const what = inheritedWait(keys);
      const onError = (error: unknown): void => this.calls.judge(what, error, WAIT_CODES);
      this.calls.track({ what, owner: owner.id }, lock, (given) => this.inherit(given), onError);
    }
  }

  // Acting.

  #actLater(): void {
    const { plan, random, simulation } = this.#world;
    simulation.after(plan.thinkMs * 2 * random.next(), () => {
      this.#life.deliver(() => {
        this.#act();
        this.#actLater();
      });
    });
  }

  #act(): void {
    if (this.#isLeaving) return;
    for (const what of this.holds.contradictions) this.calls.broken("one answer", what);
    this.#heed.demandHeed();
    const client = this.#client;
    const { isDraining } = this.#world.client;
    if (!isDraining) this.#writes.write();
    if (client === undefined || client.closed.aborted) return;
    if (isDraining) this.#giveEverythingBack();
    else if (this.#world.mayAct()) this.#actions.perform(client);
  }

  /** But not what a task holds that stands still: those who wait for each other must be told. */
  #giveEverythingBack(): void {
    for (const hold of this.holds.held) {
      if (!this.calls.isBlocked(hold.owner)) this.holds.release(hold);
    }
  }
}
