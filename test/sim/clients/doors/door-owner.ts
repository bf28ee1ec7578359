/**
 * A program that has leases by a door and knows nothing of the protocol: what owners of HTTP and of Redis
 * have in common. It counts on a lease by its own clock, as the answers say. While the cluster is calm
 * every request must be answered, and the laws of doors apply.
 */
import type { RandomStream, RandomStreams } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { DoorLaws } from "../../checks/locks/door-laws.js";
import type { Simulation } from "../../engine/simulation.js";
import type { DoorOwnerPlan } from "../../plan/doors-plan.js";
import type { ClientNetwork } from "../../world/network/client-network.js";
import { driftingClock } from "../../world/node/drifting-clock.js";
import type { ClientWatch } from "../client-watch.js";
import { GuardedWrites } from "../guarded-writes.js";
import type { LeaseBelief, Owner } from "../leases/lease-belief.js";
import { SIGHTINGS } from "../sightings.js";
import type { LinesOwner } from "./redis-lines.js";

const LATE_MS = { least: 50, most: 500 } as const;
const PAUSE_MS = { least: 50, most: 2_000 } as const;

export interface DoorOwnerSurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  readonly network: ClientNetwork;
  readonly watch: ClientWatch;
  readonly laws: () => DoorLaws;
  /** Keys of locks that clients with sessions take, too. */
  readonly keys: readonly string[];
  readonly isFair: boolean;
}

export abstract class DoorOwner implements Owner {
  readonly plan: DoorOwnerPlan;
  readonly host: number;
  protected readonly world: DoorOwnerSurroundings;
  protected readonly random: RandomStream;
  readonly #clock: ProcessClock;
  readonly #life: ProcessLife;
  readonly #writes: GuardedWrites;
  #actionsLeft: number;
  #nodes: readonly number[];
  /** Faults are over. */
  isCalm = false;
  /** Gives everything back and asks for nothing more. */
  isDraining = false;

  constructor(plan: DoorOwnerPlan, world: DoorOwnerSurroundings) {
    const { host, mix, actions } = plan;
    const { streams, simulation, watch } = world;
    this.plan = plan;
    this.host = host;
    this.world = world;
    this.random = streams.of(`owner ${host}`);
    this.#clock = driftingClock(simulation, streams.of(`clock ${host}`));
    this.#life = new ProcessLife(simulation);
    this.#writes = new GuardedWrites(streams.of(`writes ${host}`), mix.write, watch);
    this.#actionsLeft = actions;
    this.#nodes = plan.nodes;
  }

  /** What it counts on at this moment. */
  abstract get trusted(): readonly LeaseBelief[];

  /** Nothing asked, nothing counted on, and nothing left behind. */
  abstract get isIdle(): boolean;

  /** For people: what keeps it from being idle. */
  abstract get business(): string;

  /** By its own clock. */
  get nowMs(): number {
    return this.#clock.nowMs();
  }

  start(): void {
    this.world.simulation.after(this.plan.startMs, () => this.#live());
  }

  /** Faults are over, and these nodes serve. It may act so often from now on. */
  calm(nodes: readonly number[], actions: number): void {
    const known = this.#nodes.filter((node) => nodes.includes(node));
    const others = nodes.filter((node) => !known.includes(node));
    this.#nodes = [...known, ...others].slice(0, 2);
    this.#actionsLeft = actions;
    this.isCalm = true;
    this.reconnect();
  }

  /** What it connected to may have ended without a word. */
  protected reconnect(): void {}

  /** Begins something, or goes on with it. */
  protected abstract act(): void;

  /** One step towards being idle. */
  protected abstract drain(): void;

  protected later(delayMs: number, task: () => void): void {
    this.world.simulation.after(delayMs, () => this.deliver(task));
  }

  /** For connections to doors of Redis. */
  protected linesOwner(): LinesOwner {
    const { simulation, network } = this.world;
    return {
      ...{ host: this.host, simulation, network },
      isCalm: () => this.isCalm,
      lateMs: () => this.lateMs(),
      later: (delayMs, task) => this.later(delayMs, task),
      note: (text) => this.note(text),
    };
  }

  protected deliver(task: () => void): void {
    this.#life.deliver(task);
  }

  /** How much later than it arrives an answer is heard. */
  protected lateMs(): number {
    if (!this.random.chance(this.plan.mix.late)) return 0;
    return this.random.integer(LATE_MS.least, LATE_MS.most);
  }

  protected node(): number {
    const [one = 1, other = one] = this.#nodes;
    return this.random.chance(this.plan.mix.other) ? other : one;
  }

  /** The term in which an errand begins that must be answered; 0: none must. */
  protected get calmTerm(): number {
    return this.isCalm ? this.world.laws().settledTerm(this.world.simulation.nowMs) : 0;
  }

  protected believe(belief: LeaseBelief): void {
    this.#writes.learn(belief);
    this.world.watch.onBelief(belief);
  }

  /** Whether the answers that it got say that it has the lease, and nothing took it away untold. */
  protected counts(belief: LeaseBelief | undefined): belief is LeaseBelief {
    return belief?.isTrusted === true && !this.world.watch.isTorn(belief);
  }

  /** Whether it does something that plans did not always have. */
  protected does(share: number): boolean {
    return share > 0 && this.random.chance(share);
  }

  protected note(text: string): void {
    this.world.watch.onNote(this, text);
  }

  protected seen(what: string): void {
    this.world.watch.onSeen(SIGHTINGS.door(`${this.plan.speaks} ${what}`));
  }

  protected broken(rule: string, what: string): void {
    this.world.watch.onBroken(this, rule, what);
  }

  #live(): void {
    this.world.simulation.after(this.plan.thinkMs * 2 * this.random.next(), () => {
      this.deliver(() => {
        this.#turn();
        this.#live();
      });
    });
  }

  #turn(): void {
    if (this.isCalm) this.world.laws().settledTerm(this.world.simulation.nowMs);
    if (this.isDraining) {
      this.drain();
      return;
    }
    this.#writes.write();
    if (this.#actionsLeft <= 0) return;
    this.#actionsLeft -= 1;
    if (!this.isCalm && this.random.chance(this.plan.mix.pause)) this.#pause();
    else this.act();
  }

  /** It stands still, and what it counts on goes on ending. */
  #pause(): void {
    this.#life.pause();
    const forMs = this.random.integer(PAUSE_MS.least, PAUSE_MS.most);
    this.world.simulation.after(forMs, () => this.#life.resume());
  }
}
