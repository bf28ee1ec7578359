/**
 * What follows the storm: first a majority is healed, then every node, and then the power fails
 * for the last time.
 */
import type { RunChecks } from "../checks/run-checks.js";
import type { Story } from "../checks/story.js";
import { Violation } from "../checks/violation.js";
import type { WorldClient } from "../clients/world-client.js";
import type { SimPlan } from "../plan/plan.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { SimWorld } from "../world/sim-world.js";
import { OddNodeEnd } from "./odd-node.js";
import { Rest } from "./rest.js";

/** Until a healthy majority has executed something new for a client. */
const PROGRESS_MS_MAX = 6_000;
/**
 * In election timeouts: until a cluster that nobody heals is at rest. A snapshot that was refused
 * again and again is offered after up to 64 of them.
 */
const UNCURED_TIMEOUTS = 100;
/** Until everybody agrees, or every waiter is served. */
const REST_MS_MAX = 15_000;
/** How often each owner at doors may act in a calm. */
const CALM_ACTIONS = 200;
/** What clients that prefer the majority may ask for while it proves itself. */
const PROBING_ACTIONS = 200;

export class Healing {
  readonly #plan: SimPlan;
  readonly #world: SimWorld;
  readonly #checks: RunChecks;
  readonly #story: Story;
  readonly #rest: Rest;

  constructor(plan: SimPlan, world: SimWorld, checks: RunChecks, story: Story) {
    this.#plan = plan;
    this.#world = world;
    this.#checks = checks;
    this.#story = story;
    this.#rest = new Rest(plan, world, checks);
  }

  async run(): Promise<void> {
    this.#say("the storm is over");
    for (const { disk } of this.#world.nodes) disk.weather.heal();
    const mend = await (this.#plan.uncured === undefined ? this.#healMajority() : this.#wait());
    this.#say("everything is healed");
    mend();
    for (const { id } of this.#world.nodes) this.#world.ensure(id);
    await this.#rest.until("agreement", () => this.#rest.isAgreed(), REST_MS_MAX);
    await this.#demandAccess();
    await this.#passCalm();
    await this.#drain();
    await this.#lastCrash();
  }

  /** The rest stays broken. Returns what takes that back. */
  async #healMajority(): Promise<() => void> {
    const mend = this.#breakOthers();
    await this.#demandProgress();
    return mend;
  }

  /** Only time passes. Returns what takes back what broke meanwhile. */
  async #wait(): Promise<() => void> {
    const { oddNode } = this.#plan.uncured ?? {};
    const end = new OddNodeEnd(this.#world, this.#checks, this.#rest);
    await this.#demandRest();
    if (oddNode === undefined) return () => {};
    const left = await end.begin(oddNode);
    if (left !== undefined) {
      this.#say(`the leader is dead, and nodes ${left.map(({ id }) => id)} are left`);
      await this.#demandRest(left);
    }
    return () => end.end();
  }

  /** There is a leader, `nodes` have caught up, and no client is left without an answer. */
  async #demandRest(nodes?: readonly SimNode[]): Promise<void> {
    const { clients, tuning } = this.#world;
    const rest = this.#rest;
    const limitMs = tuning.electionTimeoutMs * UNCURED_TIMEOUTS;
    await rest.until("agreement without a cure", () => rest.isAgreed(nodes), limitMs);
    // Some are not let in.
    if (this.#plan.access !== undefined) return;
    const unserved = new Map(clients.map((client) => [client, client.answeredCount]));
    for (const client of clients) client.allow(PROBING_ACTIONS);
    const isServed = (): boolean => {
      for (const [client, count] of unserved) {
        const isAnswered = client.answeredCount > count || this.#hasAllAnswers(client);
        if (isAnswered) unserved.delete(client);
      }
      return unserved.size === 0;
    };
    const quietMs = this.#plan.restore?.quietMs ?? 0;
    await rest.until("answer to each client", isServed, PROGRESS_MS_MAX + quietMs);
  }

  /** It has a session, and nothing that it asked is open but waits in the table. */
  #hasAllAnswers({ session, isAsking, isWaiting }: WorldClient): boolean {
    if (session === 0 || isAsking) return false;
    return !isWaiting || this.#rest.waitsInTable(session);
  }

  /** Returns what takes it back. */
  #breakOthers(): () => void {
    const { healthy, others } = this.#plan;
    const world = this.#world;
    for (const id of healthy) world.ensure(id);
    const { nodeCount } = this.#plan;
    const broken = world.nodes.filter(({ id }) => id <= nodeCount && !healthy.includes(id));
    const undo: (() => void)[] = [];
    for (const node of broken) {
      const { id } = node;
      this.#say(`node ${id} stays ${others}`);
      if (others === "down") {
        world.hold(id);
        node.crash("kill");
        undo.push(() => world.letGo(id));
      } else if (others === "paused") {
        node.pause();
        undo.push(() => node.resume());
      } else if (others === "cut" || others === "deaf") {
        for (const { id: other } of world.nodes) {
          if (other === id) continue;
          world.paths.cut(other, id);
          undo.push(() => world.paths.mend(other, id));
          if (others === "deaf") continue;
          world.paths.cut(id, other);
          undo.push(() => world.paths.mend(id, other));
        }
      }
    }
    return () => {
      for (const task of undo) task();
    };
  }

  async #demandProgress(): Promise<void> {
    const { clients } = this.#world;
    const { healthy } = this.#plan;
    const answered = (): number => clients.reduce((sum, client) => sum + client.answeredCount, 0);
    const before = answered();
    for (const client of clients) {
      client.prefer(this.#plan.spareCount > 0 ? this.#rest.sound.map(({ id }) => id) : healthy);
      client.allow(PROBING_ACTIONS);
      client.reconnect();
    }
    if (clients.length === 0) return;
    const quietMs = this.#plan.restore?.quietMs ?? 0;
    await this.#rest.until("progress", () => answered() > before, PROGRESS_MS_MAX + quietMs);
  }

  /** Who has a valid token, and may acquire anything, is served in the end. */
  async #demandAccess(): Promise<void> {
    const { administrator, stranger, keyring, clients } = this.#world;
    if (administrator === undefined || keyring === undefined) return;
    administrator.hurry(this.#rest.sound.map(({ id }) => id));
    await this.#rest.until("end of changes of access", () => administrator.isDone, REST_MS_MAX);
    stranger?.end();
    const { access } = this.#checks.witness;
    const left = new Set(
      clients.filter(({ host, plan }) => {
        const token = keyring.tokenOf(host);
        // The SDK connects with a token or without, from its beginning on.
        const isWaiting = plan.speaks === "sdk" && keyring.isNamed(host) && token === undefined;
        return !isWaiting && access.mayServe(token);
      }),
    );
    for (const client of left) client.reconnect();
    const isServed = (): boolean => {
      for (const client of left) if (client.session !== 0) left.delete(client);
      return left.size === 0 && access.dismissedCount === 0;
    };
    await this.#rest.until("session for each valid token", isServed, REST_MS_MAX);
  }

  /** Faults are over, and owners at doors go on: now they are answered, and nobody is overtaken. */
  async #passCalm(): Promise<void> {
    const { doorOwners, simulation } = this.#world;
    const { doors } = this.#plan;
    if (doors === undefined) return;
    this.#say("a calm");
    const nodes = this.#rest.sound.map(({ id }) => id);
    for (const owner of doorOwners) owner.calm(nodes, CALM_ACTIONS);
    await simulation.run(simulation.nowMs + doors.calmMs);
  }

  #demandEqualTables(): void {
    const sound = this.#rest.sound;
    const hashes = new Set(sound.map(({ assembled }) => assembled.table.hash()));
    if (hashes.size > 1) {
      throw new Violation("state machine safety", `tables differ: ${[...hashes].join(", ")}`);
    }
  }

  /** Everybody gives back what it holds; everybody who waited must have had a turn. */
  async #drain(): Promise<void> {
    const { clients, owners, doorOwners } = this.#world;
    for (const owner of [...owners, ...doorOwners]) owner.isDraining = true;
    for (const client of clients) {
      client.isDraining = true;
      client.prefer(this.#rest.sound.map(({ id }) => id));
    }
    await this.#rest.until(
      "every waiter is served",
      () => {
        const all = [...clients, ...owners, ...doorOwners];
        if (!all.every(({ isIdle }) => isIdle) || !this.#rest.isAgreed()) return false;
        if (!this.#checks.streams.isComplete) return false;
        const { holds, waiters, cooldowns } = this.#checks.witness.table.counts();
        return holds + waiters + cooldowns + this.#keptBytes === 0;
      },
      REST_MS_MAX,
    );
    this.#demandEqualTables();
  }

  /** Commands that nodes keep until they are applied. */
  get #keptBytes(): number {
    return this.#rest.sound.reduce(
      (sum, { assembled }) => sum + assembled.driver.status.keptBytes,
      0,
    );
  }

  /** Nothing that was ever acknowledged may depend on memory. */
  async #lastCrash(): Promise<void> {
    this.#say("the power fails everywhere");
    const sound = this.#rest.sound;
    for (const node of sound) node.crash("power");
    for (const { id } of sound) this.#world.ensure(id);
    await this.#rest.until(
      "agreement after the last crash",
      () => this.#rest.isAgreed(),
      REST_MS_MAX,
    );
    this.#demandEqualTables();
  }

  #say(text: string): void {
    this.#story.tell(() => text);
  }
}
