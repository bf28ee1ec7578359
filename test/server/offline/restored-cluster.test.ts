/**
 * A cluster that is restored from a snapshot, as whole drivers: every node begins with the same
 * table, no session is opened in the quiet time, whichever node leads, and all nodes agree from
 * then on.
 */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { LockTable } from "../../../src/lockfsm/index.js";
import { OP, STATUS } from "../../../src/protocol/index.js";
import { encodeConfiguration } from "../../../src/raft/index.js";
import { openSnapshotStore } from "../../../src/storage/index.js";
import { closingOrders, showToken, startClosedCluster } from "../world/closed-cluster.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { World, type WorldNode } from "../world/world.js";

const TUNING = { snapshotLogBytes: 8 << 20, trailingLogBytes: 1 << 20 };
const INDEX = 2 ** 40;
const TERM = 3;
const QUIET_MS = 30_000;
const LEVELS = { worker: "acquire" } as const;

/** What `node` would have if it had been restored from `table`. */
async function restore(node: WorldNode, table: LockTable): Promise<string> {
  const ids = [1, 2, 3];
  const addresses = ids.map((id) => ({ id, address: `node-${id}:1` }));
  const members = encodeConfiguration({ voters: ids, outgoing: [], learners: [], addresses });
  const store = node.store.open();
  const writer = await openSnapshotStore(store).create({ index: INDEX, term: TERM });
  for (const chunk of table.snapshot(500)) await writer.append(chunk);
  const { checksum } = await writer.finish(members);
  await store.close();
  const snapshot = { index: INDEX, term: TERM, checksum, isReset: true, keepFrom: INDEX + 1 };
  const hardState = { term: TERM, vote: 0 };
  node.disk.records.push({ seq: 1, hardState, truncateFrom: undefined, snapshot, entries: [] });
  return checksum;
}

/** The table of a cluster in which `k` is held and waited for, with the token of the hold. */
async function oldTable(): Promise<{ readonly table: LockTable; readonly token: number }> {
  const { world, leader } = await startCluster();
  const [holder, waiter] = [world.client(), world.client()];
  await holder.start(leader);
  const { result } = await holder.untilReply(holder.acquire("k", 0));
  await waiter.start(leader);
  await waiter.untilReply(waiter.acquire("k", 60_000));
  return { table: leader.table, token: "token" in result ? result.token : 0 };
}

async function restoredWorld(table: LockTable, seed = 1): Promise<World> {
  const world = new World({ seed, tuning: TUNING });
  const founded = () =>
    table.refounded({ index: INDEX, quietMs: QUIET_MS, tokenFloor: 0, savedWallMs: 1 });
  const checksums = new Set<string>();
  // The store of a node takes its time, which passes in the world alone.
  for (const node of world.nodes) node.storeMs = 0;
  for (const node of world.nodes) {
    const done = restore(node, founded());
    let isDone = false;
    done.finally(() => {
      isDone = true;
    });
    await world.until("the store", () => isDone);
    checksums.add(await done);
  }
  expect(checksums.size).toBe(1);
  for (const node of world.nodes) await node.restart();
  return world;
}

/** Asks for a session; the status of the answer. */
async function statusOfOpening(world: World, node: WorldNode): Promise<number> {
  const client = world.client();
  client.connect(node);
  await world.until("hello", () => client.hello !== undefined);
  client.attach();
  await world.until("an answer", () => client.attached(client.attempt) !== undefined);
  client.disconnect();
  return client.attached(client.attempt)?.status ?? -1;
}

describe("a restored cluster", () => {
  test("has one table on all nodes, and goes on from there with higher tokens", async () => {
    const { table, token } = await oldTable();
    const world = await restoredWorld(table);
    const leader = await world.untilLeader();
    expect(leader.raft.term).toBeGreaterThan(TERM);
    expect(leader.raft.lastIndex).toBeGreaterThan(INDEX);
    await expectAgreement(world);
    expect(await statusOfOpening(world, leader)).toBe(ERROR_NUMBERS.UNAVAILABLE);
    await world.run(QUIET_MS);
    const client = world.client();
    await client.start(leader);
    const { result } = await client.untilReply(client.acquire("k", 0));
    expect(result.status).toBe(STATUS.granted);
    expect("token" in result ? result.token : 0).toBeGreaterThan(token);
    await expectAgreement(world);
  });

  test("opens no session in the quiet time, however often the leader changes in it", async () => {
    const { table } = await oldTable();
    const world = await restoredWorld(table, 7);
    for (;;) {
      const leader = await world.untilLeader();
      const quietMs = Math.min(...world.nodes.map((node) => node.table.quietMs));
      const status = await statusOfOpening(world, leader);
      if (status === STATUS.ok) break;
      expect([status, quietMs > 0]).toEqual([ERROR_NUMBERS.UNAVAILABLE, true]);
      await world.run(3_000);
      leader.crash();
      await leader.restart();
    }
    // Time stands still while nobody leads, and never runs ahead.
    expect(world.nowMs).toBeGreaterThanOrEqual(QUIET_MS);
    await expectAgreement(world);
    for (const node of world.nodes) expect(node.table.quietMs).toBe(0);
  });

  test("that was closed is closed on every node, and gets its first credential at a local socket", async () => {
    const { leader: old } = await startClosedCluster(LEVELS);
    const world = await restoredWorld(old.table, 5);
    for (const node of world.nodes) {
      const judge = (caller: object) => node.driver.judgePage({ isTrusted: false, ...caller });
      expect([judge({}), judge({ token: "root" })]).toEqual(["refused", "unsure"]);
    }
    const leader = await world.untilLeader();
    for (const node of world.nodes) {
      expect(await statusOfOpening(world, node)).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
      const client = world.client();
      client.connect(node);
      client.query({ op: OP.signIn, id: 1, token: "root" });
      await world.until("the end", () => client.closed !== undefined);
      expect(client.answer(1)?.status).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
      expect(node.driver.judgePage({ isTrusted: false, token: "root" })).toBe("refused");
      expect(node.access.wasClosed).toBe(true);
    }
    // In the quiet time, and at the order count of the old cluster.
    const local = world.client();
    local.connect(leader, { isLocal: true });
    const digest = createHash("sha256").update("new").digest("hex");
    const orderCount = closingOrders(LEVELS).length;
    const head = { sequence: orderCount + 1, mark: orderCount, acknowledged: [] };
    const token = { label: "new", kind: "token", digest, expiresWallMs: 0 } as const;
    local.send({ op: OP.putCredential, ...head, name: "worker", ...token });
    expect((await local.untilReply(head.sequence)).result.status).toBe(STATUS.ok);
    await world.run(QUIET_MS);
    const worker = world.client();
    worker.connect(leader);
    await showToken(world, worker, "new");
    worker.attach();
    await world.until("attached", () => worker.attached(1) !== undefined);
    expect((await worker.untilReply(worker.acquire("k", 0))).result.status).toBe(STATUS.granted);
    await expectAgreement(world);
  });

  test("ends its quiet time by itself, with nobody there who wants a session", async () => {
    const { table } = await oldTable();
    const world = await restoredWorld(table, 3);
    await world.untilLeader();
    await world.run(QUIET_MS + 2_000);
    for (const node of world.nodes) expect(node.table.quietMs).toBe(0);
    await expectAgreement(world);
  });
});
