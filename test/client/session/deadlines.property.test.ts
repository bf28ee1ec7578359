/**
 * Deadlines that the cluster decides, by a clock that drifts against the clock of the cluster:
 * whatever the latencies are, a client never takes a deadline to be later than it is.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { SessionLease } from "../../../src/client/session-lease/session-lease.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";

/** Ten per cent is what the margin allows for; less than that is certain. */
const rate = fc.double({ min: 0.92, max: 1.08, noNaN: true });

it("never counts a cluster deadline later than it comes, from any evidence", () => {
  const transmission = fc.record({
    /** After the one before. */
    gapMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
    /** From the transmission to the entry. */
    latencyMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
  });
  fc.assert(
    fc.property(
      fc.array(transmission, { minLength: 1, maxLength: 20 }),
      fc.array(fc.integer({ min: -10_000, max: 600_000 }), { minLength: 1, maxLength: 10 }),
      rate,
      fc.integer({ min: 0, max: 2 ** 40 }),
      (transmissions, spansMs, localRate, clusterZero) => {
        const lease = new SessionLease(10_000);
        let trueMs = 0;
        for (const { gapMs, latencyMs } of transmissions) {
          trueMs += gapMs;
          // Stamps are whole, and never ahead of true time.
          const stamp = clusterZero + Math.floor(trueMs + latencyMs);
          lease.renew(trueMs * localRate, stamp);
          for (const spanMs of spansMs) {
            const deadline = stamp + spanMs;
            const dueMs = (deadline - clusterZero) * localRate;
            // What is over by the evidence itself is over, however long ago it was.
            expect(lease.localMs(deadline)).toBeLessThan(Math.max(dueMs, lease.newestMs));
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});

it("aborts a capped or revoked lock while the table still has it", async () => {
  const trial = fc.record({
    seed: fc.nat(),
    rate,
    latencyMs: fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 })),
    ttlMs: fc.integer({ min: 2_000, max: 20_000 }),
    maxHoldMs: fc.option(fc.integer({ min: 1_500, max: 30_000 }), { nil: undefined }),
    revoke: fc.option(
      fc.record({
        atMs: fc.integer({ min: 1, max: 10_000 }),
        graceMs: fc.integer({ min: 0, max: 20_000 }),
      }),
      { nil: undefined },
    ),
    cutsAtMs: fc.array(fc.integer({ min: 1, max: 20_000 }), { maxLength: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(trial, async (given) => {
      const world = new SimulatedWorld(given.seed);
      const server = new TableServer(world);
      const { ttlMs, maxHoldMs, revoke } = given;
      const one = await connectTo(server, { ttlMs }, given.rate);
      const two = await connectTo(server, { ttlMs: 600_000 });
      const [low, high] = given.latencyMs;
      server.faults.latencyMs = [Math.min(low, high), Math.max(low, high)];
      const options = maxHoldMs === undefined ? {} : { maxHoldMs };
      const lock = await world.until(one.client.acquire("k", options));
      const { signal } = lock;
      let wasHeld: boolean | undefined;
      signal.addEventListener("abort", () => {
        wasHeld = server.isHeld("k", lock.token);
      });
      const revoked: Promise<unknown>[] = [];
      if (revoke !== undefined) {
        const { graceMs } = revoke;
        world.after(revoke.atMs, () => {
          revoked.push(two.client.revoke({ key: "k" }, { graceMs }));
        });
      }
      for (const atMs of given.cutsAtMs) world.after(atMs, () => one.platform.connection?.cut());
      await world.run(60_000);
      await world.until(Promise.all(revoked));
      const mustEnd = maxHoldMs !== undefined || revoke !== undefined;
      if (mustEnd) expect(server.table.inspect("k").holds).toEqual([]);
      if (mustEnd) expect(wasHeld).toBe(true);
      else if (wasHeld !== undefined) {
        // A short lease may lapse while a client reconnects over a slow network, in good time.
        expect({ wasHeld, isCut: given.cutsAtMs.length > 0 }).toEqual({
          wasHeld: true,
          isCut: true,
        });
        expect(signal.reason).toMatchObject({ details: { reason: "expired" } });
      }
    }),
    { numRuns: 60 },
  );
}, 60_000);
