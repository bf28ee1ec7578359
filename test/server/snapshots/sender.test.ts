import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/random-stream.js";
import { OPTIONS, SnapshotWorld } from "./snapshot-world.js";

const { electionTimeoutMs, heartbeatIntervalMs } = OPTIONS;
const WINDOW_CHUNKS = 4;
const STALL_MS = 10 * electionTimeoutMs;

describe("sending snapshots", () => {
  test("brings several peers to the same table at once", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peers = [await world.add(), await world.add()];
    for (const peer of peers) leader.want(peer);
    await world.until("both", () => peers.every((peer) => peer.named !== undefined));
    const all = world.entries.length;
    for (const peer of peers) {
      await world.until("table", () => !peer.snapshots.isRestoring);
      expect(peer.named).toMatchObject({ checksum: leader.named?.checksum });
      peer.commitTo(all);
    }
    await world.until("all applied", () => peers.every((peer) => peer.appliedIndex === all));
    for (const peer of peers) expect(peer.table.hash()).toBe(world.reference.hash());
    const chunks = world.sentBy(leader, "snapshotChunk");
    const [manifest] = await leader.store.list();
    expect(chunks.length).toBe(2 * (manifest?.chunkCount as number));
    expect(leader.failure).toBeUndefined();
  });

  test("goes on after a lost connection where the receiver stands, at every chunk", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    const [manifest] = await leader.store.list();
    const chunkCount = manifest?.chunkCount as number;
    for (let cutAt = 0; cutAt < chunkCount; cutAt += 1) {
      leader.want(peer);
      const next = () => peer.snapshots.status.receiving?.next ?? 0;
      await world.until(`chunk ${cutAt}`, () => next() >= cutAt || peer.named !== undefined);
      leader.unlink(peer);
      await world.run(3);
      const durable = next();
      const before = world.sentBy(leader, "snapshotChunk").length;
      leader.link(peer);
      leader.want(peer);
      await world.until("chunk", () => next() > durable || peer.named !== undefined);
      const [first] = world.sentBy(leader, "snapshotChunk").slice(before);
      if (first !== undefined) expect(first.number).toBeGreaterThanOrEqual(durable);
      leader.unlink(peer);
    }
    leader.link(peer);
    if (peer.named === undefined) leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.store.count("append")).toBe(chunkCount);
    expect(leader.failed).toEqual([]);
  });

  test("never sends more than a window beyond what the receiver has durable", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    let goOn = (): void => {};
    peer.store.gate = (call) => {
      if (call !== "append") return;
      return new Promise<void>((resolve) => {
        goOn = resolve;
      });
    };
    leader.want(peer);
    for (let durable = 0; durable < 4; durable += 1) {
      await world.until("append", () => peer.store.count("append") === durable + 1);
      await world.run(heartbeatIntervalMs);
      const numbers = world.sentBy(leader, "snapshotChunk").map(({ number }) => number);
      expect(numbers).toEqual(Array.from({ length: durable + WINDOW_CHUNKS }, (_, n) => n));
      goOn();
    }
  });

  test("adds nothing to a link in which much is waiting", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("chunk", () => world.sentBy(leader, "snapshotChunk").length > 0);
    leader.bufferedBytes = (1 << 20) + 1;
    await world.run(5);
    const sent = world.sentBy(leader, "snapshotChunk").length;
    await world.run(electionTimeoutMs / 2);
    expect(world.sentBy(leader, "snapshotChunk").length).toBe(sent);
    leader.bufferedBytes = 0;
    await world.until("installed", () => peer.named !== undefined);
  });

  test("sends one chunk to a peer in a turn", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    const counts = [];
    while (peer.named === undefined) {
      const before = world.sentBy(leader, "snapshotChunk").length;
      await world.step();
      counts.push(world.sentBy(leader, "snapshotChunk").length - before);
    }
    expect(Math.max(...counts)).toBe(1);
  });

  test("repeats an offer until it is answered, and then gives up", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    world.passes = ({ from }) => from !== peer.id;
    leader.want(peer);
    await world.run(STALL_MS);
    const offers = world.sentBy(leader, "snapshotOffer").length;
    expect(offers).toBeGreaterThanOrEqual(STALL_MS / heartbeatIntervalMs - 1);
    expect(offers).toBeLessThanOrEqual(STALL_MS / heartbeatIntervalMs + 1);
    expect(leader.failed).toEqual([]);
    await world.until("failure", () => leader.failed.length > 0);
    expect(world.sentBy(leader, "snapshotOffer").length).toBe(offers);
    expect(leader.snapshots.status.sending).toEqual([]);
  });

  test("reports failures to the core later and later, while they last", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.store.gate = (call) => {
      if (call === "receive") throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    const pauses = [];
    for (let round = 0; round < 8; round += 1) {
      const beganMs = world.nowMs;
      leader.want(peer);
      await world.until("failure", () => leader.failed.length > round);
      pauses.push(Math.round((world.nowMs - beganMs) / electionTimeoutMs));
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 64]);
    peer.store.gate = () => {};
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.failure).toBeUndefined();
  });

  test("counts slow progress as progress", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    let goOn: (() => void) | undefined;
    peer.store.gate = (call) => {
      if (call !== "append") return;
      return new Promise<void>((resolve) => {
        goOn = resolve;
      });
    };
    leader.want(peer);
    for (let count = 1; peer.store.count("finish") === 0; count += 1) {
      await world.until("append", () => peer.store.count("append") === count);
      await world.run(STALL_MS * 0.9);
      goOn?.();
      await world.run(5);
    }
    await world.until("installed", () => peer.named !== undefined);
    expect(leader.failed).toEqual([]);
  });

  test("recovers when messages are lost on a connection that stands", async () => {
    for (const lost of ["snapshotOffer", "snapshotChunk", "snapshotProgress"] as const) {
      const world = new SnapshotWorld();
      const leader = await world.addLeader();
      const peer = await world.add();
      const random = seededRandom(7);
      world.passes = ({ message }) => message.type !== lost || random() < 0.6;
      leader.want(peer);
      await world.until("installed", () => peer.named !== undefined);
      expect(leader.failed).toEqual([]);
    }
  });

  test("ends with the leadership, unsaid", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    world.passes = ({ from }) => from !== peer.id;
    leader.want(peer);
    await world.run(5);
    leader.role = "follower";
    await world.run(3 * STALL_MS);
    expect(leader.snapshots.status.sending).toEqual([]);
    expect(world.sentBy(leader, "snapshotOffer").length).toBeLessThanOrEqual(2);
    expect(leader.failed).toEqual([]);
  });

  test("keeps the snapshot and the log after it until the receiver has it", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const sent = leader.named?.index as number;
    const peer = await world.add();
    world.acquire(200);
    leader.want(peer);
    await world.until("chunk", () => (peer.snapshots.status.receiving?.next ?? 0) > 1);
    world.passes = ({ from }) => from !== leader.id;
    leader.commitTo(sent + 70);
    await world.until("next snapshot", () => leader.named?.index !== sent);
    await world.run(20);
    expect((await leader.store.list()).map(({ index }) => index)).toContain(sent);
    expect(leader.firstIndex).toBeLessThanOrEqual(sent + 1);
    world.passes = () => true;
    await world.until("installed", () => peer.named !== undefined);
    expect(peer.named?.index).toBe(sent);
    await world.run(2 * STALL_MS);
    leader.commitTo(world.entries.length);
    const newest = () => leader.snapshots.status.index;
    await world.until("removal", () => leader.store.count("removeExcept") > 4);
    await world.run(5);
    expect((await leader.store.list()).map(({ index }) => index)).toEqual([newest()]);
  });

  test("goes over to the newest one when the log cannot wait any longer", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const sent = leader.named?.index as number;
    const peer = await world.add();
    world.acquire(500);
    leader.want(peer);
    await world.until("chunk", () => (peer.snapshots.status.receiving?.next ?? 0) > 1);
    // The receiver is slow, and still has something to tell from time to time.
    let passed = 0;
    world.passes = ({ message }) => {
      if (message.type !== "snapshotChunk") return true;
      passed += 1;
      return leader.firstIndex > sent + 1;
    };
    leader.commitTo(world.entries.length);
    await world.until("cut", () => leader.firstIndex > sent + 1);
    await world.until("installed", () => peer.named !== undefined);
    expect(passed).toBeGreaterThan(0);
    expect(peer.named?.index).toBeGreaterThan(sent);
    expect(peer.named?.index).toBeGreaterThanOrEqual(leader.firstIndex - 1);
    expect(leader.failed).toEqual([]);
  });

  test("does not go over to a newer one for a receiver that has had its own", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.want(peer);
    await world.until("installed", () => peer.named !== undefined);
    const { index } = leader.named ?? { index: 0 };
    world.acquire(600);
    leader.commitTo(world.entries.length);
    await world.until("cut", () => leader.firstIndex > index + 1);
    await world.run(50);
    expect(leader.snapshots.status.sending).toEqual([]);
    expect(world.sentBy(leader, "snapshotOffer").length).toBe(1);
  });

  test("asks the core to look again when a delivered snapshot changed nothing", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    peer.isAccepting = false;
    leader.want(peer);
    await world.until("failure", () => leader.failed.length > 0);
    expect(leader.story).toContain("snapshot sent");
    expect(peer.named).toBeUndefined();
  });

  test("ends the node when the snapshot cannot be read any more", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.store.gate = (call) => {
      if (call === "readChunk") throw new Error("unreadable");
    };
    leader.want(peer);
    await world.until("failure", () => leader.failure !== undefined);
    expect(leader.failure).toEqual(new Error("unreadable"));
  });

  test("does not miss what it was still reading of a snapshot that was removed", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const sent = leader.named?.index;
    const peer = await world.add();
    let goOn: (() => void) | undefined;
    leader.store.gate = (call) => {
      if (call !== "readChunk") return;
      return new Promise<void>((resolve) => {
        goOn = resolve;
      });
    };
    leader.want(peer);
    await world.until("reading", () => goOn !== undefined);
    leader.unlink(peer);
    world.acquire(100);
    leader.commitTo(world.entries.length);
    await world.until("next snapshot", () => leader.named?.index !== sent);
    await world.run(20);
    expect((await leader.store.list()).map(({ index }) => index)).not.toContain(sent);
    goOn?.();
    await world.run(20);
    expect(leader.failure).toBeUndefined();
  });

  test("gives a peer up, and nothing else, while the own store hangs", async () => {
    const world = new SnapshotWorld();
    const leader = await world.addLeader();
    const peer = await world.add();
    leader.store.gate = () => new Promise<void>(() => {});
    leader.want(peer);
    await world.until("failure", () => leader.failed.length > 0);
    expect(leader.failure).toBeUndefined();
    world.acquire(20);
    leader.commitTo(world.entries.length);
    await world.until("applied", () => leader.appliedIndex === world.entries.length);
  });
});
