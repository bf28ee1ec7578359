/**
 * Whole drivers whose log reports that the disk has no room for another segment: leadership goes to
 * a node that has room, commands are refused if no node has, and all of them continue when there is
 * room again.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import { World } from "../world/world.js";

async function tryToLock(client: TestClient, key: string): Promise<number> {
  return client.untilStatus(client.acquire(key, 0));
}

describe("a full disk", () => {
  test("on the leader makes another node lead, which takes commands", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    leader.log.lackSpace(true);
    await world.until("another leader", () => followers.some((n) => n.raft.role === "leader"));
    await world.untilLeader();
    expect(await tryToLock(client, "a")).toBe(STATUS.granted);
    expect(leader.driver.status.isDiskFull).toBe(true);
    // It stays what it is when there is room again.
    leader.log.lackSpace(false);
    await world.run(5_000);
    expect(leader.raft.role).toBe("follower");
    await expectAgreement(world);
  });

  test("everywhere does not send leadership round and round", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0], 600_000);
    for (const node of world.nodes) node.log.lackSpace(true);
    await world.run(60_000);
    const terms = leader.raft.term;
    for (let minute = 0; minute < 10; minute += 1) {
      client.keepalive();
      await world.run(60_000);
    }
    // One for each node in the longest pause, which is 64 election timeouts.
    expect(leader.raft.term - terms).toBeLessThanOrEqual(3 * (600_000 / (64 * 600)));
    expect(await tryToLock(client, "a")).toBe(ERROR_NUMBERS.DISK_FULL);
    for (const node of world.nodes) node.log.lackSpace(false);
    await world.untilLeader();
    // The leader informs the others.
    await world.run(10);
    const again = world.client();
    await again.start(followers[1]);
    expect(await tryToLock(again, "b")).toBe(STATUS.granted);
    await expectAgreement(world);
  });

  test("that has a little room now and then does not either", async () => {
    const { world, leader } = await startCluster();
    const terms = leader.raft.term;
    for (let second = 0; second < 600; second += 1) {
      for (const node of world.nodes) {
        node.log.lackSpace(false);
        node.log.lackSpace(true);
      }
      await world.run(1_000);
    }
    expect(leader.raft.term - terms).toBeLessThanOrEqual(100);
    await expectAgreement(world);
  });

  test("on a leader that nobody could follow makes it hand over as soon as somebody can", async () => {
    const { world, leader, followers } = await startCluster();
    const filter = world.network.filter;
    world.network.filter = (_from, _to, message) =>
      !(message.type === "raft" && message.message.type === "timeoutNow");
    leader.log.lackSpace(true);
    await world.run(60_000);
    expect(leader.raft.role).toBe("leader");
    world.network.filter = filter;
    await world.run(3 * world.tuning.electionTimeoutMs);
    expect(followers.some((node) => node.raft.role === "leader")).toBe(true);
  });

  test("of a node alone refuses commands until there is room again", async () => {
    const world = new World({ nodeCount: 1 });
    world.startAll();
    const node = await world.untilLeader();
    const client = world.client();
    await client.start(node, 600_000);
    node.log.lackSpace(true);
    await world.run(10_000);
    expect(await tryToLock(client, "a")).toBe(ERROR_NUMBERS.DISK_FULL);
    node.log.lackSpace(false);
    expect(await tryToLock(client, "a")).toBe(STATUS.granted);
  });

  test("takes releases at every node while it refuses locks, and keeps sessions alive", async () => {
    const { world, leader, followers } = await startCluster();
    const clients = [];
    for (const node of [leader, ...followers]) {
      const client = world.client();
      await client.start(node, 2_000);
      expect(await tryToLock(client, `held-${node.id}`)).toBe(STATUS.granted);
      clients.push(client);
    }
    for (const node of world.nodes) node.log.lackSpace(true);
    // Even while leadership is sought for somebody who has room.
    for (let second = 0; second < 30; second += 1) {
      for (const client of clients) client.keepalive();
      await world.run(1_000);
    }
    for (const client of clients) {
      expect(await tryToLock(client, "more")).toBe(ERROR_NUMBERS.DISK_FULL);
      expect(await client.untilStatus(client.end(1))).toBe(STATUS.released);
    }
    expect(leader.table.counts()).toMatchObject({ sessions: 3, holds: 0 });
    for (const node of world.nodes) node.log.lackSpace(false);
    await world.run(world.tuning.electionTimeoutMs);
    for (const client of clients) {
      expect(await tryToLock(client, client.nonce)).toBe(STATUS.granted);
    }
    await expectAgreement(world);
  });

  test("on which the reserve is used up takes nothing, and goes on when there is room", async () => {
    const { world, leader, followers } = await startCluster();
    const [here, there] = [world.client(), world.client()];
    await here.start(leader, 600_000);
    await there.start(followers[0], 600_000);
    for (const client of [here, there]) await tryToLock(client, `held-${client.nonce}`);
    const setFull = (isFull: boolean): void => {
      for (const { log } of world.nodes) {
        log.freeBytes = isFull ? 1_000 : Number.POSITIVE_INFINITY;
        log.lackSpace(isFull);
      }
    };
    setFull(true);
    await world.run(5_000);
    const leading = await world.untilLeader();
    const local = leading === leader ? here : there;
    const distant = leading === leader ? there : here;
    expect(await local.untilStatus(local.end(1))).toBe(ERROR_NUMBERS.DISK_FULL);
    // Admitted by a node that has no reserve of its own to spare: it is kept, and executed in the end.
    const kept = distant.end(1);
    await world.run(5_000);
    expect(distant.reply(kept)).toBeUndefined();
    setFull(false);
    expect(await distant.untilStatus(kept)).toBe(STATUS.released);
    expect(await local.untilStatus(local.end(1))).toBe(STATUS.released);
    await expectAgreement(world);
  });
});
