/**
 * One process of an application: it connects, acts now and then, and uses what its locks guard. What it
 * asks for is `sdk-actions.ts`'s, what it has `sdk-holds.ts`'s, what it waits for `sdk-calls.ts`'s.
 */

import { ProcessLife } from "../../../../lab/simulated/process-life.js";
import {
  CLIENT_DEFAULTS,
  type Client,
  connectOn,
  type HandedOver,
  type Lock,
} from "../../../../src/client/index.js";
import type { ErrorCode } from "../../../../src/errors/index.js";
import { endpointOf, SdkPlatform } from "../../world/node/sdk-platform.js";
import { GuardedWrites } from "../guarded-writes.js";
import { SIGHTINGS } from "../sightings.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import { SdkActions } from "./sdk-actions.js";
import { SdkAdoptions } from "./sdk-adoptions.js";
import { SdkCalls } from "./sdk-calls.js";
import { SdkHeed } from "./sdk-heed.js";
import type { WantedModes } from "./sdk-hold.js";
import { SdkHolds } from "./sdk-holds.js";
import { SdkWatching } from "./sdk-watching.js";

const CONNECT_TIMEOUT_MS = 2_000;
const CONNECT_AGAIN_MS = 100;
/** The share of new watches whose connection breaks within `CUT_MS_MOST`. */
const CUT_SHARE = 0.7;
const CUT_MS_MOST = 8;
/** A process that is to hand everything over waits until it has this many holds, */
const HOLDS_TO_LEAVE = 2;
/** and asks this many times for more. */
const GATHERS = 15;

/** Why no client comes about. */
const GONE_CODES: readonly ErrorCode[] = ["UNAVAILABLE", "SESSION_EXPIRED", "FORBIDDEN", "QUOTA"];

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
  readonly #adoptions: SdkAdoptions;
  /** What another one handed over, as long as it was not asked for. */
  #left: HandedOver | undefined;
  #client: Client | undefined;
  /** It is to hand everything over, as soon as it has enough of it, */
  #leaveLater: (() => void) | undefined;
  /** for which it asks this many times more. */
  #gathers = 0;
  /** It hands everything over, and does nothing more. */
  #isLeaving = false;

  constructor(world: ProcessSurroundings, left: HandedOver | undefined) {
    const { plan, clock, ears, network, streams, watch } = world;
    this.#world = world;
    this.#left = left;
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
    this.#adoptions = new SdkAdoptions(world, this.calls, this.holds);
    this.#watching = new SdkWatching(world, this.#life, this.calls);
    this.#actions = new SdkActions(world, this);
    this.#heed = new SdkHeed(world, this.#life, this.calls, this.holds, (session) => {
      return this.#hasSession(session);
    });
    ears.process = this.#heed;
    this.#connect();
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
    const holds = this.holds.held.map(({ token, task }) => `${token} of ${task}`).join(", ");
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

  /**
   * Hands over what it has; if it `gathers`, as soon as that is enough. `onLeft` is called when the
   * process has done its work, with `undefined` if its session has ended. If nobody adopts what it
   * handed over, it goes on.
   */
  handOver(gathers: boolean, onLeft: (left: HandedOver | undefined) => void): void {
    if (this.#isLeaving) return;
    this.#gathers = gathers ? GATHERS : 0;
    this.#leaveLater = () => this.#leave(onLeft);
    this.#leaveIfReady();
  }

  #gather(client: Client): void {
    this.#gathers -= 1;
    this.#leaveIfReady();
    if (this.#leaveLater !== undefined) this.#actions.gather(client);
  }

  #leaveIfReady(): void {
    const leave = this.#leaveLater;
    if (this.#gathers > 0 && this.holds.held.length < HOLDS_TO_LEAVE) return;
    this.#leaveLater = undefined;
    leave?.();
  }

  #leave(onLeft: (left: HandedOver | undefined) => void): void {
    const client = this.#client;
    if (client === undefined || client.session === 0 || client.closed.aborted) {
      onLeft(undefined);
      return;
    }
    this.#isLeaving = true;
    this.#actions.performLast(client);
    const onHandedOver = (handed: HandedOver): void => {
      this.#world.watch.onSeen(SIGHTINGS.departed);
      onLeft(JSON.parse(JSON.stringify(handed)) as HandedOver);
    };
    this.#actions.handOverAll(client, onHandedOver, () => {
      this.#isLeaving = false;
      if (this.#client === undefined) this.#connectLater();
    });
  }

  /** Ends the session in peace, and begins another one. */
  close(client: Client): void {
    this.calls.track({ what: "close", task: 0 }, client.close(), () => {});
  }

  /** A lock that it was given, as `wanted`. */
  take(lock: Lock, wanted: WantedModes, isCapped: boolean): void {
    this.holds.take(lock, this.session, wanted, isCapped);
  }

  /** Adopts what somebody else had. */
  adopt(client: Client, handed: HandedOver): void {
    this.#adoptions.adopt(client, handed);
  }

  // Connecting.

  #connect(): void {
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
    };
    connectOn(this.#platform, settings).then(
      (client) => this.#onConnected(client),
      (error) => {
        this.calls.judge("connect", error, GONE_CODES);
        this.#connectLater();
      },
    );
  }

  #connectLater(): void {
    this.#client = undefined;
    if (this.#isLeaving) return;
    this.#world.simulation.after(CONNECT_AGAIN_MS, () => {
      this.#life.deliver(() => this.#connect());
    });
  }

  #onConnected(client: Client): void {
    this.#client = client;
    client.closed.addEventListener("abort", () => this.#connectLater(), { once: true });
    this.#watching.begin(client);
    const left = this.#left;
    this.#left = undefined;
    if (left !== undefined) this.adopt(client, left);
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
    else if (this.#leaveLater !== undefined) this.#gather(client);
    else if (this.#world.mayAct()) this.#actions.perform(client);
  }

  /** Except what a blocked task holds: tasks that wait for each other must get an error. */
  #giveEverythingBack(): void {
    for (const hold of this.holds.held) {
      if (!this.calls.isBlocked(hold.task)) this.holds.release(hold);
    }
  }
}
