/**
 * When the storm of a timed plan is over one node falls silent, and applications with leases of all lengths
 * must be served all the same, and in time.
 */
import type { RunChecks } from "../checks/run-checks.js";
import type { Story } from "../checks/story.js";
import { ServiceLaw } from "../checks/time/service-law.js";
import { timeBoundsOf } from "../checks/time/time-bounds.js";
import { Violation } from "../checks/violation.js";
import { KEPT_MS_MAX, type SteadyClient } from "../clients/sdk/steady-client.js";
import { SIGHTINGS } from "../clients/sightings.js";
import { LEADER } from "../plan/fault.js";
import type { SimPlan } from "../plan/plan.js";
import type { SilencePlan } from "../plan/silence-plan.js";
import type { SimWorld } from "../world/sim-world.js";

/** Until every application has been served once. */
const BEGIN_MS_MAX = 10_000;
/** Until all have ended in peace. */
const END_MS_MAX = 15_000;
/** The silence goes on for so long when everybody must have been served. */
const BEYOND_MS = 500;
/** Commands and answers of one who has the common lock, until the next one has it. */
const TURNS_OF_A_HOLD = 10;

export class Silence {
  readonly #silence: SilencePlan;
  readonly #world: SimWorld;
  readonly #checks: RunChecks;
  readonly #story: Story;
  readonly #law: ServiceLaw;
  readonly #electionMs: number;
  readonly #clients: readonly SteadyClient[];

  constructor(
    plan: SimPlan,
    silence: SilencePlan,
    world: SimWorld,
    checks: RunChecks,
    story: Story,
  ) {
    this.#silence = silence;
    this.#world = world;
    this.#checks = checks;
    this.#story = story;
    const fail = (rule: string, message: string): void => {
      world.simulation.fail(new Violation(rule, message));
    };
    const bounds = timeBoundsOf(plan, world.tuning);
    const holdMs = KEPT_MS_MAX + TURNS_OF_A_HOLD * bounds.commitMs;
    const law = new ServiceLaw(world.simulation, silence.ttlsMs.length * holdMs, fail);
    this.#law = law;
    this.#electionMs = silence.node === LEADER ? bounds.silentMs : 0;
    this.#clients = silence.ttlsMs.map((ttlMs) => {
      return world.steadyClient(ttlMs, {
        onCalled: (what) => law.onCalled(what),
        onBroken: (what) => fail("served in spite of a silent node", what),
      });
    });
  }

  async run(): Promise<void> {
    for (const client of this.#clients) client.start();
    await this.#until("service of all", ({ rounds }) => rounds > 0, BEGIN_MS_MAX);
    const undo = this.#begin();
    const { simulation } = this.#world;
    // Otherwise a client that waits for the end of the silence would still be served in time.
    const forMs = Math.max(this.#silence.forMs, this.#law.limitMs + BEYOND_MS);
    await simulation.run(simulation.nowMs + forMs);
    undo();
    for (const client of this.#clients) client.end();
    await this.#until("end of all", ({ isOver }) => isOver, END_MS_MAX);
  }

  /** Returns what takes it back. */
  #begin(): () => void {
    const { how, node: place } = this.#silence;
    const { nodes, paths } = this.#world;
    const node = this.#world.node(this.#world.idAt(place));
    this.#story.tell(() => `node ${node.id} falls silent (${how})`);
    this.#checks.onSeen(SIGHTINGS.silence);
    this.#law.onSilence(this.#electionMs);
    const hosts = nodes.map(({ id }) => id).filter((id) => id !== node.id);
    const undo: (() => void)[] = [];
    if (how === "cut") hosts.push(...this.#clients.map(({ host }) => host));
    else {
      node.pause();
      undo.push(() => node.resume());
    }
    if (how !== "pause") {
      for (const host of hosts) {
        paths.cut(host, node.id);
        paths.cut(node.id, host);
        undo.push(() => {
          paths.mend(host, node.id);
          paths.mend(node.id, host);
        });
      }
    }
    return () => {
      for (const task of undo) task();
    };
  }

  async #until(
    what: string,
    isDone: (client: SteadyClient) => boolean,
    limitMs: number,
  ): Promise<void> {
    const { simulation } = this.#world;
    const isReached = (): boolean => this.#clients.every(isDone);
    if (await simulation.run(simulation.nowMs + limitMs, isReached)) return;
    const left = this.#clients.filter((client) => !isDone(client)).map(({ name }) => name);
    throw new Violation("progress", `no ${what} within ${limitMs} ms: ${left.join("; ")}`);
  }
}
