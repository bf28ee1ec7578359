/** Who may operate the cluster is decided by the leader, whatever the node that was asked knows. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { CLOSED, order } from "../world/access-orders.js";
import { startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";

const { UNAUTHENTICATED } = ERROR_NUMBERS;

describe("an operation of an identity that lost its rights", () => {
  test("is refused although the node that was asked does not know of it", async () => {
    const { world, leader, followers } = await startCluster();
    const [lagging, other] = followers;
    const client = world.client();
    await client.start(leader);
    // It hears of no entry and of no commit, and its questions reach the leader.
    world.network.filter = (_, to, message) =>
      !(to === lagging.id && message.type === "raft" && message.message.type === "append");
    const operator = new Operator(world, lagging);
    expect((await operator.members()).leaderId).toBe(leader.id);
    await order(client, ...CLOSED);
    expect(lagging.table.accessRevision).toBe(0);
    expect(await operator.change("remove", other.id)).toBe(UNAUTHENTICATED);
    expect(await operator.status(operator.askTransfer(other.id))).toBe(UNAUTHENTICATED);
    await expect(operator.members()).resolves.toBeNull();
    expect(leader.raft.configuration.voters).toContain(other.id);
    expect(lagging.table.accessRevision).toBe(0);
    const refused = (node: typeof lagging) =>
      node.driver.status.refusals.filter(({ count }) => count > 0);
    expect(refused(leader)).toEqual([]);
    expect(refused(lagging)).toEqual([
      { verb: "observe", code: "UNAUTHENTICATED", count: 1 },
      { verb: "admin", code: "UNAUTHENTICATED", count: 2 },
    ]);
  });

  test("is refused by a new leader, which first learns what is committed", async () => {
    const { world, leader, followers } = await startCluster();
    const [lagging, other] = followers;
    const client = world.client();
    await client.start(leader);
    await order(client, ...CLOSED);
    // All have the entry; whether it is committed, only the old leader has told nobody.
    const operator = new Operator(world, other);
    const id = operator.ask("remove", lagging.id);
    leader.crash();
    expect(await operator.status(id)).toBe(UNAUTHENTICATED);
  });
});
