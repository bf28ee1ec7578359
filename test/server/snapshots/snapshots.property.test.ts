import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/random-stream.js";
import { runsOf } from "../../runs.js";
import { type SnapshotNode, SnapshotWorld } from "./snapshot-world.js";

const SEEDS = runsOf(2);
const ENTRIES = 900;

/** What a core and its links would do: ask for every node that lags and gets nothing. */
function askForLaggards(world: SnapshotWorld, leader: SnapshotNode): void {
  const served = new Set(leader.snapshots.status.sending.map(({ peer }) => peer));
  for (const peer of world.nodes) {
    if (peer === leader || !peer.isUp || served.has(peer.id)) continue;
    if (peer.appliedIndex + 1 < leader.firstIndex && !peer.snapshots.isRestoring) leader.want(peer);
    else if (!peer.snapshots.isRestoring)
      peer.commitTo(Math.max(peer.commitIndex, leader.appliedIndex));
  }
}

/** Something that goes wrong with one follower, or gets well again. */
async function disturb(world: SnapshotWorld, leader: SnapshotNode, random: () => number) {
  const peer = world.node(2 + Math.floor(random() * 2));
  const kind = random();
  if (kind < 0.3) {
    leader.unlink(peer);
  } else if (kind < 0.5 && peer.isUp) {
    leader.unlink(peer);
    peer.crash(random);
    await peer.start();
  } else if (kind < 0.7) {
    peer.isLogWorking = !peer.isLogWorking;
  } else {
    const isFull = kind < 0.8;
    peer.store.gate = async (call) => {
      if (isFull && call !== "readChunk")
        throw Object.assign(new Error("full"), { code: "ENOSPC" });
      for (let n = random() * 5; n > 0; n -= 1) await new Promise(setImmediate);
    };
  }
}

describe("snapshots under faults of every kind", () => {
  test("bring every follower to the leader's table, whatever happened on the way", async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed);
      const world = new SnapshotWorld();
      const leader = await world.addLeader();
      const followers = [await world.add(), await world.add()];
      world.acquire(ENTRIES);
      world.passes = () => random() > 0.02;
      for (let round = 0; round < 60; round += 1) {
        leader.commitTo(
          Math.min(world.entries.length, leader.commitIndex + Math.floor(random() * 30)),
        );
        askForLaggards(world, leader);
        if (random() < 0.3) await disturb(world, leader, random);
        await world.run(Math.floor(random() * 40));
      }
      world.passes = () => true;
      for (const node of world.nodes) {
        node.isLogWorking = true;
        node.store.gate = () => {};
      }
      leader.commitTo(world.entries.length);
      const isDone = ({ appliedIndex }: SnapshotNode) => appliedIndex === world.entries.length;
      for (let round = 0; !world.nodes.every(isDone) && round < 2_000; round += 1) {
        askForLaggards(world, leader);
        await world.run(20);
      }
      for (const node of world.nodes) expect(node.failure, `seed ${seed}`).toBeUndefined();
      const hashes = world.nodes.map(({ table }) => table.hash());
      expect(hashes, `seed ${seed}`).toEqual(Array(3).fill(world.reference.hash()));
      await world.run(200);
      for (const node of followers) {
        const kept = (await node.store.list()).map(({ checksum }) => checksum);
        expect(kept, `seed ${seed}`).toContain(node.named?.checksum);
      }
    }
  });
});
