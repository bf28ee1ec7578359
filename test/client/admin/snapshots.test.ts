/**
 * A snapshot of a cluster as a program receives it: whole, at the program's own pace, or refused
 * with a reason.
 */
import { describe, expect, it } from "vitest";
import {
  ADMIN_DEFAULTS,
  type Admin,
  type ClusterSnapshot,
  connectAdminOn,
} from "../../../src/client/index.js";
import { TableRestore } from "../../../src/lockfsm/index.js";
import { MESSAGE } from "../../../src/protocol/index.js";
import { SnapshotDigest } from "../../../src/storage/index.js";
import type { ServerConnection } from "../world/server-connection.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { TableServer } from "../world/table-server.js";

interface Used {
  readonly admin: Admin;
  readonly platform: SimulatedPlatform;
}

async function adminOf(server: TableServer): Promise<Used> {
  const platform = new SimulatedPlatform(server.world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints };
  return { admin: await server.world.until(connectAdminOn(platform, settings)), platform };
}

/** A cluster in which `count` locks are held. */
async function withLocks(count: number) {
  const { world, server } = setUp();
  const { client } = await connectTo(server);
  for (let number = 0; number < count; number += 1) {
    await world.until(client.acquire(`key-${number}`));
  }
  return { world, server, ...(await adminOf(server)) };
}

async function chunksOf(
  { world }: TableServer,
  snapshot: ClusterSnapshot,
  beforeEach: () => Promise<void> = async () => {},
): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  const iterator = snapshot.chunks()[Symbol.asyncIterator]();
  for (;;) {
    await beforeEach();
    const next = await world.until(iterator.next());
    if (next.done === true) return chunks;
    chunks.push(next.value);
  }
}

function checksumOf(chunks: readonly Uint8Array[], snapshot: ClusterSnapshot): string {
  const digest = new SnapshotDigest();
  for (const chunk of chunks) digest.add(chunk);
  return digest.manifestOf(snapshot, Buffer.from(snapshot.configuration, "hex")).checksum;
}

describe("a snapshot", () => {
  it("is what a node says it is, chunk by chunk, as soon as the node has it", async () => {
    const { server, world, admin } = await withLocks(60);
    const snapshot = await world.until(admin.snapshot());
    expect(snapshot).toMatchObject({ clusterId: server.clusterId, nodeId: 1, term: 3 });
    expect(snapshot.chunkCount).toBeGreaterThan(8);
    const hash = server.table.hash();
    const chunks = await chunksOf(server, snapshot);
    expect(checksumOf(chunks, snapshot)).toBe(snapshot.checksum);
    const restore = new TableRestore();
    for (const chunk of chunks) restore.add(chunk);
    const finishing = restore.finish();
    let step = finishing.next();
    while (step.done !== true) step = finishing.next();
    expect(step.value.hash()).toBe(hash);
  });

  it("keeps its connection for a reader who takes minutes, whatever the node wishes", async () => {
    const { server, world, admin, platform } = await withLocks(60);
    const snapshot = await world.until(admin.snapshot());
    const opened = server.opened.length;
    const connection = platform.connection as ServerConnection;
    const chunks = await chunksOf(server, snapshot, async () => {
      await world.run(30_000);
      connection.push({ kind: MESSAGE.move });
      connection.flush();
    });
    expect(checksumOf(chunks, snapshot)).toBe(snapshot.checksum);
    expect(server.opened.length).toBe(opened);
    expect(platform.keepsProcess).toBe(false);
    expect(server.connections.has(connection)).toBe(true);
    await world.run(5_000);
    expect(server.connections.has(connection)).toBe(false);
  });

  it("of one that is given up keeps nothing", async () => {
    const { server, world, admin, platform } = await withLocks(60);
    const snapshot = await world.until(admin.snapshot());
    const connection = platform.connection as ServerConnection;
    const iterator = snapshot.chunks()[Symbol.asyncIterator]();
    await world.until(iterator.next());
    expect(platform.keepsProcess).toBe(true);
    await iterator.return?.();
    await world.run(5_000);
    expect(platform.keepsProcess).toBe(false);
    expect(server.connections.has(connection)).toBe(false);
  });

  it("that was lost with its node is told to be gone, and can be had from another one", async () => {
    const { server, world, admin } = await withLocks(200);
    const snapshot = await world.until(admin.snapshot());
    const iterator = snapshot.chunks()[Symbol.asyncIterator]();
    await world.until(iterator.next());
    server.faults.downNodes.add(1);
    server.leaderId = 2;
    for (const connection of server.connections) if (connection.nodeId === 1) connection.cut();
    const lost = await failure(
      world,
      (async () => {
        for (;;) if ((await iterator.next()).done === true) throw new Error("it was whole");
      })(),
    );
    expect(lost.code).toBe("COMPACTED");
    const again = await world.until(admin.snapshot());
    expect(again.nodeId).not.toBe(1);
    const chunks = await chunksOf(server, again);
    expect(checksumOf(chunks, again)).toBe(again.checksum);
  });

  it("may be of one node alone when nobody leads, and only if that is asked for", async () => {
    const { server, world, admin } = await withLocks(5);
    server.faults.isLeaderless = true;
    expect((await failure(world, admin.snapshot(), 60_000)).code).toBe("UNAVAILABLE");
    const snapshot = await world.until(admin.snapshot({ stale: true }));
    expect(checksumOf(await chunksOf(server, snapshot), snapshot)).toBe(snapshot.checksum);
  });

  it("is given up with its signal, while it is waited for and while it is read", async () => {
    const { server, world, admin } = await withLocks(60);
    server.snapshots.questionsInVain = Number.POSITIVE_INFINITY;
    const first = new AbortController();
    world.after(200, () => first.abort());
    const waiting = admin.snapshot({ signal: first.signal });
    expect(await rejection(world, waiting)).toBe(first.signal.reason);
    server.snapshots.questionsInVain = 0;
    const second = new AbortController();
    const snapshot = await world.until(admin.snapshot({ signal: second.signal }));
    const iterator = snapshot.chunks()[Symbol.asyncIterator]();
    await world.until(iterator.next());
    second.abort();
    const rest = async (): Promise<void> => {
      for (;;) if ((await iterator.next()).done === true) return;
    };
    expect(await rejection(world, rest())).toBe(second.signal.reason);
  });

  it("that no correct node would speak of is an error, and nothing is made of it", async () => {
    const { server, world, admin } = await withLocks(5);
    for (const falsehood of [null, 7, {}, { isReady: true }, { isReady: "yes" }]) {
      server.snapshots.falsehood = falsehood;
      expect((await failure(world, admin.snapshot())).code).toBe("PROTOCOL");
    }
    server.snapshots.falsehood = undefined;
    const snapshot = await world.until(admin.snapshot());
    for (const falsehood of [null, { bytes: 7 }, { bytes: "?" }]) {
      server.snapshots.falsehood = falsehood;
      const next = snapshot.chunks()[Symbol.asyncIterator]().next();
      expect((await failure(world, next)).code).toBe("PROTOCOL");
    }
  });

  it("is refused before anybody is asked, with options that do not exist", async () => {
    const { world, admin } = await withLocks(1);
    const wrong = (options: object) => rejection(world, admin.snapshot(options));
    expect(await wrong({ stael: true })).toBeInstanceOf(TypeError);
    expect(await wrong({ stale: "yes" })).toBeInstanceOf(TypeError);
  });
});
