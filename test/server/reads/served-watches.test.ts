/** Watches through whole drivers: what they report, where they continue, and when they end. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  MESSAGE,
  OP,
  REVISION_NUMBER_MAX,
  STATUS,
  WATCHES_MAX,
} from "../../../src/protocol/index.js";
import { isAfter } from "../../../src/server/reads/revisions.js";
import { BUSY_KEYS, keepBusy } from "../world/busy-clients.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import { BEGINNING, changesOf, Watcher } from "../world/watcher.js";
import { World, type WorldNode } from "../world/world.js";

/** One page of changes is kept. */
const NARROW = { changesMax: 1_024 };
const SHORT = { snapshotLogBytes: 1_500, trailingLogBytes: 200 };

/** Makes `changes`, a multiple of 200: two of each of a hundred keys at a time. */
async function churn(world: World, node: WorldNode, changes: number): Promise<void> {
  for (let done = 0; done < changes; done += 200) {
    // Another one each time: these never acknowledge anything.
    const client = world.client();
    await client.start(node, 600_000);
    const sequences = Array.from({ length: 100 }, (_, i) => client.acquire(`churn/${i}`, 0));
    await client.untilReply(sequences.at(-1) as number);
    const releases = sequences.map((sequence) => client.end(sequence));
    await client.untilReply(releases.at(-1) as number);
    client.disconnect();
  }
}

async function take(client: TestClient, key: string): Promise<number> {
  const sequence = client.acquire(key, 0);
  await client.untilReply(sequence);
  return sequence;
}

describe("a watch", () => {
  test.each([1, 2, 3])(
    "gets everything once and in order, on every node: seed %i",
    async (seed) => {
      const { world, leader, followers } = await startCluster({ seed });
      const whole = [leader, ...followers].map(
        (node) => new Watcher(world, node, { after: BEGINNING }),
      );
      await keepBusy(world, followers[0], seed, 60);
      const [first, ...others] = whole.map(({ changes }) => changes);
      expect(first?.length).toBeGreaterThan(100);
      for (const changes of others) expect(changes).toEqual(first);
      let before = BEGINNING;
      for (const { revision } of first ?? []) {
        expect(isAfter(revision, before)).toBe(true);
        before = revision;
      }
      const types = new Set(first?.map(({ type }) => type));
      expect([...types].sort()).toEqual(["ended", "granted", "left", "queued"]);
    },
  );

  test("of a key or a prefix gets what a watch of everything says about it", async () => {
    const { world, leader, followers } = await startCluster();
    const whole = new Watcher(world, leader, { after: BEGINNING });
    const parts = ["orders/", "orders/1", "u", "none/"].map((key) => ({
      key,
      watcher: new Watcher(world, followers[1], { key, after: BEGINNING }),
    }));
    const exact = BUSY_KEYS.map((key) => ({
      key,
      watcher: new Watcher(world, followers[0], { key, isPrefix: false }),
    }));
    for (const { watcher } of exact) await watcher.untilBegun();
    await keepBusy(world, leader, 7, 40);
    for (const { key, watcher } of parts) {
      expect(watcher.changes).toEqual(whole.changes.filter((change) => change.key.startsWith(key)));
    }
    for (const { key, watcher } of exact) {
      expect(watcher.changes).toEqual(whole.changes.filter((change) => change.key === key));
    }
  });

  test("goes on from any revision on any node, so that the parts make the whole", async () => {
    const { world, leader, followers } = await startCluster({ seed: 5 });
    const nodes = [leader, ...followers];
    const watcher = new Watcher(world, leader, { after: BEGINNING });
    await keepBusy(world, leader, 5, 50);
    const whole = watcher.changes;
    expect(whole.length).toBeGreaterThan(100);
    for (let at = 0; at < whole.length; at += 7) {
      const after = whole[at]?.revision;
      const rest = new Watcher(world, nodes[at % 3] as WorldNode, { after });
      await world.run(5);
      expect(rest.begun).toEqual(after);
      expect([...whole.slice(0, at + 1), ...rest.changes]).toEqual(whole);
    }
    // Even from a place up to which everything was sent, though nothing of it was a change.
    const end = watcher.told.at(-1)?.revision;
    expect(end?.number).toBe(REVISION_NUMBER_MAX);
    const rest = new Watcher(world, followers[1], { after: end });
    await keepBusy(world, followers[0], 6, 10);
    expect(rest.changes).toEqual(watcher.changes.slice(whole.length));
    expect(rest.changes.length).toBeGreaterThan(10);
  });

  test("goes on after a leader that crashed, and misses nothing", async () => {
    const { world, leader, followers } = await startCluster({ seed: 9 });
    const whole = new Watcher(world, followers[0], { after: BEGINNING });
    const cut = new Watcher(world, leader, { after: BEGINNING });
    const busy = keepBusy(world, followers[1], 9, 40);
    await busy;
    const before = cut.changes;
    const after = cut.told.at(-1)?.revision;
    leader.crash();
    await keepBusy(world, followers[1], 10, 20);
    const rest = new Watcher(world, followers[1], { after });
    await world.run(20);
    expect([...before, ...rest.changes]).toEqual(whole.changes);
  });

  test("without a revision begins after what its node has applied, and misses nothing", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    for (let round = 1; round <= 10; round += 1) {
      const granted = await take(client, "a");
      const appliedIndex = followers[0].table.index;
      const watcher = new Watcher(world, followers[0], { key: "a" });
      // It has no need of anybody else.
      if (round === 10) world.network.cut([followers[0].id], [leader.id, followers[1].id]);
      const { index } = await watcher.untilBegun();
      expect(index).toBeGreaterThanOrEqual(appliedIndex);
      expect(index).toBeLessThanOrEqual(followers[0].table.index);
      world.network.heal();
      await client.untilReply(client.end(granted));
      await world.until("the end is reported", () => watcher.changes.length > 0);
      expect(watcher.changes).toMatchObject([{ type: "ended", sequence: granted }]);
      watcher.client.disconnect();
    }
  });

  test("of a node that has applied nothing begins before everything, and goes on elsewhere", async () => {
    const world = new World();
    const [first, ...others] = world.nodes as [WorldNode, ...WorldNode[]];
    first.start();
    await world.run(5);
    const early = new Watcher(world, first);
    const begun = await early.untilBegun();
    expect(begun).toEqual({ index: 0, number: REVISION_NUMBER_MAX });
    for (const node of others) node.start();
    const leader = await world.untilLeader();
    await keepBusy(world, leader, 11, 10);
    const whole = new Watcher(world, leader, { after: BEGINNING });
    const rest = new Watcher(world, leader, { after: begun });
    await world.run(20);
    expect(whole.changes.length).toBeGreaterThan(10);
    expect(rest.changes).toEqual(whole.changes);
    expect(early.changes).toEqual(whole.changes);
  });

  test.each([0, 0.1, 1])(
    "without a revision misses nothing that its client does after it: a disk of %d ms",
    async (diskMs) => {
      const { world, leader, followers } = await startCluster({ diskMs });
      for (const node of [leader, ...followers]) {
        const client = world.client();
        await client.start(node);
        const key = `after/${node.id}`;
        client.query({ op: OP.watch, id: 1, key, isPrefix: false, after: undefined });
        await client.untilReply(client.acquire(key, 0));
        await world.run(20);
        expect(changesOf(client).map(({ type }) => type)).toEqual(["granted"]);
      }
    },
  );

  test("from a revision that is still to come gets nothing before it", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader);
    const whole = new Watcher(world, leader);
    await whole.untilBegun();
    const after = { index: leader.raft.lastIndex + 3, number: 0 };
    const watcher = new Watcher(world, leader, { after });
    expect(await watcher.untilBegun()).toEqual(after);
    for (let round = 0; round < 5; round += 1) {
      await client.untilReply(client.end(await take(client, "a")));
    }
    await world.run(5);
    expect(whole.changes).toHaveLength(10);
    const wanted = whole.changes.filter(({ revision }) => isAfter(revision, after));
    expect(wanted.length).toBeGreaterThan(3);
    expect(wanted.length).toBeLessThan(10);
    expect(watcher.changes).toEqual(wanted);
  });

  test("ends with COMPACTED where the changes after its revision are forgotten", async () => {
    const { world, leader } = await startCluster({ tuning: NARROW });
    const live = new Watcher(world, leader, { key: "churn/0", after: BEGINNING });
    await churn(world, leader, 3_000);
    const late = new Watcher(world, leader, { after: BEGINNING });
    await world.until("its end", () => late.endedBy !== undefined);
    expect(late.begun).toEqual(BEGINNING);
    expect(late.endedBy).toBe(ERROR_NUMBERS.COMPACTED);
    expect(late.changes).toEqual([]);
    // Who was there all the time lost nothing.
    expect(live.endedBy).toBeUndefined();
    expect(live.changes).toHaveLength(30);
  });

  test("that matches nothing learns places from which it can go on", async () => {
    const { world, leader, followers } = await startCluster({ tuning: NARROW });
    const idle = new Watcher(world, leader, { key: "nobody" });
    const begun = await idle.untilBegun();
    await churn(world, leader, 3_000);
    const { revision } = idle.told.at(-1) ?? { revision: begun };
    expect(idle.changes).toEqual([]);
    const again = new Watcher(world, followers[0], { key: "nobody", after: revision });
    const tooOld = new Watcher(world, followers[0], { key: "nobody", after: begun });
    await world.run(20);
    expect(again.endedBy).toBeUndefined();
    expect(tooOld.endedBy).toBe(ERROR_NUMBERS.COMPACTED);
  });

  test("ends with COMPACTED on a node that took over a snapshot of more", async () => {
    const { world, leader, followers } = await startCluster({ tuning: SHORT });
    const [late, other] = followers;
    const client = world.client();
    await client.start(leader, 600_000);
    const whole = new Watcher(world, leader, { after: BEGINNING });
    await client.untilReply(client.end(await take(client, "a")));
    const after = whole.told.at(-1)?.revision;
    world.network.cut([late.id], [leader.id, other.id]);
    const missed = late.raft.lastIndex;
    while (leader.raft.firstIndex <= missed + 1) {
      await client.untilReply(client.end(await take(client, "a")));
    }
    world.network.heal();
    await world.until("the snapshot is taken over", () => {
      return late.isRunning && late.driver.status.snapshots.installedTotal === 1;
    });
    const { snapshotIndex } = late.driver.status;
    const tooOld = new Watcher(world, late, { after });
    const atSnapshot = { index: snapshotIndex, number: REVISION_NUMBER_MAX };
    const good = new Watcher(world, late, { after: atSnapshot });
    await world.until("both begin", () => tooOld.begun !== undefined && good.begun !== undefined);
    await client.untilReply(client.end(await take(client, "b")));
    await world.run(20);
    expect(tooOld.endedBy).toBe(ERROR_NUMBERS.COMPACTED);
    expect(good.endedBy).toBeUndefined();
    const wanted = whole.changes.filter(({ revision }) => isAfter(revision, atSnapshot));
    expect(good.changes).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(1);
  });

  test("of a client that does not read is sent nothing, goes on later, and ends when it is too late", async () => {
    const { world, leader } = await startCluster({ tuning: NARROW });
    const whole = new Watcher(world, leader, { after: BEGINNING });
    const slow = new Watcher(world, leader, { after: BEGINNING });
    await slow.untilBegun();
    slow.client.bufferedBytes = 2 << 20;
    await churn(world, leader, 600);
    expect(slow.changes).toEqual([]);
    slow.client.bufferedBytes = 0;
    await world.run(200);
    expect(slow.changes).toEqual(whole.changes);
    expect(slow.changes).toHaveLength(600);
    slow.client.bufferedBytes = 2 << 20;
    await churn(world, leader, 3_000);
    await world.run(200);
    expect(slow.changes).toHaveLength(600);
    expect(slow.endedBy).toBe(ERROR_NUMBERS.COMPACTED);
    expect(leader.driver.status.observation.watches).toBe(1);
    expect(leader.driver.status.observation.watchesCompactedTotal).toBe(1);
  });

  test("of a client that reads again goes on at once, and is waited for without haste", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader, 600_000);
    const [slow, other] = [new Watcher(world, leader), new Watcher(world, leader)];
    await slow.untilBegun();
    await other.untilBegun();
    const turnsOfSecond = async (): Promise<number> => {
      const before = leader.driver.turn;
      await world.run(1_000);
      return leader.driver.turn - before;
    };
    const usual = await turnsOfSecond();
    for (const { client } of [slow, other]) client.bufferedBytes = 2 << 20;
    await take(client, "a");
    expect((await turnsOfSecond()) - usual).toBeLessThan(60);
    other.client.disconnect();
    const whileOneIsFull = (await turnsOfSecond()) - usual;
    expect(whileOneIsFull).toBeGreaterThan(30);
    expect(whileOneIsFull).toBeLessThan(60);
    slow.client.bufferedBytes = 0;
    await world.run(25);
    expect(slow.changes).toHaveLength(1);
    expect(Math.abs((await turnsOfSecond()) - usual)).toBeLessThan(10);
  });

  test("ends with unwatch, and with its connection", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader);
    const [stopped, gone] = [new Watcher(world, leader), new Watcher(world, leader)];
    await stopped.untilBegun();
    await gone.untilBegun();
    expect(leader.driver.status.observation.watches).toBe(2);
    stopped.client.query({ op: OP.unwatch, id: 2, watch: 1 });
    gone.client.disconnect();
    await world.until("an answer", () => stopped.client.answer(2) !== undefined);
    expect(stopped.client.answer(2)?.status).toBe(STATUS.ok);
    await take(client, "a");
    expect(stopped.changes).toEqual([]);
    expect(leader.driver.status.observation.watches).toBe(0);
    // Its number is free again.
    stopped.client.query({ op: OP.watch, id: 1, key: "b", isPrefix: false, after: undefined });
    await take(client, "b");
    await world.until("a change", () => stopped.changes.length > 0);
  });

  test("that ends before its first turn leaves its node nothing to do", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader);
    await take(client, "a");
    // Behind from the beginning, and gone with what else came in the same turn.
    new Watcher(world, leader, { after: BEGINNING }).client.disconnect();
    await world.run(200);
    const full = new Watcher(world, leader, { after: BEGINNING });
    full.client.bufferedBytes = 2 << 20;
    await take(client, "b");
    full.client.disconnect();
    // A turn that follows from itself, or from a time that has passed, is a loop without an end.
    await world.run(200);
    expect(leader.driver.status.observation.watches).toBe(0);
  });

  test("beyond what one connection may have is refused, and so is a number in use", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    client.connect(leader);
    await world.run(5);
    const query = { op: OP.watch, key: "a", isPrefix: false, after: BEGINNING } as const;
    for (let id = 1; id <= WATCHES_MAX; id += 1) client.query({ ...query, id });
    client.query({ ...query, id: 7 });
    client.query({ ...query, id: WATCHES_MAX + 1 });
    await world.until("the last answer", () => client.answer(WATCHES_MAX + 1) !== undefined);
    const statuses = client.received.flatMap((message) =>
      message.kind === MESSAGE.answer && message.status !== STATUS.ok ? [message] : [],
    );
    expect(statuses).toMatchObject([
      { id: 7, status: ERROR_NUMBERS.INVALID_ARGUMENT },
      { id: WATCHES_MAX + 1, status: ERROR_NUMBERS.QUOTA },
    ]);
    expect(leader.driver.status.observation.watches).toBe(WATCHES_MAX);
  });
});
