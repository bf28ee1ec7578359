/** Orders, which belong to no session, on their way through a node to the leader and back. */
import { describe, expect, test } from "vitest";
import { OP, STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";

const limitOf = (number: number) =>
  ({
    ...{ op: OP.setLimit, sequence: 2 ** 32 + number, mark: 0, acknowledged: [] },
    ...{ key: `s${number}`, limit: number },
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
        (number % 2 === 0 ? one : other).send(limitOf(number));
      }
      await world.run((seed % 10) * 0.9);
      leader.crash();
      for (let number = 1; number <= 10; number += 1) {
        const { sequence } = limitOf(number);
        const [asker, stranger] = number % 2 === 0 ? [one, other] : [other, one];
        expect((await asker.untilReply(sequence)).result.status).toBe(STATUS.ok);
        const repliesTo = (client: typeof one) =>
          client.received.filter((each) => "sequence" in each && each.sequence === sequence);
        expect([repliesTo(asker).length, repliesTo(stranger).length]).toEqual([1, 0]);
      }
      expect(followers[0].table.counts().sessions).toBe(0);
      expect(followers[0].table.counts().keys).toBe(10);
      await expectAgreement(world);
    }
  });
});
