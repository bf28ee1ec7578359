/** The guarded store serves the clients that are left, however the others went. */
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StoreClient } from "../../jepsen-lite/guarded/store-client.js";
import { StoreProcess } from "../../jepsen-lite/guarded/store-process.js";

let directory: string;
let store: StoreProcess;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-store-"));
  store = await StoreProcess.start(join(directory, "store.sqlite"), "127.0.0.1", []);
});

afterAll(async () => {
  await store.stop();
  await rm(directory, { recursive: true, force: true });
});

test("a client that is killed in the middle of a word ends its connection, and nothing else", async () => {
  const other = new StoreClient(store.host, store.port);
  expect(await other.write("k", 1, 5)).toBe(true);
  for (let times = 0; times < 3; times += 1) {
    const killed = connect(store.port, store.host);
    await new Promise((resolve) => killed.write('[1,"rea', resolve));
    killed.resetAndDestroy();
    expect(await other.read("k", 0)).toBe(1);
  }
  expect(await other.write("k", 2, 4), "an older token").toBe(false);
  other.close();
});

test("what is asked of a store that is gone is rejected, and does not end the client", async () => {
  const gone = await StoreProcess.start(join(directory, "gone.sqlite"), "127.0.0.1", []);
  const client = new StoreClient(gone.host, gone.port);
  expect(await client.read("k", 0)).toBe(0);
  await gone.stop();
  await expect(client.read("k", 0)).rejects.toThrow("the store closed the connection");
  await expect(client.write("k", 1, 1)).rejects.toThrow("the store closed the connection");
  client.close();
});

test("a client that has read under a newer token is overwritten by nobody older", async () => {
  const [older, newer] = [0, 1].map(() => new StoreClient(store.host, store.port)) as [
    StoreClient,
    StoreClient,
  ];
  expect(await older.read("r", 7)).toBe(0);
  expect(await newer.read("r", 8)).toBe(0);
  expect(await older.write("r", 70, 7), "it was stopped over its write").toBe(false);
  expect(await newer.write("r", 80, 8)).toBe(true);
  expect(await older.read("r", 7), "nor may it read").toBeUndefined();
  expect(await newer.read("r", 8), "equal passes").toBe(80);
  expect(await older.read("r", 0), "without a token nothing is compared").toBe(80);
  older.close();
  newer.close();
});
