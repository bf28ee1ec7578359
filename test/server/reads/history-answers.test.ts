/** The history of a key through whole drivers, from memory and from the audit. */
import { describe, expect, test } from "vitest";
import { END_REASON, type HistoryView, OP, STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const SHORT = { snapshotLogBytes: 1_500, trailingLogBytes: 200 };
const KEEP_MS = 3_600_000;

async function historyOf(world: World, node: WorldNode, limit = 100): Promise<HistoryView> {
  const reader = world.client();
  reader.connect(node);
  reader.query({ op: OP.history, id: 1, key: "a", limit });
  await world.until("the history", () => reader.answer(1) !== undefined);
  expect(reader.answer(1)?.status).toBe(STATUS.ok);
  reader.disconnect();
  return reader.answer(1)?.payload as HistoryView;
}

/** Holds "a" so often; returns the tokens, the newest first. */
async function holdOften(world: World, client: TestClient, count: number): Promise<number[]> {
  const tokens: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const sequence = client.acquire("a", 0);
    await client.untilReply(sequence);
    tokens.unshift(client.token(sequence));
    await world.run(2);
    await client.untilReply(client.end(sequence));
  }
  return tokens;
}

describe("history", () => {
  test("shows on every node who holds and held a key, with wall times, newest first", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(leader);
    const past = await holdOften(world, client, 3);
    const sequence = client.acquire("a", 0);
    await client.untilReply(sequence);
    for (const node of [leader, ...followers]) {
      const { tenures, isTruncated } = await historyOf(world, node);
      expect(isTruncated).toBe(false);
      expect(tenures.map(({ token }) => token)).toEqual([client.token(sequence), ...past]);
      // Each acquire was followed by its end.
      expect(tenures.map((tenure) => tenure.sequence)).toEqual([7, 5, 3, 1]);
      const [present, ...ended] = tenures;
      expect(present?.reason).toBeNull();
      for (const { reason, heldMs, sessionName, grantedWallMs } of ended) {
        expect(reason).toBe(END_REASON.released);
        expect(heldMs).toBeGreaterThan(0);
        expect(sessionName).toBe(`client-${client.nonce}`);
        expect(Math.abs(grantedWallMs - 1_800_000_000_000 - world.nowMs)).toBeLessThan(1_000);
      }
      const cut = await historyOf(world, node, 2);
      expect(cut).toEqual({ tenures: tenures.slice(0, 2), isTruncated: true, lost: [] });
    }
  });

  test("without an audit is what was replayed since the last snapshot, and says so", async () => {
    const { world, leader, followers } = await startCluster({ tuning: SHORT });
    const client = world.client();
    await client.start(leader, 600_000);
    const past = await holdOften(world, client, 100);
    const [node] = followers;
    expect(node.raft.snapshotIndex).toBeGreaterThan(0);
    expect((await historyOf(world, node)).tenures.map(({ token }) => token)).toEqual(past);
    node.crash();
    await node.restart();
    await expectAgreement(world);
    const { tenures, isTruncated } = await historyOf(world, node);
    expect(isTruncated).toBe(true);
    expect(tenures.length).toBeLessThan(100);
    expect(tenures.map(({ token }) => token)).toEqual(past.slice(0, tenures.length));
  });

  test.each([1, 2, 3])(
    "with an audit is whole after crashes of every node: seed %i",
    async (seed) => {
      const options = { seed, tuning: SHORT, auditKeepMs: KEEP_MS };
      const { world } = await startCluster(options);
      let past: number[] = [];
      for (let round = 0; round < 4; round += 1) {
        const client = world.client();
        await client.start(world.leader as WorldNode, 600_000);
        past = [...(await holdOften(world, client, 60)), ...past];
        client.disconnect();
        const node = world.node(1 + ((round + seed) % 3));
        node.crash();
        await node.restart();
        await world.untilLeader();
        await expectAgreement(world);
      }
      for (const node of world.nodes) {
        expect(node.raft.snapshotIndex).toBeGreaterThan(0);
        const { tenures, isTruncated } = await historyOf(world, node, 1_000);
        expect(tenures.map(({ token }) => token)).toEqual(past);
        expect(isTruncated).toBe(false);
        expect(node.driver.status.observation.audit).toMatchObject({
          state: "writing",
          gapsTotal: 0,
        });
      }
    },
  );

  test("is linearizable: what was released before is ended in it, on every node", async () => {
    const { world, leader, followers } = await startCluster({ auditKeepMs: KEEP_MS });
    const client = world.client();
    await client.start(leader);
    for (let round = 1; round <= 10; round += 1) {
      const [token] = await holdOften(world, client, 1);
      const { tenures } = await historyOf(world, followers[round % 2] as WorldNode);
      expect(tenures[0]).toMatchObject({ token, reason: END_REASON.released });
      expect(tenures).toHaveLength(round);
    }
  });
});
