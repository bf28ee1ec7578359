/** What a process may hand to `connect` as the session of another one, and what is refused. */
import { describe, expect, it } from "vitest";
import type { ExportedSession } from "../../src/client/index.js";
import { resolveConnectOptions } from "../../src/client/options.js";
import { exportOf } from "./exporting.js";
import { failure, setUp } from "./set-up.js";
import { connectTo } from "./simulated-client.js";

describe("an exported session", () => {
  it("must be what export gave, to its last part", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const other = await connectTo(server);
    await world.until(one.client.semaphore("s", { limit: 3 }).acquire({ permits: 2 }));
    await world.until(other.client.acquire("b"));
    void one.client.acquire("b").catch(() => undefined);
    await world.run(20);
    void one.client.acquire("c").catch(() => undefined);
    await world.run(0.5);
    const exported = await exportOf(world, one);
    const [hold] = exported.holds;
    const [sent] = exported.sent;
    expect([hold?.items.length, exported.waiting.length, sent?.isWanted]).toEqual([1, 1, true]);
    const damaged: Record<string, unknown>[] = [
      { clusterId: 7 },
      { session: 0 },
      { nonce: "zz".repeat(16) },
      { nonce: "00" },
      { attempt: -1 },
      { attempt: 2 ** 32 - 1 },
      { nextSequence: Number.NaN },
      { nextSequence: sent?.command.sequence },
      { nextSequence: 5_000 },
      { acknowledgements: {} },
      { acknowledgements: [1.5] },
      { holds: [null] },
      { holds: [{ ...hold, token: "1" }] },
      { holds: [{ ...hold, owner: undefined }] },
      { holds: [{ ...hold, count: -1 }] },
      { holds: [{ ...hold, items: [] }] },
      { holds: [{ ...hold, items: [{ ...hold?.items[0], mode: "read" }] }] },
      { holds: [{ ...hold, items: [{ ...hold?.items[0], slots: [-1] }] }] },
      { waiting: [{ isWanted: true }] },
      { sent: [sent, sent] },
      { sent: [{ ...sent, command: { ...sent?.command, acknowledged: "1" } }] },
      { sent: [{ ...sent, command: { ...sent?.command, items: {} } }] },
      { waiting: [{ ...sent, command: { ...sent?.command, items: [null] } }] },
      { waiting: [{ ...sent, command: { ...sent?.command, owner: "1" } }] },
      { unsent: [7] },
      { unsent: undefined },
    ];
    for (const damage of damaged) {
      const resume = { ...exported, ...damage };
      expect(() => resolveConnectOptions({ resume }), JSON.stringify(damage)).toThrow(
        /^resume must be what client.export\(\) gave$/,
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
        `resume is of version ${version - 1}, and this SDK knows ${version}: take over with the ` +
          "SDK that exported it, or update the exporting process before it exports",
      ),
    );
    expect(resuming(version + 1)).toThrow(
      new RangeError(
        `resume is of version ${version + 1}, and this SDK knows ${version}: update the SDK of ` +
          "the process that takes over",
      ),
    );
  });
});
