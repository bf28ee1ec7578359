/**
 * Faults in the data of one node that take several steps: its disk decays while it leads, an
 * operator brings it back, an old copy of the data replaces them, or another version of Holdfast
 * runs on them.
 */
import { OP } from "../../../src/protocol/index.js";
import type { Fault } from "../plan/fault.js";
import type { CrashKind } from "./disk/node-disk.js";
import type { SimNode } from "./node/sim-node.js";
import { Recovery } from "./recovery.js";
import type { SimWorld } from "./sim-world.js";

export interface DataLossMeans {
  crash(id: number, kind: CrashKind, downMs: number): void;
  cut(from: number, to: number, forMs: number): void;
  damaged(node: SimNode, done: readonly string[]): void;
  /** Never, once the storm is over. */
  later(delayMs: number, task: () => void): void;
  undoAtEnd(undo: () => void): void;
  /** When the storm is over at the latest. */
  undoAfter(delayMs: number, undo: () => void): void;
}

type RotFault = Extract<Fault, { readonly kind: "rot" }>;
type OldCopyFault = Extract<Fault, { readonly kind: "oldCopy" }>;
type OtherVersionFault = Extract<Fault, { readonly kind: "otherVersion" }>;

export class DataLoss {
  readonly #world: SimWorld;
  readonly #means: DataLossMeans;

  constructor(world: SimWorld, means: DataLossMeans) {
    this.#world = world;
    this.#means = means;
  }

  rot(node: SimNode, { bits, keys, away, forMs }: RotFault): void {
    const { operator, nodes } = this.#world;
    operator.ask({ op: OP.transfer, node: node.id });
    this.#means.later(forMs, () => {
      if (node.state !== "running") return;
      this.#means.damaged(node, [...node.disk.flipBits(bits), ...node.disk.loseKeys(keys)]);
    });
    for (const { id } of nodes) if (id !== away) this.#means.cut(id, away, forMs);
  }

  recover(node: SimNode, isLost: boolean): void {
    if (node.state === "removed") return;
    const recovery = new Recovery(this.#world, node);
    this.#means.undoAtEnd(() => recovery.end());
    recovery.begin(isLost);
  }

  /** Refused for as long as it was started less often than the others know: an operator sees to that. */
  putOldCopyBack(node: SimNode, { starts, everyMs, downMs }: OldCopyFault): void {
    if (node.state !== "running" || node.isForgetful || node.mayBeDamaged) return;
    const copy = node.disk.copy();
    const { incarnation } = node;
    const { crash, later } = this.#means;
    for (let at = 1; at <= starts; at += 1) {
      later(at * everyMs, () => crash(node.id, "kill", downMs));
    }
    later((starts + 1) * everyMs, () => {
      const others = this.#world.nodes.filter(({ id }) => id !== node.id);
      const known = Math.min(...others.map(({ noted }) => noted.startOf(node.id)));
      if (node.isForgetful || node.state === "quarantined" || known <= incarnation + 1) return;
      crash(node.id, "power", downMs);
      node.putBack(copy, known - incarnation - 1);
    });
  }

  /** No version reads the data of another one: each begins with an empty directory. */
  runOther(node: SimNode, { by, forMs }: OtherVersionFault): void {
    const run = (versionOffset: number): void => {
      this.#world.hold(node.id);
      node.takeDown();
      node.begin(versionOffset);
      this.#world.letGo(node.id);
    };
    run(by);
    this.#means.undoAfter(forMs, () => run(0));
  }
}
