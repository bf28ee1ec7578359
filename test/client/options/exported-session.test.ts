/** What `connect` accepts as the exported session of another process, and what it refuses. */
import { describe, expect, it } from "vitest";
import type { ExportedSession } from "../../../src/client/index.js";
import { resolveConnectOptions } from "../../../src/client/options/connect-options.js";
import { OP } from "../../../src/protocol/index.js";
import { exportOf } from "../world/exporting.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("an exported session", () => {
  it("must be what export gave, to its last part", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const other = await connectTo(server);
    await world.until(one.client.semaphore("s", { limit: 3 }).acquire({ permits: 2 }));
    await world.until(other.client.acquire("b"));
    void one.client.acquire("b").catch(() => undefined);
    await world.run(20);
    const given = await world.until(one.client.acquire("c"));
    server.faults.refuses = ({ op }) => op === OP.end;
    void given.release();
    const exported = await exportOf(world, one);
    const [hold] = exported.holds;
    const [wait] = exported.waits;
    expect([hold?.items.length, wait?.items.length, exported.loose.ends.length]).toEqual([1, 1, 1]);
    const damaged: Record<string, unknown>[] = [
      { clusterId: 7 },
      { session: 0 },
      { nonce: "zz".repeat(16) },
      { nonce: "00" },
      { generation: -1 },
      { generation: 2 ** 32 - 1 },
      { answered: Number.NaN },
      { holds: [null] },
      { holds: [{ ...hold, sequence: 0 }] },
      { holds: [{ ...hold, owner: undefined }] },
      { holds: [{ ...hold, items: [] }] },
      { holds: [{ ...hold, items: [{ ...hold?.items[0], mode: "read" }] }] },
      { holds: [{ ...hold, items: [{ ...hold?.items[0], slots: [-1] }] }] },
      { waits: [{ ...wait, items: {} }] },
      { waits: [{ ...wait, items: [null] }] },
      { waits: [{ ...wait, owner: "1" }] },
      { waits: [{ ...wait, maxHoldMs: -1 }] },
      { loose: undefined },
      { loose: { ...exported.loose, ends: [0] } },
      { loose: { ...exported.loose, downgrades: [{ sequence: 1 }] } },
      { loose: { ...exported.loose, downgrades: [{ sequence: 1, key: "" }] } },
      { loose: { ...exported.loose, downgrades: [{ sequence: 1, key: "\ud800" }] } },
    ];
    for (const damage of damaged) {
      const resume = { ...exported, ...damage };
      expect(() => resolveConnectOptions({ resume }), JSON.stringify(damage)).toThrow(
        /^resume must be what client.export\(\) returned$/,
      );
    }
    expect(() => resolveConnectOptions({ resume: {} as ExportedSession })).toThrow(TypeError);
    expect(resolveConnectOptions({ resume: exported })).toMatchObject({
      endpoints: exported.endpoints,
      ttlMs: 2_000,
    });
    expect((await failure(world, one.client.export())).code).toBe("CANCELLED");
  });

  it("of another version is refused with what to do", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const exported = await exportOf(world, one);
    const { version } = exported;
    const resuming = (other: number) => () => {
      resolveConnectOptions({ resume: { ...exported, version: other } });
    };
    expect(resuming(version)).not.toThrow();
    expect(resuming(version - 1)).toThrow(
      new RangeError(
        `resume has version ${version - 1}, but this SDK knows ${version}: take over with the ` +
          "SDK that exported it, or update the exporting process before it exports",
      ),
    );
    expect(resuming(version + 1)).toThrow(
      new RangeError(
        `resume has version ${version + 1}, but this SDK knows ${version}: update the SDK of ` +
          "the process that takes over",
      ),
    );
  });
});
