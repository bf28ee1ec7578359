import { describe, expect, test } from "vitest";
import { HoldfastError } from "../../../src/errors/index.js";
import type { SnapshotMessage } from "../../../src/server/snapshots/ports.js";
import { corruption } from "../../../src/storage/corruption.js";
import { type SnapshotNode, SnapshotWorld } from "./snapshot-world.js";

type Offer = SnapshotMessage & { readonly type: "snapshotOffer" };

/** What `leader` offered last, as anybody could say it again. */
function lastOffer(world: SnapshotWorld, leader: SnapshotNode): Offer {
  const offer = world.sentBy(leader, "snapshotOffer").at(-1);
  if (offer === undefined) throw new Error("no offer");
  return offer;
}

async function stored(node: SnapshotNode): Promise<number[]> {
  return (await node.store.list()).map(({ index }) => index);
}

describe("receiving snapshots", () => {
  test("goes on after a restart of the process where it was, at every chunk", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    const [manifest] = await leader.store.list();
    const chunkCount = manifest?.chunkCount as number;
    let appended = 0;
    for (let crashAt = 1; crashAt < chunkCount; crashAt += 1) {
      leader.want(peer);
      const next = () => peer.snapshots.status.receiving?.next ?? 0;
      await world.until(`chunk ${crashAt}`, () => next() >= crashAt);
      appended += peer.store.count("append");
      leader.unlink(peer);
      peer.crash();
      await peer.start();
    }
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    appended += peer.store.count("append");
    // What was under way when the process ended may have to come again.
    expect(appended).toBeLessThanOrEqual(2 * chunkCount);
    await world.until("table", () => !peer.snapshots.isRestoring);
    peer.commitTo(world.entries.length);
    await world.until("applied", () => peer.appliedIndex === world.entries.length);
    expect(peer.table.hash()).toBe(world.reference.hash());
  });

  test("an offer of a term that no election can have reached does not stand in a leader's way", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("an offer", () => world.sentBy(leader, "snapshotOffer").length > 0);
    const offer = lastOffer(world, leader);
    const snapshot = { ...offer.snapshot, checksum: "5e".repeat(32) };
    peer.inbox.push({ from: 3, to: peer.id, message: { ...offer, term: 2 ** 52, snapshot } });
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.named?.checksum).toBe(offer.snapshot.checksum);
  });

  test("refuses what is not what was offered, and takes it when it is", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.store.alter = (chunk) => chunk.map((byte, at) => (at === 5 ? byte ^ 1 : byte));
    leader.want(peer);
    await world.until("refusal", () => world.sentBy(peer, "snapshotRefused").length > 0);
    await world.until("failure", () => leader.failed.length > 0);
    expect(peer.store.count("finish")).toBe(1);
    expect(peer.store.count("abandon")).toBe(1);
    expect(peer.snapshots.status.receiving).toBeUndefined();
    peer.store.alter = (chunk) => chunk;
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.failure).toBeUndefined();
  });

  test("takes in one chunk in a turn", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("receiving", () => peer.snapshots.status.receiving !== undefined);
    const [manifest] = await leader.store.list();
    const before = peer.turnCount;
    await world.until("acceptance", () => peer.snapshots.isRestoring);
    expect(peer.turnCount - before).toBeGreaterThan(manifest?.chunkCount as number);
  });

  test("begins again when a chunk of an earlier process turns out to be damaged", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("chunk", () => (peer.snapshots.status.receiving?.next ?? 0) > 2);
    leader.unlink(peer);
    peer.crash();
    await peer.start();
    const place = { file: "store", offset: 0, index: 1 };
    peer.store.gate = (call) => {
      if (call === "read") throw corruption(place, "altered");
    };
    leader.want(peer);
    await world.until("refusal", () => world.sentBy(peer, "snapshotRefused").length > 0);
    expect(peer.failure).toBeUndefined();
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    await world.until("table", () => !peer.snapshots.isRestoring);
    expect(peer.table.index).toBe(peer.named?.index);
  });

  test("an offer of a node that does not lead does not stand in the leader's way", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    const other = await world.add();
    leader.want(peer);
    await world.until("an offer", () => world.sentBy(leader, "snapshotOffer").length > 0);
    const offer = lastOffer(world, leader);
    const snapshot = { ...offer.snapshot, checksum: "5e".repeat(32), index: 2 ** 40 };
    const said: Offer = { ...offer, snapshot };
    peer.inbox.push({ from: other.id, to: peer.id, message: said });
    await world.until("the other one", () => peer.snapshots.status.receiving?.peer === other.id);
    // It was heard before the leader was known.
    peer.leader = leader.id;
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.named?.checksum).toBe(offer.snapshot.checksum);
    peer.inbox.push({ from: other.id, to: peer.id, message: said });
    await world.run(5);
    expect(peer.snapshots.status.receiving).toBeUndefined();
  });

  test("refuses an offer whose configuration cannot be read", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("offer", () => world.sentBy(leader, "snapshotOffer").length > 0);
    const offer = lastOffer(world, leader);
    const snapshot = {
      ...offer.snapshot,
      checksum: "ab".repeat(32),
      index: offer.snapshot.index + 1,
      configuration: new Uint8Array([255, 255]),
    };
    world.send({ from: leader.id, to: peer.id, message: { ...offer, snapshot } });
    await world.until("refusal", () => world.sentBy(peer, "snapshotRefused").length > 0);
    expect(world.sentBy(peer, "snapshotRefused")[0]?.checksum).toBe(snapshot.checksum);
  });

  test("says so when there is no room, goes on, and takes it when there is", async () => {
    for (const full of ["receive", "append", "finish", "removeExcept"] as const) {
      const world = new SnapshotWorld();
      const leader = await world.addLeader();
      const peer = await world.add();
      peer.store.gate = (call) => {
        if (call === full) throw new HoldfastError("DISK_FULL", "no room");
      };
      leader.want(peer);
      await world.until("failure", () => leader.failed.length > 0);
      expect(world.sentBy(peer, "snapshotRefused").length).toBe(1);
      expect(peer.failure).toBeUndefined();
      peer.store.gate = () => {};
      leader.want(peer);
      await world.until("installed", () => peer.named !== undefined);
    }
  });

  test("leaves the node alone while the store hangs, and the leader gives up", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.store.gate = (call) => (call === "append" ? new Promise<void>(() => {}) : undefined);
    peer.commitTo(20);
    leader.want(peer);
    await world.until("failure", () => leader.failed.length > 0);
    expect(peer.store.count("append")).toBe(1);
    expect(peer.appliedIndex).toBe(20);
    expect(peer.failure).toBeUndefined();
  });

  test("ends the node when the store fails, whatever the call", async () => {
    for (const failing of ["receive", "append", "finish", "removeExcept"] as const) {
      const world = new SnapshotWorld();
      const leader = await world.addLeader();
      const peer = await world.add();
      const broken = new Error(`broken ${failing}`);
      peer.store.gate = (call) => {
        if (call === failing) throw broken;
      };
      leader.want(peer);
      await world.until("failure", () => peer.failure !== undefined);
      expect(peer.failure).toBe(broken);
      expect(leader.failure).toBeUndefined();
    }
  });

  test("hears no leader of an earlier term, and no older offer of the same one", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("chunk", () => (peer.snapshots.status.receiving?.next ?? 0) > 0);
    const offer = lastOffer(world, leader);
    const index = offer.snapshot.index;
    const other = { ...offer.snapshot, checksum: "cd".repeat(32) };
    // The offer is of a term that the core has not heard of: it was known to come from a leader.
    const said = [
      { ...offer, term: offer.term + 1 },
      { ...offer, snapshot: { ...other, index: index + 5 } },
      { ...offer, term: offer.term - 1, snapshot: { ...other, index: index + 5 } },
      { ...offer, term: offer.term + 1, snapshot: { ...other, index: index - 1 } },
    ];
    for (const message of said) world.send({ from: leader.id, to: peer.id, message });
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.named?.checksum).toBe(offer.snapshot.checksum);
    expect(peer.story.filter((event) => event === "receiving a snapshot").length).toBe(1);
  });

  test("begins nothing for a leader of an earlier term, or as the leader of its own", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    peer.term += 1;
    await world.run(100);
    expect(peer.snapshots.status.receiving).toBeUndefined();
    peer.term = leader.term;
    peer.role = "leader";
    await world.run(100);
    expect(peer.store.calls).toEqual([]);
    peer.role = "follower";
    await world.until("installed", () => peer.named !== undefined);
  });

  test("gives an older one up for a newer one, and leaves nothing of it", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const old = await world.add();
    const peer = await world.add();
    leader.want(peer);
    await world.until("chunk", () => (peer.snapshots.status.receiving?.next ?? 0) > 1);
    const first = lastOffer(world, leader);
    leader.unlink(peer);
    // Another node leads the next term, with a snapshot of its own.
    old.role = "leader";
    old.term += 1;
    world.acquire(60);
    old.commitTo(world.entries.length);
    await world.until("snapshot", () => old.named !== undefined);
    old.want(peer);
    await world.until("offer", () => peer.snapshots.status.receiving?.peer === old.id);
    // The old one is heard once more.
    leader.link(peer);
    world.send({ from: leader.id, to: peer.id, message: first });
    const { checksum } = first.snapshot;
    const bytes = new Uint8Array(10);
    world.send({
      from: leader.id,
      to: peer.id,
      message: { type: "snapshotChunk", checksum, number: 2, bytes },
    });
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.named?.term).toBe(old.term);
    expect(peer.named?.checksum).not.toBe(first.snapshot.checksum);
    await world.until("table", () => !peer.snapshots.isRestoring);
    await world.run(20);
    const manifests = await peer.store.list();
    expect(manifests.map(({ checksum: kept }) => kept)).toEqual([peer.named?.checksum]);
    // Its chunks and its record.
    expect(peer.disk.values.size).toBe((manifests[0]?.chunkCount as number) + 1);
  });

  test("answers at once, without a chunk, when everything is committed here", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add({ snapshotLogBytes: 1 << 30 });
    peer.commitTo(world.entries.length);
    leader.want(peer);
    await world.until("answer", () => peer.needless.length > 0);
    await world.run(50);
    expect(peer.needless).toEqual([leader.named?.index]);
    expect(leader.story).toContain("snapshot sent");
    expect(world.sentBy(leader, "snapshotChunk")).toEqual([]);
    expect(peer.store.calls).toEqual([]);
  });

  test("ends when the log has brought everything in the meantime", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add({ snapshotLogBytes: 1 << 30 });
    leader.want(peer);
    await world.until("chunk", () => (peer.snapshots.status.receiving?.next ?? 0) > 1);
    peer.commitTo(world.entries.length);
    await world.until("end", () => peer.snapshots.status.receiving === undefined);
    await world.run(50);
    expect(peer.needless).toEqual([leader.named?.index]);
    expect(await stored(peer)).toEqual([]);
    expect(peer.disk.values.size).toBe(0);
    expect(peer.named).toBeUndefined();
  });

  test("removes what the core did not want", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.isAccepting = false;
    leader.want(peer);
    await world.until("judgement", () => peer.story.includes("received snapshot not needed"));
    await world.run(20);
    expect(await stored(peer)).toEqual([]);
    expect(peer.snapshots.status).toMatchObject({ index: 0, isRestoring: false });
  });

  test("comes before a snapshot of the own table", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.store.gate = async (call) => {
      if (call === "append") for (let n = 0; n < 20; n += 1) await new Promise(setImmediate);
    };
    peer.commitTo(45);
    await world.until("own snapshot", () => peer.store.count("append") > 0);
    await world.run(2);
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.named?.checksum).toBe(leader.named?.checksum);
    expect(peer.snapshots.status.takenTotal).toBe(0);
    await world.until("table", () => !peer.snapshots.isRestoring);
    peer.commitTo(world.entries.length);
    await world.until("applied", () => peer.appliedIndex === world.entries.length);
    expect(peer.table.hash()).toBe(world.reference.hash());
  });

  test("ignores chunks nobody asked for", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.link(peer);
    const bytes = new Uint8Array(64);
    const forged = { type: "snapshotChunk", checksum: "ef".repeat(32), number: 0, bytes } as const;
    world.send({ from: leader.id, to: peer.id, message: forged });
    await world.run(5);
    expect(peer.store.calls).toEqual([]);
    leader.want(peer);
    let sent = 0;
    world.passes = ({ message }) => {
      if (message.type !== "snapshotChunk" || message.bytes === bytes) return true;
      sent += 1;
      const { checksum } = message;
      for (const number of [message.number + 1, message.number + 9, 1 << 20]) {
        world.send({ from: leader.id, to: peer.id, message: { ...forged, checksum, number } });
      }
      return true;
    };
    await world.until("end", () => peer.named !== undefined || peer.failure !== undefined);
    expect(sent).toBeGreaterThan(0);
    expect(peer.named?.checksum).toBe(leader.named?.checksum);
  });
});
