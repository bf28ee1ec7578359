import { describe, expect, test } from "vitest";
import { SnapshotWorld } from "./snapshot-world.js";

describe("restoring snapshots", () => {
  test("leaves the table alone until the log durably names the snapshot", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.isLogWorking = false;
    leader.want(peer);
    await world.until("acceptance", () => peer.snapshots.isRestoring);
    await world.run(100);
    expect(peer.snapshots.isRestoring).toBe(true);
    expect(peer.store.count("readChunk")).toBe(0);
    expect(peer.table.counts().keys).toBe(0);
    peer.isLogWorking = true;
    peer.commitTo(world.entries.length);
    await world.until("table", () => !peer.snapshots.isRestoring);
    await world.until("applied", () => peer.appliedIndex === world.entries.length);
    expect(peer.table.hash()).toBe(world.reference.hash());
    expect(peer.snapshots.status.installedTotal).toBe(1);
  });

  test("takes in one chunk in a turn", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("acceptance", () => peer.snapshots.isRestoring);
    const [manifest] = await leader.store.list();
    const before = peer.turnCount;
    await world.until("table", () => !peer.snapshots.isRestoring);
    expect(peer.turnCount - before).toBeGreaterThan(manifest?.chunkCount as number);
  });

  test("is given up for a newer snapshot", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    let goOn: (() => void) | undefined;
    peer.store.gate = (call) => {
      if (call !== "readChunk" || goOn !== undefined) return;
      return new Promise<void>((resolve) => {
        goOn = resolve;
      });
    };
    leader.want(peer);
    await world.until("reading", () => peer.store.count("readChunk") === 1);
    const first = peer.named?.index as number;
    world.acquire(100);
    leader.commitTo(world.entries.length);
    await world.until("newer", () => leader.snapshots.status.index > first);
    await world.run(1_200);
    leader.want(peer);
    await world.until("newer one installed", () => peer.named?.index !== first);
    await world.until("table", () => !peer.snapshots.isRestoring);
    await world.run(20);
    expect((await peer.store.list()).map(({ index }) => index)).not.toContain(first);
    // A chunk of what is gone by now was still being read.
    goOn?.();
    await world.run(20);
    expect(peer.failure).toBeUndefined();
    expect(peer.appliedIndex).toBe(peer.named?.index);
    expect(peer.snapshots.status.installedTotal).toBe(1);
    peer.commitTo(world.entries.length);
    await world.until("applied", () => peer.appliedIndex === world.entries.length);
    expect(peer.table.hash()).toBe(world.reference.hash());
    await world.run(20);
    expect((await peer.store.list()).map(({ index }) => index)).toEqual([peer.named?.index]);
  });

  test("survives a restart of the process at any time", async () => {
    for (let after = 0; after < 12; after += 1) {
      const world = new SnapshotWorld();
      const leader = await world.addLeader();
      const peer = await world.add();
      leader.want(peer);
      await world.until("acceptance", () => peer.snapshots.isRestoring);
      await world.run(after);
      leader.unlink(peer);
      peer.crash();
      await peer.start();
      if (peer.named === undefined) {
        leader.want(peer);
        await world.until("installed", () => peer.named !== undefined);
        await world.until("table", () => !peer.snapshots.isRestoring);
      }
      peer.commitTo(world.entries.length);
      await world.until("applied", () => peer.appliedIndex === world.entries.length);
      expect(peer.table.hash()).toBe(world.reference.hash());
    }
  });

  test("starts the next own snapshot from there, not from what was before", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.commitTo(35);
    await world.until("applied", () => peer.appliedIndex === 35);
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    const installed = peer.named?.index as number;
    world.acquire(100);
    peer.commitTo(installed + 40);
    await world.until("applied", () => peer.appliedIndex === installed + 40);
    await world.run(20);
    expect(peer.snapshots.status.takenTotal).toBe(0);
    peer.commitTo(installed + 41);
    await world.until("snapshot", () => peer.snapshots.status.takenTotal === 1);
  });
});
