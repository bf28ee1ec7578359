import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Claim,
  type ObjectStore,
  readFenced,
  requireConditionalWrites,
  s3Objects,
  writeFenced,
} from "../../src/fence/index.js";
import { expectTheRule } from "./rule-contract.js";
import { type ObjectServer, startObjectServer } from "./stores/object-server.js";

const exclusive = (token: number): Claim => ({ token, mode: "exclusive" });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (body: Uint8Array | undefined): string => new TextDecoder().decode(body);

let server: ObjectServer;
let store: ObjectStore;

beforeAll(async () => {
  server = await startObjectServer();
  store = s3Objects({ bucketUrl: server.url });
});

afterAll(() => server[Symbol.asyncDispose]());

test("an object's own fence follows the rule of each mode", async () => {
  const admit = (key: string, claim: Claim) => writeFenced(store, key, claim, bytes("x"));
  await expectTheRule(admit, "both", 25);
});

test("any content is given back as it was, empty and with line ends too", async () => {
  expect(await readFenced(store, "missing")).toBeUndefined();
  const binary = Uint8Array.from({ length: 256 }, (_, index) => index);
  for (const body of [binary, bytes(""), bytes("\n\n"), bytes("holdfast-fence {}\n")]) {
    await writeFenced(store, "päth/with space?#%", exclusive(7), body);
    const found = await readFenced(store, "päth/with space?#%");
    expect([...(found?.body ?? [])]).toEqual([...body]);
    expect(found?.state).toEqual({ exclusive: 7, shared: 0, slots: {} });
  }
});

test("an object from before is taken over with what is in it", async () => {
  await store.write("old", bytes("from before"), { ifNoneMatch: "*" });
  expect(text((await readFenced(store, "old"))?.body)).toBe("from before");
  await writeFenced(store, "old", exclusive(5), (current) => bytes(`${text(current)}, and after`));
  expect(text((await readFenced(store, "old"))?.body)).toBe("from before, and after");
});

test("writers at the same time lose nothing, and a late one among them gets an error", async () => {
  const add = (token: number) =>
    writeFenced(store, "log", { token, mode: "shared" }, (current) =>
      bytes(`${text(current)}${token};`),
    );
  const refusedBefore = server.refused;
  await Promise.all([11, 12, 13, 14, 15, 16].map(add));
  expect(server.refused).toBeGreaterThan(refusedBefore);
  const written = text((await readFenced(store, "log"))?.body)
    .split(";")
    .filter(Boolean);
  expect(written.sort()).toEqual(["11", "12", "13", "14", "15", "16"]);

  const late = writeFenced(store, "log", exclusive(16), async (current) => {
    // Between its look and its write a newer holder comes and goes.
    if (!text(current).includes("20")) await writeFenced(store, "log", exclusive(20), bytes("20;"));
    return bytes("lost");
  });
  await expect(late).rejects.toMatchObject({ code: "STALE_TOKEN", details: { newest: 20 } });
  expect(text((await readFenced(store, "log"))?.body)).toBe("20;");
});

test("a newer holder that writes the same content is seen all the same", async () => {
  const key = "same";
  await writeFenced(store, key, exclusive(1), bytes("A"));
  const late = writeFenced(store, key, exclusive(5), async () => {
    const found = await readFenced(store, key);
    if (found?.state.exclusive === 1) await writeFenced(store, key, exclusive(9), bytes("A"));
    return bytes("B");
  });
  await expect(late).rejects.toMatchObject({ code: "STALE_TOKEN" });
  expect(text((await readFenced(store, key))?.body)).toBe("A");

  // Without the fence in the content, the ETag of S3 does not show it: the late write passes.
  await store.write("bare", bytes("A"), { ifNoneMatch: "*" });
  const seen = (await store.read("bare"))?.etag ?? "";
  await store.write("bare", bytes("A"), { ifMatch: seen });
  expect(await store.write("bare", bytes("B"), { ifMatch: seen })).toBe(true);
});

test("a writer that loses every round gets an error", async () => {
  let rival = 100;
  const unlucky = writeFenced(store, "busy", { token: 50, mode: "shared" }, async () => {
    rival += 1;
    await writeFenced(store, "busy", { token: rival, mode: "shared" }, bytes(String(rival)));
    return bytes("mine");
  });
  await expect(unlucky).rejects.toMatchObject({ code: "BUSY", retryable: true });
});

test("a damaged fence lets nobody in", async () => {
  const damaged = ["holdfast-fence {}\nbody", "holdfast-fence nonsense", "holdfast-fence "];
  for (const [index, content] of damaged.entries()) {
    const key = `damaged/${index}`;
    await store.write(key, bytes(content), { ifNoneMatch: "*" });
    await expect(readFenced(store, key)).rejects.toMatchObject({ code: "INTERNAL" });
    await expect(writeFenced(store, key, exclusive(9), bytes("x"))).rejects.toMatchObject({
      code: "INTERNAL",
    });
  }
});

test("a store that ignores conditions is found out", async () => {
  await requireConditionalWrites(store, "probe");
  await requireConditionalWrites(store, "probe");
  await using careless = await startObjectServer({ ignoresConditions: true });
  await expect(
    requireConditionalWrites(s3Objects({ bucketUrl: careless.url }), "probe"),
  ).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("ifNone") });
});

test("other answers of a store are failures, with their status", async () => {
  const answering = (status: number): ObjectStore =>
    s3Objects({
      bucketUrl: "http://127.0.0.1/",
      fetch: async () => new Response(null, { status }),
    });
  const statuses: [number, string][] = [
    [403, "FORBIDDEN"],
    [500, "UNAVAILABLE"],
    [503, "UNAVAILABLE"],
  ];
  for (const [status, code] of statuses) {
    await expect(answering(status).read("a")).rejects.toMatchObject({ code, details: { status } });
    await expect(
      answering(status).write("a", bytes(""), { ifNoneMatch: "*" }),
    ).rejects.toMatchObject({ code, details: { status } });
  }
  // A bucket that is missing is not a lost race.
  await expect(writeFenced(answering(404), "a", exclusive(1), bytes(""))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    details: { status: 404 },
  });
});
