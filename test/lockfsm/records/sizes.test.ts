/** The limits by bytes. That the sums are right after every entry is shown by the naive model. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, OP, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, resultOf } from "../plans/cluster-log.js";
import { everything } from "../plans/everything.js";
import { copyOf } from "../plans/snapshots.js";

const QUOTA = { status: ERROR_NUMBERS.QUOTA };
const KEY_BYTES = 500;
const VALUE_BYTES = 1_000;

/** Acquires a lock with a long key and a large value. */
function acquireLarge(client: Client, number: number) {
  const key = `${number}/`.padEnd(KEY_BYTES, "k");
  const value = "v".repeat(VALUE_BYTES);
  return client.acquire(exclusive(key), 0, { task: number, options: { value } });
}

function fill(client: Client): { readonly count: number; readonly sequence: number } {
  for (let number = 1; number <= 1_000; number += 1) {
    const result = acquireLarge(client, number);
    if (result?.status === ERROR_NUMBERS.QUOTA)
      return { count: number - 1, sequence: client.sequence - 1 };
    if (result?.status !== STATUS.granted) throw new Error(`status ${result?.status}`);
  }
  throw new Error("no limit was reached");
}

describe("a session that takes as many bytes as it may", () => {
  test("gets nothing more, gives back what it has, and is in nobody's way", () => {
    const log = new ClusterLog({ bytesPerSessionMax: 10_000 });
    const [a, b] = [log.open("a"), log.open("b")];
    const { count, sequence } = fill(a);
    expect(count).toBe(7);
    expect(a.acquire(exclusive("k"), WAIT_FOREVER, { task: 99 })).toEqual(QUOTA);
    expect(acquireLarge(b, 99)?.status).toBe(STATUS.granted);
    const renewed = a.send({ op: OP.keepalive, number: 1, mark: 1, acknowledged: [] });
    expect(renewed).toMatchObject([{ kind: MESSAGE.renewed }]);
    expect(resultOf(a.end(sequence))).toEqual({ status: STATUS.released });
    expect(acquireLarge(a, 100)?.status).toBe(STATUS.granted);
  });

  test("may make a value shorter, but not longer", () => {
    const log = new ClusterLog({ bytesPerSessionMax: 10_000 });
    const a = log.open("a");
    const { sequence } = fill(a);
    expect(resultOf(a.update(sequence, "w".repeat(VALUE_BYTES + 1)))).toEqual(QUOTA);
    expect(resultOf(a.update(sequence, "w"))).toEqual({ status: STATUS.ok });
  });
});

describe("a table that is as large as it may be", () => {
  test("takes no session and no lock of anybody, and lets go of what it has", () => {
    const log = new ClusterLog({ tableBytesMax: 10_000 });
    const [a, b] = [log.open("a"), log.open("b")];
    const { sequence } = fill(a);
    expect(acquireLarge(b, 99)).toEqual(QUOTA);
    log.open("c");
    expect(log.attached.at(-1)).toMatchObject(QUOTA);
    expect(a.resume(2)).toMatchObject({ status: STATUS.ok });
    expect(resultOf(a.end(sequence))).toEqual({ status: STATUS.released });
    expect(acquireLarge(b, 100)?.status).toBe(STATUS.granted);
  });

  test("is empty again when everybody has gone", () => {
    const log = new ClusterLog();
    const clients = ["a", "b", "c"].map((name) => log.open(name));
    for (const client of clients) {
      for (let task = 1; task <= 20; task += 1) {
        client.acquire(exclusive(`k${task}`, `l${task % 3}`), WAIT_FOREVER, { task });
      }
    }
    expect(log.table.counts().tableBytes).toBeGreaterThan(0);
    log.pass(15_000);
    log.finishWork();
    expect(log.table.counts()).toMatchObject({ sessions: 0, holds: 0, waiters: 0, tableBytes: 0 });
  });
});

test("what everything takes survives a snapshot", () => {
  const { log } = everything();
  const { tableBytes } = log.table.counts();
  expect(tableBytes).toBeGreaterThan(0);
  expect(copyOf(log.table).counts().tableBytes).toBe(tableBytes);
});
