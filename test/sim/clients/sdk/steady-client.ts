/**
 * An application that does the same over and over: it waits for a lock that others of its kind want too,
 * keeps it for a moment, releases it, tries for one that nobody else wants, and reads. Each call must
 * succeed, and in time (`service-law.ts`); only a limit that the plan has set may refuse it.
 */
import type { RandomStream, RandomStreams } from "../../../../lab/random-stream.js";
import { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { CLIENT_DEFAULTS, type Client, connectOn } from "../../../../src/client/index.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import type { Simulation } from "../../engine/simulation.js";
import type { ClientNetwork } from "../../world/network/client-network.js";
import { driftingClock } from "../../world/node/drifting-clock.js";
import { endpointOf, SdkPlatform } from "../../world/node/sdk-platform.js";
import type { ClientWatch } from "../client-watch.js";
import { SdkEars } from "./sdk-ear.js";

const REST_MS_MAX = 400;
/** How long the common lock is kept, at most. */
export const KEPT_MS_MAX = 200;
const COMMON_KEY = "steady";
const LIMITS: ReadonlySet<string> = new Set(["QUEUE_FULL", "QUOTA"]);

export interface SteadySurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  readonly network: ClientNetwork;
  readonly nodes: readonly number[];
  readonly watch: ClientWatch;
  /** A call is made. Returns what is to be called when it has its result. */
  readonly onCalled: (what: string) => () => void;
  readonly onBroken: (what: string) => void;
}

export class SteadyClient {
  /** On the network. */
  readonly host: number;
  readonly #ttlMs: number;
  readonly #world: SteadySurroundings;
  readonly #random: RandomStream;
  readonly #platform: SdkPlatform;
  #isEnding = false;
  /** Its session has ended in peace. */
  isOver = false;
  /** How often it has done everything. */
  rounds = 0;

  constructor(host: number, ttlMs: number, world: SteadySurroundings) {
    const { simulation, streams, network, watch } = world;
    const clock = driftingClock(simulation, streams.of(`clock ${host}`));
    const ears = new SdkEars(this, watch, { answeredCount: 0 }, clock);
    this.host = host;
    this.#ttlMs = ttlMs;
    this.#world = world;
    this.#random = streams.of(`steady ${host}`);
    this.#platform = new SdkPlatform({
      host,
      life: new ProcessLife(simulation),
      clock,
      countsSleep: true,
      network,
      random: streams.of(`platform ${host}`),
      listen: (node) => ears.listen(node),
    });
  }

  start(): void {
    this.#live().catch((error: unknown) => this.#world.onBroken(`${this.name}: ${String(error)}`));
  }

  /** It closes its client when it has done everything once more. */
  end(): void {
    this.#isEnding = true;
  }

  /** For people. */
  get name(): string {
    return `client ${this.host}, lease ${this.#ttlMs} ms`;
  }

  async #live(): Promise<void> {
    const { nodes } = this.#world;
    const endpoints = nodes.map((node) => endpointOf(node, false));
    const settings = { ...CLIENT_DEFAULTS, endpoints, ttlMs: this.#ttlMs, name: this.name };
    const client = await this.#call("connect", connectOn(this.#platform, settings));
    while (!this.#isEnding) {
      await this.#goRound(client).catch((error: unknown) => {
        if (!isOfLimit(error)) throw error;
      });
      this.rounds += 1;
      await this.#world.simulation.sleep(this.#random.integer(1, REST_MS_MAX));
    }
    await this.#call("close", client.close());
    this.isOver = true;
  }

  async #goRound(client: Client): Promise<void> {
    const { simulation } = this.#world;
    const waited = client.acquire(COMMON_KEY, { waitMs: Number.POSITIVE_INFINITY });
    const lock = await this.#call("wait", waited);
    await simulation.sleep(this.#random.integer(1, KEPT_MS_MAX));
    await this.#call("release", lock.release());
    const tried = await this.#call("try", client.tryAcquire(`${COMMON_KEY} ${this.host}`));
    if (tried === undefined) throw new Error("somebody else has what nobody else wants");
    await this.#call("release", tried.release());
    await this.#call("inspect", client.inspect(COMMON_KEY));
  }

  async #call<T>(what: string, result: Promise<T>): Promise<T> {
    const onOver = this.#world.onCalled(`${this.name}: ${what}`);
    const value = await result.catch((error: unknown) => {
      if (isOfLimit(error)) onOver();
      throw error;
    });
    onOver();
    return value;
  }
}

/** A setting of the table that a plan has changed refuses the call. */
function isOfLimit(error: unknown): boolean {
  return error instanceof HoldfastError && LIMITS.has(error.code);
}
