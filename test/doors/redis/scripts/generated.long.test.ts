/** Many more random scripts than `generated.test.ts`. */
import { test } from "vitest";
import { expectSame, generatedHashCall, TwoServers } from "./generated-scripts.js";

const RUNS = Number(process.env["HOLDFAST_SCRIPTS"] ?? 10_000);

test("ten thousand random scripts are answered as by Redis, or refused", async (context) => {
  await using servers = await TwoServers.open();
  if (servers === undefined) return context.skip("redis-server is not installed");
  await expectSame(servers, RUNS);
}, 600_000);

test("and so are ten thousand that keep their lock in a hash", async (context) => {
  await using servers = await TwoServers.open();
  if (servers === undefined) return context.skip("redis-server is not installed");
  await expectSame(servers, RUNS, [], generatedHashCall);
}, 600_000);
