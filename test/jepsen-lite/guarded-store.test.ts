/** The guarded store serves whoever is left, however the others went. */
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
    expect(await other.read("k")).toBe(1);
  }
  expect(await other.write("k", 2, 4), "an older token").toBe(false);
  other.close();
});

test("what is asked of a store that is gone is rejected, and does not end the client", async () => {
  const gone = await StoreProcess.start(join(directory, "gone.sqlite"), "127.0.0.1", []);
  const client = new StoreClient(gone.host, gone.port);
  expect(await client.read("k")).toBe(0);
  await gone.stop();
  await expect(client.read("k")).rejects.toThrow("the store closed the connection");
  await expect(client.write("k", 1, 1)).rejects.toThrow("the store closed the connection");
  client.close();
});
