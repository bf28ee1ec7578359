/**
 * The end of one cluster and the beginning of another: everything is stopped for good, a new
 * cluster is restored on the same machines from what was saved while the first one lived, and
 * its nodes are started; the old directory of one machine may be left for a while. Clients are not
 * notified: they find another cluster where theirs was.
 */
import type { RestoredNode } from "../../../src/server/index.js";
import type { RunChecks } from "../checks/run-checks.js";
import type { Story } from "../checks/story.js";
import { Violation } from "../checks/violation.js";
import type { SimPlan } from "../plan/plan.js";
import type { RestorePlan } from "../plan/restore-plan.js";
import { restoredCluster } from "../world/founders.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { RestoreCommand, RestoreRunEvents } from "../world/restore-command.js";
import type { SimWorld } from "../world/sim-world.js";
import type { SnapshotSaver } from "../world/snapshot-saver.js";

/** All machines together; a disk may be slow. */
const RESTORE_MS_MAX = 10_000;
const STEP_MS = 40;

export class Restoration {
  readonly #plan: SimPlan;
  readonly #restore: RestorePlan;
  readonly #world: SimWorld;
  readonly #checks: RunChecks;
  readonly #story: Story;
  readonly #saver: SnapshotSaver;
  readonly #done = new Set<number>();
  #restored: RestoredNode | undefined;

  constructor(
    plan: SimPlan,
    restore: RestorePlan,
    world: SimWorld,
    checks: RunChecks,
    story: Story,
  ) {
    this.#plan = plan;
    this.#restore = restore;
    this.#world = world;
    this.#checks = checks;
    this.#story = story;
    this.#saver = world.saver({
      committedIndex: () => checks.raft.committedIndex,
      onSaved: (index, committedIndex) => checks.onSaved(index, committedIndex),
      onBroken: (what) => world.simulation.fail(new Violation("no failure without a cause", what)),
    });
  }

  /** Before the storm: somebody will save a snapshot in it. */
  begin(): void {
    const { saveAtMs, isStale } = this.#restore;
    this.#world.simulation.at(saveAtMs, () => this.#saver.begin(isStale));
  }

  /**
   * When the storm is over. Resolves when the founders of the new cluster run, to what the plan says of
   * the rest; `undefined`: nothing was ever saved, and all is as before.
   */
  async run(): Promise<SimPlan | undefined> {
    const { stop, stoppedMs, nodeCount, healthy } = this.#restore;
    this.#saver.end();
    const { file } = this.#saver;
    if (file === undefined) return undefined;
    const { simulation } = this.#world;
    const startMs = simulation.nowMs + stoppedMs;
    const forgotten = this.#forgotten();
    this.#story.tell(() => `the cluster is stopped for good (${stop}), ${forgotten} is forgotten`);
    this.#world.stopAll(stop);
    for (const { disk } of this.#world.nodes) disk.weather.heal();
    await this.#restoreAll(this.#command(file), forgotten);
    await simulation.run(Math.max(startMs, simulation.nowMs));
    for (let id = 1; id <= nodeCount; id += 1) this.#world.letGo(id);
    if (forgotten > 0) {
      simulation.after(this.#restore.forgottenMs, () => this.#notice(forgotten, file));
    }
    const all = this.#plan.nodeCount + this.#plan.spareCount;
    return { ...this.#plan, nodeCount, spareCount: all - nodeCount, healthy };
  }

  #command(file: Uint8Array): RestoreCommand {
    const { nodeCount, quietMs, tokenFloor } = this.#restore;
    const restoreId = `restored ${this.#plan.seed}`;
    return { file, nodeCount, restoreId, quietMs, tokenFloor };
  }

  /** Only a node that would come back as it was can pass for one that was restored. */
  #forgotten(): number {
    const { forgotten } = this.#restore;
    const node = this.#world.nodes.find(({ id }) => id === forgotten);
    const isSound = node?.state === "running" && !node.mayBeDamaged && !node.isForgetful;
    return isSound ? forgotten : 0;
  }

  async #restoreAll(command: RestoreCommand, forgotten: number): Promise<void> {
    const { simulation, nodes } = this.#world;
    const founders = nodes.filter(({ id }) => id <= command.nodeCount && id !== forgotten);
    for (const node of nodes) if (node.id !== forgotten) node.vacate();
    // Who is not cut short says what cluster it is.
    const [first] = founders;
    for (const { id } of founders) {
      this.#world.restoring(id, id !== first?.id, command, this.#events()).begin();
    }
    const isDone = (): boolean => founders.every(({ id }) => this.#done.has(id));
    if (!(await simulation.run(simulation.nowMs + RESTORE_MS_MAX, isDone))) {
      throw new Violation("restores", `nothing is restored within ${RESTORE_MS_MAX} ms`);
    }
    const node = this.#restored;
    if (node === undefined) throw new Error("nobody said what was restored");
    const { file, nodeCount, quietMs = 0, tokenFloor } = command;
    await this.#checks.onRestored({ node, file, nodeCount, quietMs, tokenFloor });
    const cluster = restoredCluster(node.clusterId, nodeCount);
    this.#world.found(cluster);
    for (const one of nodes) if (one.id !== forgotten) one.joinCluster(cluster);
  }

  #events(): RestoreRunEvents {
    return {
      onRestored: ({ id }, restored) => {
        this.#story.tell(() => `node ${id} is restored${restored === undefined ? " already" : ""}`);
        this.#restored ??= restored;
        const known = this.#restored?.clusterId;
        if (restored !== undefined && restored.clusterId !== known) {
          this.#fail(`node ${id} is of ${restored.clusterId}, another one of ${known}`);
        }
        this.#done.add(id);
      },
      onFailed: ({ id }, error) => this.#fail(`node ${id}: ${String(error)}`),
    };
  }

  #fail(what: string): void {
    this.#world.simulation.fail(new Violation("restores", what));
  }

  /** The operator finds that one machine was left out. */
  #notice(id: number, file: Uint8Array): void {
    const node = this.#world.node(id);
    this.#story.tell(() => `node ${id} is found to be on its old directory`);
    this.#world.replace(node);
    this.#world.restoring(id, true, this.#command(file), this.#events()).begin();
    this.#startWhenDone(node);
  }

  #startWhenDone(node: SimNode): void {
    if (this.#done.has(node.id)) this.#world.letGo(node.id);
    else this.#world.simulation.after(STEP_MS, () => this.#startWhenDone(node));
  }
}
