/**
 * Storms: clients acquire, release, cancel and move between nodes, while nodes crash, pause and are
 * cut off from each other. No promise is ever broken, and after the storm all nodes agree and every
 * waiter is served in its turn. A failure names its seed.
 */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/random-stream.js";
import {
  type MemberAction,
  OP,
  type Operation,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { runsOf } from "../../runs.js";
import { expectAgreement } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import { World, type WorldNode } from "../world/world.js";
import type { WorldOptions } from "../world/world-time.js";
import { type Call, ChaosClient } from "./chaos-client.js";

/** Storms of each kind. */
const RUNS = runsOf(2);
const STEPS = 150;
const CLIENTS = 5;
const KEYS = ["a", "b", "c"] as const;
/** Longer than any storm: nobody loses a lease by the storm alone. */
const TTL_MS = 600_000;
/** The TTL of the client that goes away for good. */
const DOOMED_TTL_MS = 5_000;
/** Leaders change often. */
const QUICK = { electionTimeoutMs: 120, heartbeatIntervalMs: 30, closedPeerDelayMs: 20 };
/** No room for more than a few commands: `BUSY` becomes an everyday answer. */
const NARROW = { ...QUICK, uncommittedBytesMax: 512, batchBytesMax: 256, pipelineEntriesMax: 1 };

/** Election timeouts that a request of an operator may take on each node. */
const OPERATION_WAIT_TIMEOUTS = 10;
/** The log is cut again and again: a node that was away is sent a snapshot. */
const SHORT = { ...QUICK, snapshotLogBytes: 1_500, trailingLogBytes: 300 };

class Storm {
  readonly world: World;
  readonly clients: ChaosClient[];
  readonly doomed: ChaosClient;
  readonly #random: () => number;
  readonly #hashes = new Map<number, string>();
  /** Asks for other members and leaders, where that belongs to the storm. */
  readonly #operator: TestClient;
  #lastOperation = 0;

  constructor(seed: number, options: Partial<WorldOptions>) {
    this.#random = seededRandom(seed);
    this.world = new World({ ...options, seed, diskMs: this.#below(9) });
    this.clients = Array.from(
      { length: CLIENTS },
      (_, i) => new ChaosClient(this.world, seed * 100 + i, TTL_MS),
    );
    this.#operator = this.world.client();
    // Tables are long in coming, and leaders fall meanwhile.
    if (this.#isOperated) for (const node of this.world.nodes) node.storeMs = 1 + this.#below(30);
    this.doomed = new ChaosClient(this.world, seed * 100 + CLIENTS, DOOMED_TTL_MS);
  }

  async rage(): Promise<void> {
    const { world } = this;
    world.startAll();
    for (let step = 0; step < STEPS; step += 1) {
      if (this.#isOperated && this.#random() < 0.1) await this.#operate();
      else if (this.#random() < 0.15) await this.#disturb();
      else if (step < STEPS / 3 && this.#random() < 0.1) this.#act(this.doomed);
      else this.#act(this.#pick(this.clients));
      await world.run(this.#below(4) === 0 ? this.#below(200) : this.#below(8));
      this.#compareTables();
      this.#checkLease();
      this.#buryRemoved();
    }
    this.doomed.disconnect();
  }

  /** Everything works again, and whatever was asked has its answer. */
  async calm(): Promise<void> {
    const { world, clients } = this;
    for (const node of world.nodes) if (!node.isRunning) await node.restart();
    world.network.heal();
    if (this.#isOperated) await this.#bringAllBack();
    await world.untilLeader();
    for (let round = 0; clients.some((client) => !client.isSettled); round += 1) {
      if (round > 20) throw new Error("clients are without an answer");
      for (const client of clients) {
        if (!client.isSettled) client.connect(this.#pick(world.nodes));
      }
      for (let i = 0; i < 20; i += 1) {
        await world.run(50);
        this.#checkLease();
      }
    }
    const untilMs = world.nowMs + DOOMED_TTL_MS + 2_000;
    while (world.nowMs < untilMs) {
      await world.run(50);
      this.#checkLease();
    }
  }

  /** Lets everybody release until nobody waits; returns the calls in the order of their grants. */
  async drain(): Promise<Call[]> {
    const before = new Set(this.clients.flatMap((client) => client.holds));
    const waiting = new Set(this.clients.flatMap((client) => client.waits));
    await this.world.until("every waiter is served and every lock free", () => {
      for (const client of this.clients) {
        if (!client.isSettled) continue;
        for (const hold of client.holds) client.end(hold);
      }
      const [first] = this.world.nodes;
      return (
        this.clients.every(
          (client) => client.isSettled && client.waits.length + client.holds.length === 0,
        ) && first?.table.counts().waiters === 0
      );
    });
    const served = [...waiting].filter((call) => !before.has(call) && call.token !== 0);
    return served.sort((a, b) => a.token - b.token);
  }

  get #isOperated(): boolean {
    return this.world.options.joinerCount > 0;
  }

  async #operate(): Promise<void> {
    const { world } = this;
    const running = world.nodes.filter((node) => node.isRunning);
    const node = this.#pickOrNone(running);
    if (node === undefined) return;
    if (this.#below(3) === 0 || this.#operator.hello === undefined) this.#operator.connect(node);
    const { id } = this.#pick(world.nodes);
    switch (this.#below(8)) {
      case 0:
        this.#ask({ op: OP.transfer, id: 0, node: this.#below(3) });
        break;
      case 1:
        node.log.lackSpace(true);
        break;
      case 2:
        for (const { log } of running) log.lackSpace(false);
        break;
      case 3:
        // As on a signal to stop.
        node.driver.leave().catch(() => {});
        await world.run(this.#below(100));
        if (node.isRunning) node.crash();
        break;
      case 4:
        this.#ask(memberWish("remove", id));
        break;
      case 5:
        this.#ask(memberWish("add", id));
        break;
      case 6:
        this.#ask(memberWish("demote", id));
        break;
      default:
        this.#ask(memberWish("promote", id));
    }
  }

  #ask(operation: Operation): void {
    this.#lastOperation += 1;
    this.#operator.operate({ ...operation, id: this.#lastOperation });
  }

  /** A node that ended because it was removed is gone until it is started again, on its data. */
  #buryRemoved(): void {
    for (const node of this.world.nodes) {
      const [failure] = node.failures;
      if (failure?.message !== `node ${node.id} was removed from the cluster`) continue;
      node.failures.length = 0;
      if (node.isRunning) node.crash();
    }
  }

  /** Everybody is a member in the end, voter or not. */
  async #bringAllBack(): Promise<void> {
    const { world } = this;
    for (const node of world.nodes) node.log.lackSpace(false);
    // What was asked for in the storm is answered by then, by the node that passed it on and by the
    // leader.
    await world.run(2 * OPERATION_WAIT_TIMEOUTS * world.tuning.electionTimeoutMs);
    await world.until("a leader of those who belong", () => {
      const leader = world.leader?.raft;
      return leader?.hasQuorumContact === true && leader.commitIndex === leader.lastIndex;
    });
    for (const { id } of world.nodes) {
      for (let attempt = 0; ; attempt += 1) {
        this.#buryRemoved();
        for (const node of world.nodes) if (!node.isRunning) await node.restart();
        this.#operator.connect(world.leader ?? this.#pick(world.nodes));
        this.#ask(memberWish("add", id));
        const asked = this.#lastOperation;
        const answer = (): number | undefined => this.#operator.answer(asked)?.status;
        await world.until(`node ${id} to be asked for`, () => answer() !== undefined);
        if (answer() === STATUS.ok) break;
        if (attempt > 20) throw new Error(`node ${id} is not added: ${answer()}`);
        await world.run(50);
      }
    }
  }

  get complaints(): string[] {
    return [...this.clients, this.doomed].flatMap(({ complaints }) => complaints);
  }

  #act(client: ChaosClient): void {
    if (!client.isAttached) {
      if (this.#random() < 0.4) this.#connect(client);
      return;
    }
    const chance = this.#random();
    const hold = this.#pickOrNone(client.holds);
    const wait = this.#pickOrNone(
      client.calls.filter(({ wish, isOpen, isQueued }) => {
        return !("target" in wish) && (isOpen || isQueued);
      }),
    );
    if (chance < 0.08) this.#connect(client);
    else if (chance < 0.13) client.disconnect();
    else if (chance < 0.16) client.attachAgain();
    else if (chance < 0.2) client.keepalive();
    else if (chance < 0.45 && hold !== undefined) client.end(hold);
    else if (chance < 0.6 && wait !== undefined) client.end(wait);
    else this.#acquireSome(client);
  }

  #acquireSome(client: ChaosClient): void {
    for (let count = 1 + this.#below(this.#below(8) === 0 ? 30 : 4); count > 0; count -= 1) {
      const mode = this.#random() < 0.7 ? "exclusive" : "shared";
      const waitMs = this.#pick([WAIT_FOREVER, WAIT_FOREVER, WAIT_FOREVER, 0, 300]);
      client.acquire(this.#pick(KEYS), mode, waitMs);
    }
  }

  #connect(client: ChaosClient): void {
    const node = this.#pickOrNone(this.world.nodes.filter((candidate) => candidate.isRunning));
    if (node !== undefined) client.connect(node);
  }

  async #disturb(): Promise<void> {
    const { network, nodes } = this.world;
    const node = this.#pick(nodes);
    const other = this.#pick(nodes);
    switch (this.#below(7)) {
      case 0:
        if (node.isRunning) node.crash();
        break;
      case 1:
      case 2:
        if (!node.isRunning) await node.restart();
        break;
      case 3:
        if (node.isRunning) node.pause(this.#below(1_500));
        break;
      case 4:
        network.cut(
          [node.id],
          nodes.filter(({ id }) => id !== node.id).map(({ id }) => id),
        );
        break;
      case 5:
        network.heal();
        break;
      default:
        if (node !== other) network.reconnect(node.id, other.id);
    }
  }

  /** Tables that applied the same are the same, whenever and however often they did. */
  #compareTables(): void {
    for (const node of this.world.nodes) {
      if (!node.isRunning || node.driver.status.snapshots.isRestoring) continue;
      const index = node.raft.appliedIndex;
      const hash = node.table.hash();
      const known = this.#hashes.get(index);
      if (known === undefined) this.#hashes.set(index, hash);
      else expect(`${index} ${hash}`).toBe(`${index} ${known}`);
    }
  }

  /** Nobody was let in while the client that went away could count on its lease. */
  #checkLease(): void {
    const { world, doomed } = this;
    if (world.nowMs >= doomed.leaseUntilMs) return;
    for (const { wish, token } of doomed.keptHolds) {
      if ("target" in wish) throw new Error("an end has a token");
      const { key, mode } = wish;
      for (const node of world.nodes) {
        if (!node.isRunning) continue;
        for (const hold of node.table.inspect(key).holds) {
          if (hold.token <= token || (mode === "shared" && hold.mode === "shared")) continue;
          throw new Error(`${hold.token} was granted before the lease of ${token} ended`);
        }
      }
    }
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<T>(items: readonly T[]): T {
    const item = this.#pickOrNone(items);
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  #pickOrNone<T>(items: readonly T[]): T | undefined {
    return items[this.#below(items.length)];
  }
}

function memberWish(action: MemberAction, node: number): Operation {
  const address = action === "add" ? `node-${node}:1` : undefined;
  return { op: OP.changeMember, id: 0, action, node, address };
}

/** Tokens that the table of `node` shows as held, in order. */
function heldIn(node: WorldNode): number[] {
  const tokens = KEYS.flatMap((key) => node.table.inspect(key).holds.map(({ token }) => token));
  return tokens.sort((a, b) => a - b);
}

/** Session and sequence of everybody who waits for `key`, first to last. */
function queueIn(node: WorldNode, key: string): string[] {
  const { waiters } = node.table.inspect(key);
  return waiters.map(({ session, sequence }) => `${session}/${sequence}`);
}

function believed(clients: readonly ChaosClient[]): number[] {
  return clients.flatMap(({ holds }) => holds.map(({ token }) => token)).sort((a, b) => a - b);
}

async function weather(seed: number, options: Partial<WorldOptions>): Promise<void> {
  const storm = new Storm(seed, options);
  const { world, clients } = storm;
  await storm.rage();
  await storm.calm();
  await expectAgreement(world);
  expect(storm.complaints).toEqual([]);
  const node = world.node(1);
  expect(heldIn(node)).toEqual(believed(clients));
  const queues = KEYS.map((key) => queueIn(node, key));
  const served = await storm.drain();
  await expectAgreement(world);
  expect(node.table.counts()).toMatchObject({
    holds: 0,
    waiters: 0,
    sessions: sessionsOf(clients),
  });
  expect(storm.complaints).toEqual([]);
  const order = served.map((call) => {
    const client = clients.find(({ calls }) => calls.includes(call));
    return `${client?.session}/${call.sequence}`;
  });
  for (const queue of queues) {
    expect(order.filter((served) => queue.includes(served))).toEqual(queue);
  }
  for (const client of clients) client.checkAnswers();
  expect(storm.complaints).toEqual([]);
  const tokens = [...clients, storm.doomed].flatMap(({ calls }) =>
    calls.map(({ token }) => token).filter((token) => token !== 0),
  );
  expect(new Set(tokens).size).toBe(tokens.length);
  for (const { driver } of world.nodes) expect(driver.status.keptBytes).toBe(0);
}

function sessionsOf(clients: readonly ChaosClient[]): number {
  return clients.filter(({ session }) => session !== 0).length;
}

async function season(firstSeed: number, options: Partial<WorldOptions>): Promise<void> {
  for (let seed = firstSeed; seed < firstSeed + RUNS; seed += 1) {
    await weather(seed, options).catch((cause: unknown) => {
      throw new Error(`seed ${seed}: ${String(cause)}`, { cause });
    });
  }
}

describe("a cluster in a storm keeps every promise, and serves every waiter afterwards", () => {
  test("as it is", () => season(1, {}));
  test("when leaders change often", () => season(10_001, { tuning: QUICK }));
  test("when it has room for a few commands only", () => season(20_001, { tuning: NARROW }));
  test("when it is one node alone", () => season(30_001, { nodeCount: 1, tuning: NARROW }));
  test("when its log is short", () => season(50_001, { tuning: SHORT }));
  test("when members come and go", () => season(60_001, { tuning: SHORT, joinerCount: 2 }));
  test("when it has five nodes", () => season(40_001, { nodeCount: 5, tuning: QUICK }));
});
