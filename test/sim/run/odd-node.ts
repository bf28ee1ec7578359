/**
 * A cluster at rest loses its leader just when the majority of the rest needs one node that is not
 * ready: it receives or takes up a snapshot, it had no room for one, or its becoming a voter has
 * just begun. Nobody does anything about it. Where the cluster does not come to such a state,
 * nothing is demanded.
 */
import { OP } from "../../../src/protocol/index.js";
import { type Configuration, isJoint } from "../../../src/raft/index.js";
import type { RunChecks } from "../checks/run-checks.js";
import { SIGHTINGS } from "../clients/sightings.js";
import type { OddNode } from "../plan/uncured-plan.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { SimWorld } from "../world/sim-world.js";
import type { Rest } from "./rest.js";

/** For each step that leads there. */
const STEP_MS_MAX = 2_000;
/**
 * In election timeouts: how long a node keeps what it was asked, and then the leader that it asks.
 */
const OPERATION_TIMEOUTS = 2 * 10;
/** Until a node without room has been offered a snapshot. */
const NO_ROOM_MS = 400;
/** What each client may ask for meanwhile: enough for a log that is too long to be kept. */
const ACTIONS = 60;

/** When `leader` is dead, all of `left` are needed. */
interface Scene {
  readonly leader: SimNode;
  readonly odd: SimNode;
  readonly left: readonly SimNode[];
}

export class OddNodeEnd {
  readonly #world: SimWorld;
  readonly #checks: RunChecks;
  readonly #rest: Rest;
  readonly #undo: (() => void)[] = [];

  constructor(world: SimWorld, checks: RunChecks, rest: Rest) {
    this.#world = world;
    this.#checks = checks;
    this.#rest = rest;
  }

  /** Resolves to who is left when the leader has died; `undefined`: it does not come to that. */
  async begin(kind: OddNode): Promise<readonly SimNode[] | undefined> {
    if (!(await this.#outlastOperations())) return undefined;
    const scene = kind === "joins" ? await this.#joining() : await this.#behind(kind);
    if (scene === undefined || this.#world.leaderId !== scene.leader.id) return undefined;
    this.#checks.onSeen(SIGHTINGS.oddNode(kind));
    this.#kill(scene.leader);
    return scene.left;
  }

  /** Everything is as it was before. */
  end(): void {
    this.#world.operator.end();
    for (const task of this.#undo) task();
  }

  /**
   * What the operator asked for in the storm may still be carried out, and must not remove a node from
   * the scene. Returns whether the cluster is at rest after that.
   */
  #outlastOperations(): Promise<boolean> {
    const { operator, simulation, tuning } = this.#world;
    const overMs = operator.lastAskedMs + OPERATION_TIMEOUTS * tuning.electionTimeoutMs;
    const isAtRest = (): boolean => simulation.nowMs >= overMs && this.#rest.isAgreed();
    return this.#step(isAtRest, Math.max(0, overMs - simulation.nowMs) + STEP_MS_MAX);
  }

  /** A voter is so far behind that it needs a snapshot. */
  async #behind(kind: Exclude<OddNode, "joins">): Promise<Scene | undefined> {
    const { voters } = this.#world.members;
    const others = this.#rest.sound.filter(({ id }) => {
      return voters.includes(id) && id !== this.#world.leaderId;
    });
    const neededCount = Math.floor(voters.length / 2) + 1;
    const [odd] = others;
    if (odd === undefined || others.length < neededCount) return undefined;
    const { leader, left } = this.#leave(others.slice(0, neededCount));
    const { weather } = odd.disk;
    const mend = this.#cutOff(odd);
    this.#act();
    const isBehind = await this.#step(() => {
      return (leader.raftOrNone?.baseIndex ?? 0) > (odd.raftOrNone?.lastIndex ?? 0);
    });
    if (!isBehind) return undefined;
    weather.isFull = kind === "lacksRoom";
    mend();
    if (kind === "lacksRoom") {
      await this.#step(() => false, NO_ROOM_MS);
      weather.isFull = false;
      return { leader, odd, left };
    }
    const isThere = (): boolean => {
      if (odd.state !== "running") return false;
      const { receiving, isRestoring } = odd.assembled.driver.status.snapshots;
      return kind === "restores" ? isRestoring : receiving !== undefined;
    };
    return (await this.#step(isThere)) ? { leader, odd, left } : undefined;
  }

  /** A node is about to become a voter. */
  async #joining(): Promise<Scene | undefined> {
    const { voters, learners } = this.#world.members;
    const odd = this.#world.nodes.find(({ id, state, isForgetful }) => {
      const isSound = (state === "down" || state === "running") && !isForgetful;
      return isSound && !voters.includes(id) && !learners.includes(id);
    });
    const others = this.#rest.sound.filter(({ id }) => {
      return voters.includes(id) && id !== this.#world.leaderId;
    });
    const beforeCount = Math.floor(voters.length / 2) + 1;
    const neededCount = Math.max(beforeCount, Math.floor((voters.length + 1) / 2));
    if (odd === undefined || others.length < neededCount) return undefined;
    const { leader, left } = this.#leave(others.slice(0, neededCount));
    const { operator } = this.#world;
    const { id: node } = odd;
    operator.goOn();
    this.#world.letGo(node);
    operator.ask({ op: OP.changeMember, action: "add", node, address: `node-${node}:1` });
    const isLearner = (): boolean => {
      const index = leader.raftOrNone?.commitIndex ?? 0;
      const isMember = configurationOf(leader)?.learners.includes(node) === true;
      return isMember && (odd.raftOrNone?.commitIndex ?? 0) >= index;
    };
    if (!(await this.#step(isLearner))) return undefined;
    operator.ask({ op: OP.changeMember, action: "promote", node, address: undefined });
    const isBegun = (): boolean => {
      const configuration = configurationOf(leader);
      return configuration !== undefined && isJoint(configuration);
    };
    if (!(await this.#step(isBegun))) return undefined;
    return { leader, odd, left: [...left, odd] };
  }

  /** The only voters that go on are the leader and `left`. */
  #leave(left: readonly SimNode[]): Omit<Scene, "odd"> {
    const leader = this.#world.node(this.#world.leaderId);
    for (const { id } of this.#rest.sound) {
      if (id !== leader.id && left.every((node) => node.id !== id)) {
        this.#kill(this.#world.node(id));
      }
    }
    return { leader, left };
  }

  #kill(node: SimNode): void {
    this.#world.hold(node.id);
    node.crash("kill");
    this.#undo.push(() => this.#world.letGo(node.id));
  }

  /** Returns what takes it back. */
  #cutOff({ id }: SimNode): () => void {
    const { nodes, paths } = this.#world;
    const others = nodes.filter((other) => other.id !== id);
    for (const other of others) {
      paths.cut(other.id, id);
      paths.cut(id, other.id);
    }
    let isMended = false;
    const mend = (): void => {
      if (isMended) return;
      isMended = true;
      for (const other of others) {
        paths.mend(other.id, id);
        paths.mend(id, other.id);
      }
    };
    this.#undo.push(mend);
    return mend;
  }

  #act(): void {
    for (const client of this.#world.clients) client.allow(ACTIONS);
  }

  #step(isReached: () => boolean, limitMs = STEP_MS_MAX): Promise<boolean> {
    const { simulation } = this.#world;
    return simulation.run(simulation.nowMs + limitMs, isReached);
  }
}

function configurationOf(node: SimNode): Configuration | undefined {
  return node.raftOrNone?.configuration;
}
