/**
 * What stands in for a disk in tests of the core and of the driver: it takes what fits, and nothing
 * else.
 */
import { expect, test } from "vitest";
import type { Entry, Write } from "../../../src/raft/index.js";
import { LogImage } from "./log-image.js";

function entry(index: number, term: number): Entry {
  return { index, term, kind: "command", data: new Uint8Array(0) };
}

function image(...writes: readonly Partial<Write>[]): LogImage {
  const made = new LogImage();
  const nothing = { hardState: undefined, truncateFrom: undefined, snapshot: undefined };
  for (const [at, write] of writes.entries()) {
    made.apply({ seq: at + 1, ...nothing, entries: [], ...write });
  }
  return made;
}

const TERM_2 = { hardState: { term: 2, vote: 1 } };
const THREE = { ...TERM_2, entries: [entry(1, 1), entry(2, 1), entry(3, 2)] };
const SNAPSHOT = { checksum: "c", isReset: false, keepFrom: 2 };

test("holds what the records leave", () => {
  const { entries, lastSeq } = image(THREE, { truncateFrom: 3, entries: [entry(3, 2)] });
  expect([entries, lastSeq]).toEqual([THREE.entries, 2]);
  const compacted = image(THREE, { snapshot: { ...SNAPSHOT, index: 2, term: 1 } });
  expect(compacted).toMatchObject({ baseIndex: 1, baseTerm: 1, lastIndex: 3, snapshotIndex: 2 });
  const reset = { index: 9, term: 2, checksum: "c", isReset: true, keepFrom: 10 };
  expect(image(THREE, { snapshot: reset })).toMatchObject({
    baseIndex: 9,
    baseTerm: 2,
    entries: [],
  });
});

test.each<[string, readonly Partial<Write>[], RegExp]>([
  ["a gap", [THREE, { entries: [entry(5, 2)] }], /entry 5 written after 3/],
  ["an entry of a later term", [{ entries: [entry(1, 1)] }], /term 1 durable in term 0/],
  ["a term that falls", [TERM_2, { hardState: { term: 1, vote: 0 } }], /falls from 2 to 1/],
  ["a second vote", [TERM_2, { hardState: { term: 2, vote: 3 } }], /vote of term 2 changed/],
  ["a cut beyond the end", [THREE, { truncateFrom: 5 }], /truncation at 5/],
  [
    "a snapshot of another log",
    [THREE, { snapshot: { ...SNAPSHOT, index: 3, term: 1 } }],
    /snapshot 3@1 of a log with term 2/,
  ],
])("refuses %s", (_what, writes, why) => {
  expect(() => image(...writes)).toThrow(why);
});
