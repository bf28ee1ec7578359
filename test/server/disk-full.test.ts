/**
 * Whole drivers that are told that the disk has no room for another segment: leadership goes to whoever
 * has room, commands are refused where nobody has, and everything goes on when there is room again.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { STATUS } from "../../src/protocol/index.js";
import { expectAgreement, startCluster } from "./cluster.js";
import type { TestClient } from "./test-client.js";
import { World } from "./world.js";

async function tryToLock(client: TestClient, key: string): Promise<number> {
  const { result } = await client.untilReply(client.acquire(key, 0));
  return result.status;
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
    await world.run(600_000);
    // One for each node in the longest pause, which is 64 election timeouts.
    expect(leader.raft.term - terms).toBeLessThanOrEqual(3 * (600_000 / (64 * 600)));
    expect(await tryToLock(client, "a")).toBe(ERROR_NUMBERS.DISK_FULL);
    for (const node of world.nodes) node.log.lackSpace(false);
    await world.untilLeader();
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
});
