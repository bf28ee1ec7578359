/**
 * What users of the npm package `redis-semaphore` reported, played against this SDK. Each scenario
 * would show the reported symptom if the same thing were wrong here.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../client/world/set-up.js";
import { connectTo } from "../client/world/simulated-client.js";

describe("redis-semaphore #199: a renewal that times out throws where nobody can catch it", () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => {
    unhandled.push(reason);
  };

  beforeEach(() => {
    unhandled.length = 0;
    process.on("unhandledRejection", note);
  });
  afterEach(() => {
    process.off("unhandledRejection", note);
  });

  // Fails if a renewal without an answer rejects a promise of its own, throws, or is kept secret.
  test.each([
    ["refused connections", "downNodes"],
    ["silence", "silentNodes"],
  ] as const)("and ends the process: by %s", async (_, how) => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 2_000 });
    const lock = await world.until(client.acquire("k"));
    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => seen.push(lock.signal.reason));
    for (const { id } of server.nodes) server.faults[how].add(id);
    const connection = platform.connection;
    if (connection !== undefined) connection.isBlackhole = true;
    // Nobody asks for anything: there are only renewals, one after the other without an answer.
    await world.run(30_000);
    expect(seen).toMatchObject([{ code: "LOCK_LOST", details: { reason: "expired" } }]);
    expect(client.closed.aborted).toBe(false);
    expect(unhandled).toEqual([]);
    server.faults[how].clear();
    const again = await world.until(client.acquire("k"));
    expect([again.isHeld, again.token > lock.token]).toEqual([true, true]);
    expect(unhandled).toEqual([]);
  });
});
