/**
 * Whether a cluster has come to rest: a voter leads, and everybody that counts has applied the same log.
 * It looks, and changes nothing.
 */
import { membersOf } from "../../../src/raft/index.js";
import type { RunChecks } from "../checks/run-checks.js";
import { Violation } from "../checks/violation.js";
import type { SimPlan } from "../plan/plan.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { SimWorld } from "../world/sim-world.js";

export class Rest {
  readonly #plan: SimPlan;
  readonly #world: SimWorld;
  readonly #checks: RunChecks;

  constructor(plan: SimPlan, world: SimWorld, checks: RunChecks) {
    this.#plan = plan;
    this.#world = world;
    this.#checks = checks;
  }

  /** The members whose disks are sound, and what they had on them. */
  get sound(): SimNode[] {
    const members = membersOf(this.#world.members);
    return this.#world.nodes.filter(({ id, state, isForgetful }) => {
      return members.includes(id) && !isForgetful && state !== "quarantined" && state !== "removed";
    });
  }

  /** `nodes`: those that count. */
  isAgreed(nodes: readonly SimNode[] = this.sound): boolean {
    const [first] = nodes;
    if (first === undefined || nodes.some(({ state }) => state !== "running")) return false;
    const index = first.assembled.raft.lastIndex;
    const { voters } = this.#world.members;
    return nodes.every(({ assembled: { driver } }) => {
      const { appliedIndex, lastIndex, leader } = driver.status;
      return appliedIndex === index && lastIndex === index && voters.includes(leader);
    });
  }

  /** Whether a session is in the queue of a key. */
  waitsInTable(session: number): boolean {
    const { keys, semaphores } = this.#plan;
    const { table } = this.#checks.witness;
    return [...keys, ...semaphores.map(({ key }) => key)].some((key) => {
      return table.inspect(key).waiters.some((waiter) => waiter.session === session);
    });
  }

  async until(what: string, isReached: () => boolean, limitMs: number): Promise<void> {
    const { simulation } = this.#world;
    if (await simulation.run(simulation.nowMs + limitMs, isReached)) return;
    throw new Violation("progress", `no ${what} within ${limitMs} ms: ${this.#standing()}`);
  }

  #standing(): string {
    const nodes = this.#world.nodes.map(({ id, state, raftOrNone: raft }) => {
      if (raft === undefined) return `node ${id} ${state}`;
      const { role, term, leader, lastIndex, commitIndex, appliedIndex } = raft;
      return `node ${id} ${role} ${term} of ${leader}, ${lastIndex}/${commitIndex}/${appliedIndex}`;
    });
    const { owners, doorOwners } = this.#world;
    const all = [...this.#world.clients, ...owners, ...doorOwners];
    const clients = all.filter(({ isIdle }) => !isIdle);
    const keys = this.#plan.keys.map((key) => `${key}: ${this.#checks.witness.viewOf(key)}`);
    return [
      ...nodes,
      ...keys,
      ...clients.map(({ host, business }) => `client ${host}: ${business}`),
    ].join("; ");
  }
}
