/** What a store of snapshots must do, run over each ordered store. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { seededRandom } from "../../../lab/random-stream.js";
import {
  type OrderedStore,
  openSnapshotStore,
  SNAPSHOT_CHUNK_BYTES_MAX,
  type SnapshotManifest,
  type SnapshotStore,
} from "../../../src/storage/index.js";
import { STORE_PLACES, type StorePlace } from "../store-places.js";

const CONFIGURATION = Uint8Array.of(3, 1, 4);

function chunkOf(number: number, bytes = 100): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, at) => (number * 37 + at) & 0xff);
}

function chunksOf(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, number) => chunkOf(number, 60 + number));
}

async function write(
  snapshots: SnapshotStore,
  index: number,
  chunks: readonly Uint8Array[],
): Promise<SnapshotManifest> {
  const writer = await snapshots.create({ index, term: 2 });
  for (const chunk of chunks) await writer.append(chunk);
  return writer.finish(CONFIGURATION);
}

async function contentsOf(
  snapshots: SnapshotStore,
  manifest: SnapshotManifest,
): Promise<number[][]> {
  const contents: number[][] = [];
  for (let number = 0; number < manifest.chunkCount; number += 1) {
    contents.push([...(await snapshots.readChunk(manifest, number))]);
  }
  return contents;
}

/** What another node has and offers. */
async function offered(index: number, chunks: readonly Uint8Array[]): Promise<SnapshotManifest> {
  return write(openSnapshotStore(new MemoryStoreDisk().open()), index, chunks);
}

function loserOf(name: string): (disk: MemoryStoreDisk) => void {
  return (disk) => disk.loseKey(name);
}

async function keysIn(store: OrderedStore): Promise<number> {
  let count = 0;
  for await (const _ of store.iterate({ from: Uint8Array.of(0), to: Uint8Array.of(255) })) {
    count += 1;
  }
  return count;
}

describe.each(Object.entries(STORE_PLACES))("snapshots in %s", (_name, makePlace) => {
  let place: StorePlace;
  let store: OrderedStore;
  let snapshots: SnapshotStore;

  async function reopen(): Promise<void> {
    await store.close();
    store = await place.open();
    snapshots = openSnapshotStore(store);
  }

  beforeEach(async () => {
    place = await makePlace();
    store = await place.open();
    snapshots = openSnapshotStore(store);
  });

  afterEach(async () => {
    await store.close();
    await place.dispose();
  });

  it("exist once they are finished, with every chunk, and after opening again", async () => {
    expect(await snapshots.list()).toEqual([]);
    const writer = await snapshots.create({ index: 7, term: 2 });
    await writer.append(chunkOf(0));
    await writer.append(chunkOf(1, 5));
    expect(writer.chunkCount).toBe(2);
    expect(await snapshots.list()).toEqual([]);
    const manifest = await writer.finish(CONFIGURATION);
    expect(manifest).toMatchObject({ index: 7, term: 2, chunkCount: 2, byteLength: 105 });
    expect(manifest.checksum).toMatch(/^[0-9a-f]{64}$/);
    expect([...manifest.configuration]).toEqual([...CONFIGURATION]);
    for (const again of [false, true]) {
      if (again) await reopen();
      expect(await snapshots.list()).toEqual([manifest]);
      expect(await contentsOf(snapshots, manifest)).toEqual([[...chunkOf(0)], [...chunkOf(1, 5)]]);
      await expect(snapshots.readChunk(manifest, 2)).rejects.toMatchObject({
        details: { corrupt: true, index: 7 },
      });
    }
  });

  it("are listed by rising index, however they came", async () => {
    for (const index of [9, 3, 6]) await write(snapshots, index, chunksOf(2));
    expect((await snapshots.list()).map(({ index }) => index)).toEqual([3, 6, 9]);
    await reopen();
    expect((await snapshots.list()).map(({ index }) => index)).toEqual([3, 6, 9]);
  });

  it("have a checksum over contents, their division, place and configuration", async () => {
    const sums = new Set<string>();
    const chunks = [chunkOf(0, 4), chunkOf(1, 4)];
    const joined = Uint8Array.of(...chunkOf(0, 4), ...chunkOf(1, 4));
    for (const parts of [chunks, [...chunks].reverse(), [joined], []]) {
      for (const point of [
        { index: 1, term: 1 },
        { index: 1, term: 2 },
        { index: 2, term: 1 },
      ]) {
        for (const configuration of [CONFIGURATION, new Uint8Array(0)]) {
          const writer = await snapshots.create(point);
          for (const part of parts) await writer.append(part);
          sums.add((await writer.finish(configuration)).checksum);
        }
      }
    }
    expect(sums.size).toBe(24);
  });

  it("take chunks up to their limit, and none above it or empty", async () => {
    const writer = await snapshots.create({ index: 1, term: 1 });
    const large = chunkOf(1, SNAPSHOT_CHUNK_BYTES_MAX);
    await writer.append(large);
    for (const chunk of [new Uint8Array(0), new Uint8Array(SNAPSHOT_CHUNK_BYTES_MAX + 1)]) {
      await expect(writer.append(chunk)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    const manifest = await writer.finish(CONFIGURATION);
    expect(manifest.chunkCount).toBe(1);
    expect(Buffer.compare(await snapshots.readChunk(manifest, 0), large)).toBe(0);
  });

  it("are received as they are elsewhere", async () => {
    const chunks = chunksOf(4);
    const offer = await offered(8, chunks);
    const writer = await snapshots.receive(offer);
    expect(writer.chunkCount).toBe(0);
    for (const chunk of chunks) await writer.append(chunk);
    expect(await writer.finish(CONFIGURATION)).toEqual(offer);
    expect(await snapshots.list()).toEqual([offer]);
    expect((await contentsOf(snapshots, offer)).length).toBe(4);
  });

  it("go on being received after a lost connection and after a restart", async () => {
    const chunks = chunksOf(5);
    const offer = await offered(8, chunks);
    const first = await snapshots.receive(offer);
    await first.append(chunkOf(0, 60));
    const second = await snapshots.receive(offer);
    expect(second.chunkCount).toBe(1);
    await expect(first.append(chunkOf(1, 61))).rejects.toMatchObject({ code: "CANCELLED" });
    await first.abandon();
    await second.append(chunkOf(1, 61));
    await reopen();
    const third = await snapshots.receive(offer);
    expect(third.chunkCount).toBe(2);
    for (const chunk of chunks.slice(2)) await third.append(chunk);
    expect(await third.finish(CONFIGURATION)).toEqual(offer);
    // It is there: a node that offers it again finds nothing left to send.
    const again = await snapshots.receive(offer);
    expect(again.chunkCount).toBe(5);
    expect(await again.finish(CONFIGURATION)).toEqual(offer);
    await again.abandon();
    expect(await snapshots.list()).toEqual([offer]);
  });

  it("are refused when what was received is not what was offered", async () => {
    const chunks = chunksOf(3);
    const offer = await offered(8, chunks);
    const altered = chunks.map((chunk) => chunk.slice());
    altered[1]?.fill(9);
    for (const received of [altered, chunks.slice(0, 2), [...chunks].reverse()]) {
      const writer = await snapshots.receive(offer);
      for (const chunk of received) await writer.append(chunk);
      await expect(writer.finish(CONFIGURATION)).rejects.toMatchObject({ code: "INTERNAL" });
      await writer.abandon();
    }
    const more = await snapshots.receive(offer);
    for (const chunk of chunks) await more.append(chunk);
    await expect(more.append(chunkOf(3))).rejects.toMatchObject({ code: "INTERNAL" });
    await expect(more.finish(new Uint8Array(1))).rejects.toMatchObject({ code: "INTERNAL" });
    await more.abandon();
    expect(await snapshots.list()).toEqual([]);
    expect(await keysIn(store)).toBe(0);
  });

  it("begin again when the offer says something else under the same checksum", async () => {
    const offer = await offered(8, chunksOf(3));
    const writer = await snapshots.receive({ ...offer, chunkCount: 9 });
    await writer.append(chunkOf(5));
    const right = await snapshots.receive(offer);
    expect(right.chunkCount).toBe(0);
    await expect(writer.append(chunkOf(6, 5))).rejects.toMatchObject({ code: "CANCELLED" });
    for (const chunk of chunksOf(3)) await right.append(chunk);
    expect(await right.finish(CONFIGURATION)).toEqual(offer);
    await expect(snapshots.receive({ ...offer, checksum: "x" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("leave nothing behind when they are abandoned", async () => {
    const writer = await snapshots.create({ index: 5, term: 1 });
    for (const chunk of chunksOf(150)) await writer.append(chunk);
    await writer.abandon();
    expect(await keysIn(store)).toBe(0);
    await expect(writer.append(chunkOf(0))).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("are removed but for those that are named, and for one that is being written", async () => {
    const kept = await write(snapshots, 3, chunksOf(2));
    await write(snapshots, 4, chunksOf(130));
    const offer = await offered(9, chunksOf(3));
    const receiving = await snapshots.receive(offer);
    await receiving.append(chunkOf(0, 60));
    const writing = await snapshots.create({ index: 5, term: 2 });
    await writing.append(chunkOf(0));
    await snapshots.removeExcept([kept.checksum, offer.checksum]);
    await receiving.append(chunkOf(1, 61));
    await snapshots.removeExcept([kept.checksum]);
    await expect(receiving.append(chunkOf(2, 62))).rejects.toMatchObject({ code: "CANCELLED" });
    const written = await writing.finish(CONFIGURATION);
    expect(await snapshots.list()).toEqual([kept, written]);
    expect(await contentsOf(snapshots, kept)).toEqual(chunksOf(2).map((chunk) => [...chunk]));
    // Two manifests and their three chunks.
    expect(await keysIn(store)).toBe(5);
    await snapshots.removeExcept([]);
    expect(await keysIn(store)).toBe(0);
  });

  it("are written once when the same is there already", async () => {
    const first = await write(snapshots, 3, chunksOf(3));
    expect(await write(snapshots, 3, chunksOf(3))).toEqual(first);
    expect(await snapshots.list()).toEqual([first]);
    expect(await keysIn(store)).toBe(4);
  });

  it("do not mind being written, received and removed at the same time", async () => {
    const chunks = chunksOf(20);
    const offer = await offered(50, chunks);
    await write(snapshots, 1, chunksOf(100));
    const receive = async (): Promise<void> => {
      const writer = await snapshots.receive(offer);
      for (const chunk of chunks) await writer.append(chunk);
      await writer.finish(CONFIGURATION);
    };
    await Promise.all([
      receive(),
      write(snapshots, 40, chunksOf(20)),
      snapshots.removeExcept([offer.checksum]),
    ]);
    expect((await snapshots.list()).map(({ index }) => index)).toEqual([40, 50]);
    await reopen();
    for (const manifest of await snapshots.list()) {
      expect(await contentsOf(snapshots, manifest)).toEqual(chunks.map((chunk) => [...chunk]));
    }
  });
});

describe("snapshots in a store whose process dies", () => {
  it("exist wholly or not at all, whatever batch was the last, and leave nothing", async () => {
    const chunks = chunksOf(130);
    const offer = await offered(20, chunks.slice(0, 3));
    for (let batches = 1; ; batches += 1) {
      let left = batches;
      const disk = new MemoryStoreDisk({
        intercept: ({ kind }) => {
          if (kind === "write") left -= 1;
          return left < 0 ? new Promise(() => {}) : undefined;
        },
      });
      const dying = openSnapshotStore(disk.open());
      const life = (async () => {
        const old = await write(dying, 10, chunks);
        const writer = await dying.receive(offer);
        for (const chunk of chunks.slice(0, 3)) await writer.append(chunk);
        await writer.finish(CONFIGURATION);
        await dying.removeExcept([offer.checksum]);
        return old;
      })();
      const isDone = await Promise.race([
        life.then(() => true),
        new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
      ]);
      disk.crash(seededRandom(batches));

      const store = disk.copy().open();
      const snapshots = openSnapshotStore(store);
      for (const manifest of await snapshots.list()) {
        const count = manifest.index === 10 ? 130 : 3;
        expect(await contentsOf(snapshots, manifest)).toEqual(
          chunks.slice(0, count).map((chunk) => [...chunk]),
        );
      }
      const writer = await snapshots.receive(offer);
      for (const chunk of chunks.slice(writer.chunkCount, 3)) await writer.append(chunk);
      expect(await writer.finish(CONFIGURATION)).toEqual(offer);
      await snapshots.removeExcept([]);
      expect(await keysIn(store)).toBe(0);
      if (!isDone) continue;
      // Each chunk, two manifests, and the removal in bounded batches.
      expect(batches).toBeGreaterThan(130 + 1 + 3 + 1 + 3);
      break;
    }
  });

  it("are received again when what was received before is damaged", async () => {
    const disk = new MemoryStoreDisk();
    const store = disk.open();
    const chunks = chunksOf(3);
    const offer = await offered(8, chunks);
    const writer = await openSnapshotStore(store).receive(offer);
    for (const chunk of chunks.slice(0, 2)) await writer.append(chunk);
    await store.close();
    const parts = [...disk.values.keys()].filter((name) => name.startsWith("12"));
    expect(parts.length).toBe(2);
    for (const name of parts) {
      for (const harm of [(on: MemoryStoreDisk) => on.damage(name, 9), loserOf(name)]) {
        const damaged = disk.copy();
        harm(damaged);
        const snapshots = openSnapshotStore(damaged.open());
        const again = await snapshots.receive(offer);
        expect(again.chunkCount).toBe(0);
        for (const chunk of chunks) await again.append(chunk);
        expect(await again.finish(CONFIGURATION)).toEqual(offer);
        expect(await contentsOf(snapshots, offer)).toEqual(chunks.map((chunk) => [...chunk]));
      }
    }
  });

  it("never come out altered", async () => {
    const disk = new MemoryStoreDisk();
    const store = disk.open();
    const manifest = await write(openSnapshotStore(store), 6, chunksOf(2));
    await store.close();
    for (const [name, value] of disk.values) {
      for (let bit = 0; bit < value.length * 8; bit += 3) {
        const damaged = disk.copy();
        damaged.damage(name, bit);
        const snapshots = openSnapshotStore(damaged.open());
        const outcome = snapshots.list().then(() => contentsOf(snapshots, manifest));
        await expect(outcome, `${name} bit ${bit}`).rejects.toMatchObject({
          code: "INTERNAL",
          details: { corrupt: true, file: "store" },
        });
      }
    }
    for (const name of disk.values.keys()) {
      const lacking = disk.copy();
      lacking.loseKey(name);
      const snapshots = openSnapshotStore(lacking.open());
      await expect(contentsOf(snapshots, manifest)).rejects.toMatchObject({
        details: { corrupt: true },
      });
    }
  });
});

describe("a store without room", () => {
  function fillable() {
    const state = { isFull: false };
    const disk = new MemoryStoreDisk({
      intercept: async ({ kind }) => {
        if (kind !== "write" || !state.isFull) return;
        throw Object.assign(new Error("no room"), { code: "ENOSPC" });
      },
    });
    const store = disk.open();
    return { state, store, snapshots: openSnapshotStore(store) };
  }

  it("takes the rest of a snapshot when it has room again", async () => {
    const { state, snapshots } = fillable();
    const chunks = chunksOf(3);
    const manifest = await offered(8, chunks);
    const writer = await snapshots.receive(manifest);
    await writer.append(chunks[0] as Uint8Array);
    state.isFull = true;
    await expect(writer.append(chunks[1] as Uint8Array)).rejects.toMatchObject({ code: "ENOSPC" });
    state.isFull = false;
    const again = await snapshots.receive(manifest);
    expect(again.chunkCount).toBe(1);
    for (const chunk of chunks.slice(1)) await again.append(chunk);
    expect(await again.finish(CONFIGURATION)).toEqual(manifest);
  });

  it("removes what it could not remove before", async () => {
    const { state, store, snapshots } = fillable();
    await write(snapshots, 5, chunksOf(3));
    state.isFull = true;
    await expect(snapshots.removeExcept([])).rejects.toMatchObject({ code: "ENOSPC" });
    state.isFull = false;
    await snapshots.removeExcept([]);
    expect(await keysIn(store)).toBe(0);
  });
});
