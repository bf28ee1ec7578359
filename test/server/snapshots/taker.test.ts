import { describe, expect, test } from "vitest";
import { HoldfastError } from "../../../src/errors/index.js";
import { LockTable, type TableEntry } from "../../../src/lockfsm/index.js";
import { decodeConfiguration } from "../../../src/raft/index.js";
import { restoreAtBoot } from "../../../src/server/snapshots/restore-at-boot.js";
import { ENTRY_BYTES, OPTIONS, SnapshotWorld } from "./snapshot-world.js";

const NEVER = new Promise<void>(() => {});

/** The hash of a table that applied the first `count` entries. */
function hashAfter(entries: readonly TableEntry[], count: number): string {
  const table = new LockTable();
  for (const entry of entries.slice(0, count)) {
    table.apply(entry, { toSession: () => {}, attached: () => {} });
  }
  return table.hash();
}

describe("taking snapshots", () => {
  test("gives the state at its index while entries go on being applied", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    world.acquire(200);
    node.commitTo(200);
    await world.until("snapshot", () => node.named !== undefined);
    const [manifest] = await node.store.list();
    if (manifest === undefined) throw new Error("no snapshot");
    expect(manifest.chunkCount).toBeGreaterThan(5);
    expect(manifest.term).toBe(node.term);
    expect(node.appliedIndex).toBeGreaterThan(manifest.index);
    const table = new LockTable();
    await restoreAtBoot(node.store, manifest, table);
    expect(table.hash()).toBe(hashAfter(world.entries, manifest.index));
  });

  test("begins after the given bytes of entries, not before", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    world.acquire(200);
    node.commitTo(OPTIONS.snapshotLogBytes / ENTRY_BYTES);
    await world.run(50);
    expect(node.appliedIndex).toBe(40);
    expect(node.store.calls).toEqual([]);
    node.commitTo(41);
    await world.until("snapshot", () => node.named !== undefined);
    expect(node.named?.index).toBe(41);
    expect(node.snapshots.status).toMatchObject({ takenTotal: 1, index: 41, isTaking: false });
    const taken = node.turnCount;
    await world.run(500);
    expect(node.snapshots.status.takenTotal).toBe(1);
    expect(node.turnCount - taken).toBeLessThan(5);
  });

  test("does not take the next one before the log is a multiple of the last one", async () => {
    const world = new SnapshotWorld();
    const node = await world.add({ snapshotSizeFactor: 6 });
    world.acquire(400);
    node.commitTo(41);
    await world.until("first snapshot", () => node.named?.index === 41);
    const { bytes } = node.snapshots.status;
    const entries = Math.floor((6 * bytes) / ENTRY_BYTES);
    expect(entries).toBeGreaterThan(41);
    node.commitTo(41 + entries);
    await world.run(50);
    expect(node.appliedIndex).toBe(41 + entries);
    expect(node.snapshots.status).toMatchObject({ takenTotal: 1, isTaking: false });
    node.commitTo(42 + entries);
    await world.until("second snapshot", () => node.named?.index === 42 + entries);
  });

  test("names the configuration that was in force at its index", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    world.acquire(60);
    node.commitTo(41);
    await world.until("end of taking", () => node.snapshots.status.isTaking);
    const { configuration } = node;
    node.configuration = { ...configuration, learners: [9] };
    node.commitTo(60);
    await world.until("snapshot", () => node.named !== undefined);
    const [manifest] = await node.store.list();
    expect(decodeConfiguration(manifest?.configuration as Uint8Array)).toEqual(configuration);
  });

  test("draws nothing while a chunk is not durable, and the node goes on", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    node.store.gate = (call) => (call === "append" ? NEVER : undefined);
    world.acquire(200);
    node.commitTo(200);
    await world.until("everything applied", () => node.appliedIndex === 200);
    await world.run(500);
    expect(node.store.count("append")).toBe(1);
    expect(node.snapshots.status).toMatchObject({ isTaking: true, takenTotal: 0 });
    expect(node.table.hash()).toBe(hashAfter(world.entries, 200));
    expect(node.failure).toBeUndefined();
  });

  test("leaves the given bytes of the log to followers that are only slow", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    world.acquire(200);
    node.commitTo(60);
    await world.until("compaction", () => node.firstIndex > 1);
    const kept = node.appliedIndex - node.firstIndex + 1;
    expect(kept).toBeGreaterThanOrEqual(16);
    expect(kept).toBeLessThanOrEqual(16 + 5);
  });

  test("keeps the log from the end of the snapshot at the latest", async () => {
    const world = new SnapshotWorld();
    const node = await world.add({ trailingLogBytes: ENTRY_BYTES });
    world.acquire(200);
    node.commitTo(150);
    await world.until("compaction", () => node.firstIndex > 1);
    expect(node.firstIndex).toBe((node.named?.index as number) + 1);
  });

  test("removes older ones only when the log durably names the new one", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    world.acquire(400);
    node.commitTo(60);
    await world.until("first snapshot", () => node.named !== undefined);
    const first = node.named?.index;
    await world.run(20);
    node.isLogWorking = false;
    node.commitTo(120);
    await world.until("second snapshot", () => node.snapshots.status.takenTotal === 2);
    await world.run(100);
    const indexes = async () => (await node.store.list()).map(({ index }) => index);
    const second = node.snapshots.status.index;
    expect(await indexes()).toEqual([first, second]);
    node.isLogWorking = true;
    node.commitTo(121);
    await world.run(20);
    expect(await indexes()).toEqual([second]);
  });

  test("keeps every one that a record on its way to disk names", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader(150);
    const node = await world.add();
    node.commitTo(41);
    await world.until("first snapshot", () => node.named !== undefined);
    await world.run(20);
    node.isLogWorking = false;
    node.commitTo(82);
    await world.until("second snapshot", () => node.snapshots.status.takenTotal === 2);
    await world.until("leader's snapshot", () => leader.snapshots.status.index > 100);
    leader.want(node);
    await world.until("third snapshot", () => node.snapshots.isRestoring);
    const indexes = async () => (await node.store.list()).map(({ index }) => index);
    const before = await indexes();
    expect(before.slice(0, 2)).toEqual([41, 82]);
    expect(before.length).toBe(3);
    // One that cannot be used makes the store be cleared.
    world.acquire(100);
    leader.commitTo(world.entries.length);
    const newest = before[2] as number;
    await world.until("newer one", () => leader.snapshots.status.index > newest);
    node.store.alter = (chunk) => chunk.map((byte) => byte ^ 1);
    leader.want(node);
    const cleared = node.store.count("removeExcept");
    await world.until("refusal", () => world.sentBy(node, "snapshotRefused").length > 0);
    await world.until("clearing", () => node.store.count("removeExcept") > cleared);
    await world.run(20);
    expect(await indexes()).toEqual(before);
  });

  test("does not begin another one before the log durably names the last", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    node.isLogWorking = false;
    world.acquire(200);
    node.commitTo(200);
    await world.until("applied", () => node.appliedIndex === 200);
    await world.run(100);
    expect(node.snapshots.status.takenTotal).toBe(1);
    node.isLogWorking = true;
    await world.until("another one", () => node.snapshots.status.takenTotal === 2);
    await world.run(20);
    expect((await node.store.list()).map(({ index }) => index)).toEqual([200]);
  });

  test("waits longer and longer while there is no room, and then succeeds", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    node.store.gate = (call) => {
      if (call === "append") throw new HoldfastError("DISK_FULL", "no room");
    };
    world.acquire(200);
    node.commitTo(60);
    await world.run(1_000);
    expect(node.store.count("create")).toBe(1);
    expect(node.store.count("abandon")).toBe(1);
    await world.run(1_000);
    expect(node.store.count("create")).toBe(2);
    await world.run(2_000);
    expect(node.store.count("create")).toBe(2);
    await world.run(2_000);
    expect(node.store.count("create")).toBe(3);
    expect(node.snapshots.status).toMatchObject({ abandonedTotal: 3, takenTotal: 0 });
    expect(node.failure).toBeUndefined();
    node.store.gate = () => {};
    node.commitTo(80);
    await world.until("snapshot", () => node.named !== undefined);
    expect(node.named?.index).toBe(80);
    expect(node.turnCount).toBeLessThan(200);
  });

  test("ends the node when the store fails, whatever the call", async () => {
    for (const failing of ["create", "append", "finish", "removeExcept"] as const) {
      const world = new SnapshotWorld();
      const node = await world.add();
      const broken = new Error(`broken ${failing}`);
      node.store.gate = (call) => {
        if (call === failing) throw broken;
      };
      world.acquire(60);
      node.commitTo(60);
      await world.until("failure", () => node.failure !== undefined);
      expect(node.failure).toBe(broken);
    }
  });

  test("stops when the call under way has ended, and begins no other", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    let goOn = (): void => {};
    node.store.gate = (call) => {
      if (call !== "append") return;
      return new Promise<void>((resolve) => {
        goOn = resolve;
      });
    };
    world.acquire(60);
    node.commitTo(60);
    await world.until("append", () => node.store.count("append") === 1);
    let isStopped = false;
    const stopped = node.snapshots.stop().then(() => {
      isStopped = true;
    });
    await world.run(20);
    expect(isStopped).toBe(false);
    goOn();
    await stopped;
    await world.run(20);
    expect(node.store.count("append")).toBe(1);
    expect(node.store.count("finish")).toBe(0);
  });

  test("goes on from the snapshot after a restart", async () => {
    const world = new SnapshotWorld();
    const node = await world.add();
    world.acquire(200);
    node.commitTo(60);
    await world.until("snapshot", () => node.named !== undefined);
    await world.run(20);
    node.crash();
    await node.start();
    expect(node.table.hash()).toBe(hashAfter(world.entries, node.named?.index as number));
    expect(node.snapshots.status.index).toBe(node.named?.index);
    const before = node.named?.index as number;
    node.commitTo(200);
    await world.until("next snapshot", () => node.named?.index !== before);
    expect(node.table.hash()).toBe(hashAfter(world.entries, node.appliedIndex));
  });
});
