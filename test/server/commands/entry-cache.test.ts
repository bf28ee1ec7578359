import { describe, expect, test } from "vitest";
import { EntryCache } from "../../../src/server/commands/entry-cache.js";

const NO_COMMANDS = [] as const;

describe("the cache of own entries", () => {
  test("gives commands back for the very bytes that were proposed, once", () => {
    const cache = new EntryCache();
    const data = new Uint8Array([1]);
    cache.add(5, data, NO_COMMANDS);
    expect(cache.take(5, data)).toBe(NO_COMMANDS);
    expect(cache.take(5, data)).toBeUndefined();
  });

  test("knows nothing of another leader's entry at the same index, even with equal bytes", () => {
    const cache = new EntryCache();
    const later = new Uint8Array([2]);
    cache.add(5, new Uint8Array([1]), NO_COMMANDS);
    cache.add(6, later, NO_COMMANDS);
    expect(cache.take(5, new Uint8Array([1]))).toBeUndefined();
    expect(cache.take(6, later)).toBe(NO_COMMANDS);
  });

  test("passes over entries that others proposed in between", () => {
    const cache = new EntryCache();
    const data = new Uint8Array([1]);
    cache.add(7, data, NO_COMMANDS);
    expect(cache.take(6, new Uint8Array([9]))).toBeUndefined();
    expect(cache.take(7, data)).toBe(NO_COMMANDS);
  });

  test("forgets everything when cleared", () => {
    const cache = new EntryCache();
    const data = new Uint8Array([1]);
    cache.add(7, data, NO_COMMANDS);
    cache.clear();
    expect(cache.take(7, data)).toBeUndefined();
  });
});
