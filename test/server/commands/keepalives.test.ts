/** Keepalives that a node gathers: how long they wait at most, whatever else waits with them. */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/random-stream.js";
import { startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);
/** What a leader gathers for at most. */
const GATHER_MS = 250;
/** The way there and back, over a follower, and one entry that is written. */
const WAY_MS = 50;

interface Sent {
  readonly client: TestClient;
  readonly number: number;
  readonly atMs: number;
}

/** Keepalives of many clients, and which of them still wait. */
class Beats {
  readonly clients: TestClient[] = [];
  worstMs = 0;
  readonly #world: World;
  #waiting: Sent[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  async join(node: WorldNode): Promise<void> {
    const client = this.#world.client();
    await client.start(node, 60_000);
    this.clients.push(client);
  }

  send(client: TestClient): void {
    this.#waiting.push({ client, number: client.keepalive(), atMs: this.#world.nowMs });
  }

  leave(client: TestClient): void {
    client.disconnect();
    this.clients.splice(this.clients.indexOf(client), 1);
    this.#waiting = this.#waiting.filter((sent) => sent.client !== client);
  }

  /** One more millisecond. `sinceMs`: from when on somebody leads whom all follow. */
  async pass(sinceMs: number): Promise<void> {
    await this.#world.run(1);
    const { nowMs } = this.#world;
    this.#waiting = this.#waiting.filter(({ client, number, atMs }) => {
      this.worstMs = Math.max(this.worstMs, nowMs - Math.max(atMs, sinceMs));
      return client.renewed(number) === undefined;
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }
}

describe("every keepalive is answered soon", () => {
  test.each(SEEDS)("while clients come, go and want other things: seed %i", async (seed) => {
    const random = seededRandom(seed);
    const tuning = { pipelineEntriesMax: seed % 2 === 0 ? 1 : 4 };
    const { world, leader, followers } = await startCluster({ seed, tuning, diskMs: seed % 3 });
    const nodes = [leader, ...followers];
    const beats = new Beats(world);
    for (let i = 0; i < 12; i += 1) await beats.join(nodes[i % 3] ?? leader);
    const one = (): TestClient | undefined =>
      beats.clients[Math.floor(random() * beats.clients.length)];
    for (let ms = 0; ms < 3_000; ms += 1) {
      const client = one();
      if (client !== undefined && random() < 0.03) beats.send(client);
      // The first in the line goes, and what waits behind it stays.
      if (client !== undefined && random() < 0.004 && beats.clients.length > 2) beats.leave(client);
      if (random() < 0.003) one()?.acquire("a", 0);
      if (random() < 0.001) leader.pause(20);
      await beats.pass(0);
    }
    for (let ms = 0; ms <= GATHER_MS + WAY_MS; ms += 1) await beats.pass(0);
    expect([seed, beats.waiting]).toEqual([seed, 0]);
    expect(beats.worstMs).toBeLessThanOrEqual(GATHER_MS + WAY_MS + 20);
    expect(beats.worstMs).toBeGreaterThan(GATHER_MS);
    expect(world.leader).toBe(leader);
  });

  test.each(SEEDS)("once somebody leads again: seed %i", async (seed) => {
    const random = seededRandom(seed);
    const { world, leader, followers } = await startCluster({ seed });
    const [next, other] = followers;
    const beats = new Beats(world);
    for (const node of [leader, next, other]) {
      for (let i = 0; i < 3; i += 1) await beats.join(node);
    }
    if (seed % 2 === 0) new Operator(world, leader).askTransfer(next.id);
    else {
      for (const client of beats.clients.slice(0, 3)) beats.leave(client);
      leader.crash();
    }
    for (let ms = 0; ms < 600; ms += 1) {
      const client = beats.clients[Math.floor(random() * beats.clients.length)];
      if (client !== undefined && random() < 0.1) beats.send(client);
      await beats.pass(world.nowMs);
    }
    expect((await world.untilLeader()).raft.term).toBeGreaterThan(1);
    const sinceMs = world.nowMs;
    for (let ms = 0; ms <= GATHER_MS + WAY_MS; ms += 1) await beats.pass(sinceMs);
    expect([seed, beats.waiting]).toEqual([seed, 0]);
  });

  test("and those that come while others wait make their leader take no turn", async () => {
    const { world, leader } = await startCluster();
    const beats = new Beats(world);
    for (let i = 0; i < 50; i += 1) await beats.join(leader);
    await world.run(500);
    const turnsOf = async (): Promise<number> => {
      const before = leader.driver.turn;
      for (let i = 0; i < GATHER_MS; i += 1) await beats.pass(0);
      return leader.driver.turn - before;
    };
    const [first, ...others] = beats.clients;
    if (first === undefined) throw new Error("nobody");
    beats.send(first);
    const withOne = await turnsOf();
    await world.run(500);
    beats.send(first);
    for (const [i, client] of others.entries()) world.after(3 * i, () => beats.send(client));
    expect(await turnsOf()).toBeLessThan(withOne + 10);
    for (let i = 0; i < WAY_MS; i += 1) await beats.pass(0);
    expect(beats.waiting).toBe(0);
  });
});
