/** What every ordered store must do, run against `level` and against memory. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryStoreDisk } from "../../lab/memory/memory-ordered-store.js";
import type { OrderedStore } from "../../src/storage/index.js";
import { openValue, sealValue, WriteLine } from "../../src/storage/ordered-store.js";
import { STORE_PLACES, type StorePlace } from "./store-places.js";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const put = (key: Uint8Array, value: Uint8Array) => ({ type: "put", key, value }) as const;
const remove = (key: Uint8Array) => ({ type: "remove", key }) as const;

async function listOf(store: OrderedStore, from: Uint8Array, to: Uint8Array, limit?: number) {
  const found: (readonly [number[], number[]])[] = [];
  const range = limit === undefined ? { from, to } : { from, to, limit };
  for await (const { key, value } of store.iterate(range)) found.push([[...key], [...value]]);
  return found;
}

describe.each(Object.entries(STORE_PLACES))("the ordered store on %s", (_name, makePlace) => {
  let place: StorePlace;
  let store: OrderedStore;

  beforeEach(async () => {
    place = await makePlace();
    store = await place.open();
  });

  afterEach(async () => {
    await store.close();
    await place.dispose();
  });

  it("gives back what was put, even after opening again, and nothing else", async () => {
    await store.write([put(bytes(1), bytes(10)), put(bytes(2), bytes())]);
    await store.close();
    store = await place.open();
    expect([...((await store.get(bytes(1))) ?? [])]).toEqual([10]);
    expect([...((await store.get(bytes(2))) ?? [0])]).toEqual([]);
    expect(await store.get(bytes(3))).toBeUndefined();
  });

  it("applies a batch in its order and batches in the order of the calls", async () => {
    const writes: Promise<void>[] = [];
    for (let round = 0; round < 50; round += 1) {
      writes.push(store.write([put(bytes(1), bytes(round)), remove(bytes(2))]));
      writes.push(store.write([put(bytes(2), bytes(round)), put(bytes(2), bytes(round + 1))]));
    }
    await Promise.all(writes);
    expect([...((await store.get(bytes(1))) ?? [])]).toEqual([49]);
    expect([...((await store.get(bytes(2))) ?? [])]).toEqual([50]);
  });

  it("iterates over a half-open range in the order of the bytes, up to a limit", async () => {
    const keys = [bytes(2), bytes(1, 255), bytes(1), bytes(255), bytes(1, 0), bytes(128)];
    await store.write(keys.map((key) => put(key, key)));
    const all = await listOf(store, bytes(), bytes(255, 255));
    expect(all.map(([key]) => key)).toEqual([[1], [1, 0], [1, 255], [2], [128], [255]]);
    expect(all.every(([key, value]) => key.join() === value.join())).toBe(true);
    const some = await listOf(store, bytes(1, 0), bytes(128));
    expect(some.map(([key]) => key)).toEqual([[1, 0], [1, 255], [2]]);
    expect((await listOf(store, bytes(), bytes(255), 2)).length).toBe(2);
  });

  it("finishes what was handed over before it closes, and takes nothing after", async () => {
    const written = store.write([put(bytes(1), bytes(1))]);
    await store.close();
    await written;
    await expect(store.write([put(bytes(2), bytes(2))])).rejects.toThrow();
    store = await place.open();
    expect([...((await store.get(bytes(1))) ?? [])]).toEqual([1]);
    expect(await store.get(bytes(2))).toBeUndefined();
  });

  it("lets nobody in besides its owner", async () => {
    await expect(place.open()).rejects.toThrow();
  });
});

describe("a sealed value", () => {
  it("opens to what was sealed, under its own key alone", () => {
    const sealed = sealValue(bytes(1, 2), bytes(3, 4, 5));
    expect([...openValue(bytes(1, 2), sealed)]).toEqual([3, 4, 5]);
    expect(() => openValue(bytes(1, 3), sealed)).toThrow(/corrupt.*0103/);
  });

  it("is refused with any byte flipped or cut off", () => {
    const sealed = sealValue(bytes(1), bytes(3, 4, 5));
    for (let at = 0; at < sealed.length; at += 1) {
      const flipped = Uint8Array.from(sealed);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      expect(() => openValue(bytes(1), flipped)).toThrow(/corrupt/);
      expect(() => openValue(bytes(1), sealed.subarray(0, at))).toThrow(/corrupt/);
    }
  });
});

describe("the line of writes", () => {
  const failing = (code: string) => async (): Promise<void> => {
    throw Object.assign(new Error(code), { code });
  };

  it("goes on after a write that found no room", async () => {
    const line = new WriteLine();
    const written: number[] = [];
    const full = line.run(failing("ENOSPC"));
    const next = line.run(async () => void written.push(1));
    await expect(full).rejects.toMatchObject({ code: "ENOSPC" });
    await next;
    expect(written).toEqual([1]);
  });

  it("writes nothing more after any other failure, and says why", async () => {
    const line = new WriteLine();
    const written: number[] = [];
    const broken = line.run(failing("EIO"));
    const next = line.run(async () => void written.push(1));
    await expect(broken).rejects.toMatchObject({ code: "EIO" });
    await expect(next).rejects.toMatchObject({ code: "EIO" });
    expect(written).toEqual([]);
  });
});

describe("the store in memory, of which batches are lost", () => {
  it("is as if these had never been, and the others had", async () => {
    const disk = new MemoryStoreDisk();
    const store = disk.open();
    for (let round = 1; round <= 4; round += 1) {
      await store.write([put(bytes(1), bytes(round)), put(bytes(10 + round), bytes(round))]);
    }
    await store.write([remove(bytes(11))]);
    await store.close();
    disk.loseBatches(3, 2);
    const left = disk.open();
    expect(await listOf(left, bytes(), bytes(255))).toEqual([
      [[1], [3]],
      [[11], [1]],
      [[12], [2]],
      [[13], [3]],
    ]);
    expect(disk.journalLength).toBe(3);
  });
});
