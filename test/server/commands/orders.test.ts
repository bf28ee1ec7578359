/** Orders, which belong to no session, on their way through a node to the leader and back. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { OP, STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";

const revokeOf = (number: number) =>
  ({
    ...{ op: OP.revoke, sequence: 2 ** 32 + number, mark: 0, acknowledged: [] },
    ...{ key: `s${number}`, token: 1, graceMs: 0, now: true, reason: "" },
  }) as const;

const limitOf = (limit: number, mark: number, number = 1) =>
  ({
    ...{ op: OP.setLimit, sequence: 2 ** 33 + number, mark, acknowledged: [] },
    ...{ key: "s", limit },
  }) as const;

describe("orders without a session", () => {
  test("are answered by the node that took them, though the leader dies with them in flight", async () => {
    for (let seed = 1; seed <= 15; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed });
      const [one, other] = [world.client(), world.client()];
      one.connect(followers[0]);
      other.connect(followers[1]);
      await world.run(20);
      for (let number = 1; number <= 10; number += 1) {
        (number % 2 === 0 ? one : other).send(revokeOf(number));
      }
      await world.run((seed % 10) * 0.9);
      leader.crash();
      for (let number = 1; number <= 10; number += 1) {
        const { sequence } = revokeOf(number);
        const [asker, stranger] = number % 2 === 0 ? [one, other] : [other, one];
        expect((await asker.untilReply(sequence)).result.status).toBe(STATUS.revoked);
        const repliesTo = (client: typeof one) =>
          client.received.filter((each) => "sequence" in each && each.sequence === sequence);
        expect([repliesTo(asker).length, repliesTo(stranger).length]).toEqual([1, 0]);
      }
      expect(followers[0].table.counts().sessions).toBe(0);
      await expectAgreement(world);
    }
  });

  test("name the order count: copies at two nodes take effect once, and none after a later order", async () => {
    const { world, followers } = await startCluster();
    const [one, other] = [world.client(), world.client()];
    one.connect(followers[0]);
    other.connect(followers[1]);
    await world.run(20);
    const limit = () => followers[0].table.inspect("s").limit;
    const first = limitOf(3, 0);
    one.send(first);
    other.send(first);
    const replies = [one, other].map((client) => client.untilReply(first.sequence));
    // Both wait for that number, and both learn what the first copy did.
    for (const reply of replies) expect((await reply).result.status).toBe(STATUS.ok);
    const later = limitOf(5, 1, 2);
    one.send(later);
    expect((await one.untilReply(later.sequence)).result.status).toBe(STATUS.ok);
    const late = limitOf(3, 0, 3);
    other.send(late);
    expect((await other.untilReply(late.sequence)).result).toEqual({
      ...{ status: ERROR_NUMBERS.OUTDATED_ORDER, orderCount: 2 },
    });
    await world.until("all have it", () => followers[0].table.inspect("s").kind !== null);
    expect(limit()).toBe(5);
    await expectAgreement(world);
  });
});
