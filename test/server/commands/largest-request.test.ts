/**
 * The largest acquire that is allowed goes the whole way: forwarded by a follower, proposed,
 * applied by every node, kept in a snapshot, granted later, and answered with a slot for each
 * permit.
 */
import { expect, test } from "vitest";
import { LockTable, TableRestore } from "../../../src/lockfsm/index.js";
import {
  ACKNOWLEDGED_MAX,
  ACQUIRE_DEFAULTS,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  LIMIT_MAX,
  OP,
  PERMITS_MAX,
  REQUEST_BYTES_MAX,
  SEQUENCE_MAX,
  STATUS,
  VALUE_BYTES_MAX,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { encodeCommand } from "../../protocol/command-bytes.js";
import { expectAgreement, startCluster } from "../world/cluster.js";

const share = PERMITS_MAX / ITEMS_MAX;
/** All of them together are what a semaphore has, so that the second to ask has to wait. */
const items = Array.from({ length: ITEMS_MAX }, (_, i) => {
  const key = String.fromCharCode(97 + i).repeat(KEY_BYTES_MAX);
  return { key, mode: "permits" as const, permits: share, limit: share };
});
const acquire = {
  ...{ op: OP.acquire, sequence: 1, mark: 1, task: 1, items, waitMs: WAIT_FOREVER },
  acknowledged: new Array<number>(ACKNOWLEDGED_MAX).fill(SEQUENCE_MAX),
  options: { ...ACQUIRE_DEFAULTS, value: "v".repeat(VALUE_BYTES_MAX) },
};
const slots = items.map(() => Array.from({ length: share }, (_, i) => i));

test("the largest acquire waits, is granted and is reported, at any node", async () => {
  const { world, leader, followers } = await startCluster();
  const [first, second] = [world.client(), world.client()];
  await first.start(followers[0]);
  await second.start(leader);
  first.send(acquire);
  expect((await first.untilReply(1)).result).toMatchObject({ status: STATUS.granted, slots });
  second.send(acquire);
  expect((await second.untilReply(1)).result).toEqual({ status: STATUS.queued });
  first.send({ op: OP.end, sequence: 2, mark: 1, acknowledged: [], target: 1 });
  await world.until("granted", () => second.outcome(1) !== undefined);
  expect(second.outcome(1)?.result).toMatchObject({ status: STATUS.granted, slots });
  await expectAgreement(world);
});

test("the largest acquire is as large as clients expect, and fits into a snapshot", () => {
  const largest = { ...acquire, items: items.map((item) => ({ ...item, limit: LIMIT_MAX })) };
  expect(encodeCommand(largest).length).toBeLessThanOrEqual(REQUEST_BYTES_MAX);
  const table = new LockTable();
  const outbox = { toSession: () => undefined, attached: () => undefined };
  const nonce = "0a".repeat(16);
  const open = { op: OP.open, nonce, attempt: 1, ttlMs: 15_000, name: "", metadata: "" };
  const commands = [{ session: 0, epoch: 0, command: open }];
  table.apply({ index: 1, stamp: 1_000, wallMs: 1_000, commands }, outbox);
  const [session] = table.listSessions(0, 1).sessions;
  const asked = { session: session?.session ?? 0, epoch: 1 };
  for (let index = 2; index < 100; index += 1) {
    const command = { ...largest, sequence: index - 1 };
    table.apply({ index, stamp: 1_000, wallMs: 1_000, commands: [{ ...asked, command }] }, outbox);
  }
  expect(table.counts()).toMatchObject({ holds: 98, keys: ITEMS_MAX });
  const restore = new TableRestore();
  for (const chunk of table.snapshot()) restore.add(chunk);
  const turns = restore.finish();
  let turn = turns.next();
  while (turn.done !== true) turn = turns.next();
  expect(turn.value.hash()).toBe(table.hash());
});
