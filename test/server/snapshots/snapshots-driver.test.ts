/**
 * Whole drivers whose logs are cut: nodes that were away install a snapshot while clients are
 * attached to them, while others crash, and during elections.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, OP, STATUS } from "../../../src/protocol/index.js";
import { grant, order, putIdentity, putToken, removeCredential } from "../world/access-orders.js";
import { showToken } from "../world/closed-cluster.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import { Watcher } from "../world/watcher.js";
import type { World, WorldNode } from "../world/world.js";

/** A snapshot every few dozen commands, and next to nothing kept before it. */
const SHORT = { snapshotLogBytes: 1_500, trailingLogBytes: 200 };

/** Has `node` miss so much that nobody's log holds what it needs next. */
async function leaveBehind(world: World, node: WorldNode, through: WorldNode): Promise<void> {
  const others = world.nodes.filter((other) => other !== node).map(({ id }) => id);
  world.network.cut([node.id], others);
  const client = world.client();
  await client.start(through, 600_000);
  const behind = node.raft.lastIndex;
  while (world.nodes.some((other) => other !== node && other.raft.firstIndex <= behind + 1)) {
    await client.untilReply(client.acquire("a", 0));
    await client.untilReply(client.end(client.lastSequence));
  }
}

/** The node is back, and its disk takes long over the record that names the snapshot. */
async function beginRestoring(world: World, node: WorldNode): Promise<void> {
  world.network.heal();
  const isReceiving = (): boolean => node.driver.status.snapshots.receiving !== undefined;
  await world.until("the snapshot comes", isReceiving);
  node.log.writeMs = 3_000;
  await world.until("the snapshot is taken over", () => isRestoring(node));
  node.log.writeMs = undefined;
}

/** Whether the table of that node has the session of that client. */
function isKnown(node: WorldNode, { session }: TestClient): boolean {
  return node.table.identityOf(session) !== undefined;
}

function isRestoring(node: WorldNode): boolean {
  return node.driver.status.snapshots.isRestoring;
}

describe("a node that takes over a snapshot", () => {
  test("leads only when its table is whole, and lets time go on from there", async () => {
    const { world, leader, followers } = await startCluster({ tuning: SHORT });
    const [late, other] = followers;
    await leaveBehind(world, late, leader);
    await beginRestoring(world, late);
    const { stamp } = leader.table;
    leader.crash();
    other.crash();
    await other.restart();
    let hasLedTooEarly = false;
    await world.until("a leader", () => {
      hasLedTooEarly ||= late.raft.role === "leader" && isRestoring(late);
      return other.raft.leader !== 0;
    });
    expect(hasLedTooEarly).toBe(false);
    const client = world.client();
    await client.start(await world.untilLeader());
    expect((await client.untilReply(client.acquire("c", 0))).result.status).toBe(STATUS.granted);
    await world.until("the whole table", () => !isRestoring(late));
    expect(late.table.stamp).toBeGreaterThanOrEqual(stamp);
    await leader.restart();
    await expectAgreement(world);
  });

  test("is not handed leadership meanwhile", async () => {
    const { world, leader, followers } = await startCluster({ tuning: SHORT });
    const [late] = followers;
    await leaveBehind(world, late, leader);
    await beginRestoring(world, late);
    const operator = world.client();
    operator.connect(leader);
    operator.operate({ op: OP.transfer, id: 1, node: late.id });
    await world.until("an answer", () => operator.answer(1) !== undefined);
    expect(operator.answer(1)?.status).toBe(ERROR_NUMBERS.BUSY);
    expect(leader.raft.role).toBe("leader");
    await expectAgreement(world);
    operator.operate({ op: OP.transfer, id: 2, node: late.id });
    await world.until("an answer", () => operator.answer(2) !== undefined);
    expect(operator.answer(2)?.status).toBe(STATUS.ok);
    expect((await world.untilLeader()).id).toBe(late.id);
  });

  test("sends clients away that come meanwhile, and cuts off those it had", async () => {
    const { world, leader, followers } = await startCluster({ tuning: SHORT });
    const [late] = followers;
    const attached = world.client();
    await attached.start(late, 600_000);
    await leaveBehind(world, late, leader);
    // Kept and forwarded, and executed in what the snapshot skips, or never.
    const sequence = attached.acquire("mine", 0);
    await beginRestoring(world, late);
    await world.until("the end of the connection", () => attached.closed !== undefined);
    expect(attached.closed?.code).toBe(1012);
    const coming = world.client();
    coming.connect(late);
    coming.attach(600_000);
    const isTold = (): boolean => coming.received.some(({ kind }) => kind === MESSAGE.move);
    await world.until("the word to move", isTold, 2_000);
    expect(isRestoring(late)).toBe(true);
    await attached.start(leader);
    if (attached.lastSequence < sequence) await attached.untilReply(attached.acquire("mine", 0));
    const [hold] = leader.table.inspect("mine").holds;
    expect(hold).toMatchObject({ session: attached.session, sequence });
    await expectAgreement(world);
    // Its attach was committed meanwhile, and is answered when it is applied.
    await world.until("the answer", () => coming.attached(coming.attempt) !== undefined);
    expect(late.driver.status.keptBytes).toBe(0);
  });

  test("cuts off everyone it had, with a session and without, whatever the snapshot knows", async () => {
    const { world, leader, followers } = await startCluster({ tuning: SHORT });
    const [late, other] = followers;
    const operator = world.client();
    await operator.start(leader, 600_000);
    await order(operator, putIdentity("ci"), putToken("ci", "secret"), grant("ci", "operate"));
    const [lasting, expiring, removed] = [world.client(), world.client(), world.client()];
    await lasting.start(late, 600_000);
    await expiring.start(late, 1_000);
    removed.connect(late);
    await showToken(world, removed, "secret");
    const watching = new Watcher(world, late);
    await watching.untilBegun();
    const [idle, attaching, reading] = [world.client(), world.client(), world.client()];
    for (const client of [idle, attaching, reading]) client.connect(late);
    await world.run(50);

    world.network.cut([late.id], [leader.id, other.id]);
    await order(operator, removeCredential("ci", "token"));
    await world.until("the end of a session", () => !isKnown(leader, expiring));
    await leaveBehind(world, late, leader);
    attaching.attach();
    reading.query({ op: OP.inspect, id: 5, key: "a" });
    await beginRestoring(world, late);
    await world.run(50);
    const { client: watcher } = watching;
    const clients = { lasting, expiring, removed, watcher, idle, attaching, reading };
    const codes = Object.entries(clients).map(([name, { closed }]) => [name, closed?.code]);
    expect(codes).toEqual(Object.keys(clients).map((name) => [name, 1012]));

    await expiring.start(other);
    expect(expiring.attached(expiring.attempt)?.status).toBe(ERROR_NUMBERS.SESSION_EXPIRED);
    expect([isKnown(leader, lasting), isKnown(leader, expiring)]).toEqual([true, false]);
    await expectAgreement(world);
  });
});
