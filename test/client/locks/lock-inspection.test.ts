/** What a debugger and `console.log` show of a lock. */
import { inspect } from "node:util";
import { expect, it } from "vitest";
import { setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

it("a lock that is held shows its key, its mode, its token and the time that is left", async () => {
  const { world, server } = setUp();
  const { client } = await connectTo(server, { ttlMs: 10_000 });
  const lock = await world.until(client.acquire("orders/1001", { mode: "shared" }));
  const leftMs = Math.round(lock.remainingMs);
  expect(inspect(lock)).toBe(
    `Lock {\n  key: 'orders/1001',\n  mode: 'shared',\n  token: ${lock.token},\n  remainingMs: ${leftMs}\n}`,
  );
  expect(inspect(lock, { breakLength: 200 })).toContain(
    "Lock { key: 'orders/1001', mode: 'shared'",
  );
  expect(inspect({ lock }, { depth: 0 })).toBe("{ lock: [Lock] }");
  const pair = await world.until(client.acquireAll([{ key: "a" }, { key: "b" }]));
  expect(inspect(pair)).toContain("keys: [ 'a', 'b' ]");
});

it("a lock that is over shows why", async () => {
  const { world, server } = setUp();
  const { client } = await connectTo(server);
  const lock = await world.until(client.acquire("k"));
  await world.until(lock.release());
  const shown = inspect(lock, { breakLength: 200 });
  expect(shown).toContain(`token: ${lock.token}, isHeld: false, reason: 'released' }`);
  expect(shown).not.toContain("remainingMs");
});
