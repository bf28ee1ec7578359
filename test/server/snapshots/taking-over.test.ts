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
