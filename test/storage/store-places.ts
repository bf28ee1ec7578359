/** The two ordered stores, as places in which a store can be opened again and again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { MemoryStoreDisk } from "../../lab/memory/memory-ordered-store.js";
import type { OrderedStore } from "../../src/storage/index.js";
import { openLevelStore } from "../../src/storage/level-store.js";

export interface StorePlace {
  open(): Promise<OrderedStore>;
  dispose(): Promise<void>;
}

export const STORE_PLACES: Readonly<Record<string, () => Promise<StorePlace>>> = {
  memory: async () => {
    const disk = new MemoryStoreDisk();
    return { open: async () => disk.open(), dispose: async () => {} };
  },
  level: async () => {
    const path = await mkdtemp(`${tmpdir()}/holdfast-store-`);
    return { open: () => openLevelStore(path), dispose: () => rm(path, { recursive: true }) };
  },
};
