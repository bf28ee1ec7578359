/**
 * An operator who brings a node back whose data are damaged or lost, in the order of `holdfast
 * recover`: the cluster stops counting on the node; when that is committed, its data are set
 * aside; then it starts, catches up, and is promoted. An interrupted step is repeated.
 */
import { OP } from "../../../src/protocol/index.js";
import type { SimNode } from "./node/sim-node.js";
import type { SimWorld } from "./sim-world.js";

const STEP_MS = 40;
/** An operator asks for so long by himself. */
const ASK_EVERY_MS = 800;
const PROMOTE_AFTER_MS = 300;

export class Recovery {
  readonly #world: SimWorld;
  readonly #node: SimNode;
  #askAtMs = 0;
  #hasBegun = false;
  /** Nothing more is asked of the cluster; what was begun on the machine is ended. */
  #isOver = false;
  #isDone = false;

  constructor(world: SimWorld, node: SimNode) {
    this.#world = world;
    this.#node = node;
  }

  /** `isLost`: nothing is left on the disk. */
  begin(isLost: boolean): void {
    this.#world.hold(this.#node.id);
    this.#node.takeDown();
    if (isLost) this.#node.wipe();
    this.#step();
  }

  /** The storm is over. Who forgot what it promised is not started before it is recovered. */
  end(): void {
    this.#isOver = true;
    if (!this.#isDone && !this.#node.isForgetful) this.#finish();
  }

  #step(): void {
    if (this.#isDone) return;
    if (this.#hasBegun && !this.#node.isForgetful) {
      this.#finish();
      this.#world.simulation.after(PROMOTE_AFTER_MS, () => this.#ask("promote"));
      return;
    }
    if (this.#node.state === "down") this.#go();
    this.#world.simulation.after(STEP_MS, () => this.#step());
  }

  #finish(): void {
    this.#isDone = true;
    this.#world.letGo(this.#node.id);
  }

  #go(): void {
    const incarnation = this.#incarnationOfLearner();
    if (incarnation === undefined) {
      if (this.#world.simulation.nowMs < this.#askAtMs) return;
      this.#askAtMs = this.#world.simulation.nowMs + ASK_EVERY_MS;
      this.#ask("demote");
      return;
    }
    // What cannot be told from the data of another version is moved away by hand.
    if (this.#hasBegun && this.#node.mayBeDamaged) this.#node.wipe();
    this.#hasBegun = true;
    this.#node.recover(incarnation);
  }

  /** As the leader knows it, once it is committed that nobody counts on the node. */
  #incarnationOfLearner(): number | undefined {
    const leader = this.#world.node(this.#world.leaderId);
    if (leader.state !== "running" || leader.assembled.raft.role !== "leader") return undefined;
    const { driver } = leader.assembled;
    const { learners } = driver.appliedConfiguration;
    if (!learners.includes(this.#node.id)) return undefined;
    const { members } = driver.membersView() as MembersView;
    return members.find(({ id }) => id === this.#node.id)?.incarnation;
  }

  #ask(action: "demote" | "promote"): void {
    if (this.#isOver) return;
    this.#world.operator.ask({
      op: OP.changeMember,
      action,
      node: this.#node.id,
      address: undefined,
    });
  }
}

interface MembersView {
  readonly members: readonly { readonly id: number; readonly incarnation: number }[];
}
