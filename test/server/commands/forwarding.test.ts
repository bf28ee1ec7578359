import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

describe("forwarded commands", () => {
  test("are applied exactly once when the leader dies with them in flight", async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed });
      const client = world.client();
      await client.start(followers[0]);
      const sequences = Array.from({ length: 20 }, (_, i) => client.acquire(`key-${i}`, 0));
      // Somewhere between the client's frame and the last acknowledgement.
      await world.run((seed % 10) * 0.9);
      leader.crash();
      for (const sequence of sequences) {
        expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
      }
      expect(followers[0].table.counts().holds).toBe(sequences.length);
      const tokens = sequences.map((sequence) => client.token(sequence));
      expect([...new Set(tokens)].sort((a, b) => a - b)).toEqual(tokens);
      await expectAgreement(world);
    }
  });

  test("are applied exactly once when the link to the leader is made again", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    const sequences = [];
    for (let i = 0; i < 50; i += 1) {
      sequences.push(client.acquire(`key-${i}`, 0));
      await world.run(1);
      if (i % 7 === 0) world.network.reconnect(followers[0].id, leader.id);
    }
    for (const sequence of sequences) {
      expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
    }
    expect(leader.table.counts().holds).toBe(50);
    await expectAgreement(world);
  });

  test("go again after a while when they, or their refusal, were lost", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    let dropped = 0;
    world.network.filter = (_from, to, message) => {
      if (to !== leader.id || message.type !== "forward" || dropped > 0) return true;
      dropped += 1;
      return false;
    };
    const sequence = client.acquire("a");
    await client.untilReply(sequence);
    expect(dropped).toBe(1);
    expect(client.token(sequence)).toBeGreaterThan(0);
  });

  test("are refused by a node that leads another term, and kept", async () => {
    const { world, leader, followers } = await startCluster();
    const refused: string[] = [];
    world.network.filter = (_from, to, message) => {
      if (to === followers[0].id && message.type === "forwardRefused") refused.push(message.reason);
      return true;
    };
    const events = leader.driver.peerEvents;
    const records = new Uint8Array(0);
    const { term } = leader.raft;
    events.onMessage(followers[0].id, 0, { type: "forward", id: 1, term: term - 1, records });
    followers[1].driver.peerEvents.onMessage(followers[0].id, 0, {
      type: "forward",
      id: 2,
      term,
      records,
    });
    await world.run(10);
    expect(refused).toEqual(["notLeader", "notLeader"]);
  });

  test("that are cut short are dropped, with a line in the log, and harm nobody", async () => {
    const { world, leader, followers } = await startCluster();
    const records = new Uint8Array([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 99, 5]);
    const { term } = leader.raft;
    const message = { type: "forward", id: 1, term, records } as const;
    leader.driver.peerEvents.onMessage(followers[0].id, 0, message);
    await world.run(10);
    expect(world.story.some((line) => line.includes("forwarded records are cut"))).toBe(true);
    const client = world.client();
    await client.start(leader);
    expect((await client.untilReply(client.acquire("a", 0))).result.status).toBe(STATUS.granted);
    await expectAgreement(world);
  });

  test("wait while nobody leads and are answered when somebody does again", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    leader.crash();
    followers[1].crash();
    await world.run(2_000);
    const sequence = client.acquire("a");
    await world.run(5_000);
    expect(client.reply(sequence)).toBeUndefined();
    followers[1].start();
    expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
    await expectAgreement(world);
  });
});

describe("overload", () => {
  const tuning = {
    uncommittedBytesMax: 8_192,
    batchBytesMax: 4_096,
    pipelineEntriesMax: 2,
  } as const;

  /** After a while sends again what was refused, and all that came after it. */
  class Pipeline {
    refusals = 0;
    readonly #world: World;
    readonly #client: TestClient;
    readonly #keys: readonly string[];

    constructor(world: World, client: TestClient, keys: readonly string[]) {
      this.#world = world;
      this.#client = client;
      this.#keys = keys;
    }

    /** Whether every acquire was granted. */
    get isDone(): boolean {
      return this.#client.reply(this.#keys.length) !== undefined;
    }

    /** Acquires one key after the other, its number being its place. */
    push(): void {
      const { received, lastSequence } = this.#client;
      const refusals = received.filter(({ kind }) => kind === MESSAGE.refused).length;
      if (refusals > this.refusals) this.#world.after(20, () => this.push());
      this.refusals = refusals;
      for (const key of this.#keys.slice(lastSequence)) this.#client.acquire(key, 0);
    }

    /** Goes on until everything was granted. */
    async untilDone(): Promise<void> {
      while (!this.isDone) {
        await this.#world.run(20);
        if (this.#client.lastSequence < this.#keys.length) this.push();
      }
    }

    /** In the order of the calls. */
    get tokens(): number[] {
      return this.#keys.map((_, at) => this.#client.token(at + 1));
    }
  }

  const keysOf = (name: string) => Array.from({ length: 400 }, (_, i) => `key-${name}-${i}`);

  test("is answered BUSY, and what is sent again executes once and in order", async () => {
    const { world, leader, followers } = await startCluster({ tuning, diskMs: 20 });
    const pipelines: Pipeline[] = [];
    for (const node of [leader, followers[0], followers[1]]) {
      const client = world.client();
      await client.start(node);
      pipelines.push(new Pipeline(world, client, keysOf(client.nonce)));
    }
    for (const pipeline of pipelines) pipeline.push();
    for (const pipeline of pipelines) await pipeline.untilDone();
    for (const { refusals, tokens } of pipelines) {
      expect(refusals).toBeGreaterThan(0);
      expect(tokens.every((token) => token > 0)).toBe(true);
      expect([...tokens].sort((a, b) => a - b)).toEqual(tokens);
    }
    await expectAgreement(world);
    expect(leader.table.counts().holds).toBe(1_200);
    for (const node of world.nodes) expect(node.driver.status.keptBytes).toBe(0);
  });

  test("makes everything go in order all the same, when the leader changes under it", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed, tuning, diskMs: 5 });
      const client = world.client();
      await client.start(followers[0]);
      const pipeline = new Pipeline(world, client, keysOf("a"));
      pipeline.push();
      await world.run(5 * seed);
      leader.pause(3_000);
      await pipeline.untilDone();
      const { tokens } = pipeline;
      expect([...tokens].sort((a, b) => a - b)).toEqual(tokens);
      await expectAgreement(world);
      expect(followers[0].table.counts().holds).toBe(400);
    }
  });

  test("of the leader keeps acquires out at its followers, and lets releases through", async () => {
    const { world, leader, followers } = await startCluster({ tuning, diskMs: 20 });
    const [busy, other] = [world.client(), world.client()];
    await busy.start(leader);
    await other.start(followers[0]);
    await other.untilReply(other.acquire("held", 0));
    let told = 0;
    world.network.filter = (_from, to, message) => {
      if (to === followers[0].id && message.type === "pressure") told += 1;
      return true;
    };
    // Weak commands are admitted beyond what strong ones may take.
    await busy.untilReply(busy.acquire("a", 0));
    for (let i = 0; i < 500; i += 1) busy.end(1);
    await world.until("a word of the leader", () => told > 0);
    await world.run(2);
    expect(await other.untilStatus(other.acquire("more", 0))).toBe(ERROR_NUMBERS.BUSY);
    expect(await other.untilStatus(other.end(1))).toBe(STATUS.released);
    await world.run(1_000);
    expect(await other.untilStatus(other.acquire("more", 0))).toBe(STATUS.granted);
  });
});

describe("what a node admitted is executed in order", () => {
  const causes: [string, (scene: Scene) => void][] = [
    ["its leader died", ({ leader }) => leader.crash()],
    [
      "its link was made again",
      ({ world, leader, node }) => world.network.reconnect(node.id, leader.id),
    ],
    ["some of it was lost on the way", (scene) => loseOne(scene, "forward")],
    ["its leader had no room", (scene) => refuseOne(scene)],
    ["its leader stood still", ({ leader }) => leader.pause(1_500)],
    [
      "another node was made the leader",
      ({ world, leader, other }) => new Operator(world, leader).askTransfer(other.id),
    ],
  ];

  interface Scene {
    readonly world: World;
    readonly leader: WorldNode;
    readonly node: WorldNode;
    readonly other: WorldNode;
  }

  function loseOne({ world, leader }: Scene, type: string): void {
    let lost = 0;
    world.network.filter = (_from, to, message) => {
      if (to !== leader.id || message.type !== type || lost > 0) return true;
      lost += 1;
      return false;
    };
  }

  /** As if that message had come while nothing could be taken. */
  function refuseOne({ world, leader, node }: Scene): void {
    let refused = 0;
    world.network.filter = (from, to, message) => {
      if (from !== node.id || to !== leader.id || message.type !== "forward") return true;
      refused += 1;
      if (refused !== 1) return true;
      const { id } = message;
      world.after(1, () => {
        const refusal = { type: "forwardRefused", id, reason: "busy" } as const;
        node.driver.peerEvents.onMessage(leader.id, 0, refusal);
      });
      return false;
    };
  }

  test.each(causes)("though %s", async (_what, disturb) => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed, diskMs: 3 });
      const [node, other] = followers;
      const clients = [world.client(), world.client()];
      for (const client of clients) await client.start(node);
      const granted: number[] = [];
      const released: number[] = [];
      for (let i = 0; i < 60; i += 1) {
        // The next one needs what the one before has given back.
        for (const client of clients) {
          granted.push(client.acquire(`only-${client.nonce}`, 0));
          released.push(client.end(client.lastSequence));
        }
        if (i === 20 + seed) disturb({ world, leader, node, other });
        if (i % 3 === 0) await world.run(1);
      }
      for (const [i, sequence] of granted.entries()) {
        const client = clients[i % 2] as TestClient;
        expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
        const end = await client.untilReply(released[i] as number);
        expect(end.result.status).toBe(STATUS.released);
      }
      for (const client of clients) {
        expect(client.closed).toBeUndefined();
        const replies = client.received.filter(({ kind }) => kind === MESSAGE.reply);
        expect(replies).toHaveLength(120);
      }
      await world.run(100);
      expect(node.driver.status.keptBytes).toBe(0);
    }
  });
});
