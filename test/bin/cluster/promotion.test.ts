import { describe, expect, it } from "vitest";
import { type PromotionClock, promoteWhenCaughtUp } from "../../../bin/cluster/promotion.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";
import { ADMIN_DEFAULTS, type Admin, connectAdminOn } from "../../../src/client/index.js";
import { failure, rejection, setUp } from "../../client/world/set-up.js";
import { SimulatedPlatform } from "../../client/world/simulated-platform.js";
import type { SimulatedWorld } from "../../client/world/simulated-world.js";
import type { TableServer } from "../../client/world/table-server.js";

interface Scene {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly admin: Admin;
  readonly shown: string[];
  promote(waitMs: number): Promise<void>;
}

/** A cluster of three with node 4 as a learner that is 100 entries behind. */
async function scene(): Promise<Scene> {
  const { world, server } = setUp();
  const platform = new SimulatedPlatform(world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints };
  const admin = await world.until(connectAdminOn(platform, settings));
  await world.until(admin.addMember(4, "node-4:7511"));
  server.members.lag.set(4, 100);
  const clock: PromotionClock = {
    nowMs: () => world.nowMs,
    sleep: (forMs) => new Promise((resolve) => world.after(forMs, resolve)),
  };
  const shown: string[] = [];
  const promote = (waitMs: number): Promise<void> =>
    promoteWhenCaughtUp(admin, 4, waitMs, (text) => shown.push(text), clock);
  return { world, server, admin, shown, promote };
}

async function roleOf({ world, admin }: Scene, id: number): Promise<string | undefined> {
  const { members } = await world.until(admin.members());
  return members.find((member) => member.id === id)?.role;
}

describe("a promotion", () => {
  it("waits until the node has caught up, and says meanwhile how far it is behind", async () => {
    const each = await scene();
    const { world, server, shown } = each;
    for (const [atMs, lag] of [
      [2_000, 1],
      [4_000, 0],
    ] as const) {
      world.after(atMs, () => server.members.lag.set(4, lag));
    }
    await world.until(each.promote(60_000));
    expect(world.nowMs).toBeLessThan(4_500);
    expect(shown[0]).toMatch(
      /^node 4 is not a voter yet: it is 100 entries behind \((1m 00s|59\.\ds) left\)$/,
    );
    expect(shown.at(-1)).toContain("it is 1 entry behind");
    expect(await roleOf(each, 4)).toBe("voter");
  });

  it("says that the node is not heard of, which mostly was not started", async () => {
    const each = await scene();
    each.server.faults.downNodes.add(4);
    const error = await rejection(each.world, each.promote(1_000));
    expect(each.shown[0]).toContain("the leader cannot reach it");
    expect(error).toBeInstanceOf(Failure);
  });

  it("ends with 124 when the time is over, and the node is a learner still", async () => {
    const each = await scene();
    const startedMs = each.world.nowMs;
    const error = (await rejection(each.world, each.promote(3_000))) as Failure;
    expect(error.exitCode).toBe(EXIT.timedOut);
    expect(error.message).toBe("node 4 was not promoted within 3s: it is 100 entries behind");
    expect(each.world.nowMs - startedMs).toBeGreaterThanOrEqual(3_000);
    expect(each.world.nowMs - startedMs).toBeLessThan(3_100);
    expect(await roleOf(each, 4)).toBe("learner");
  });

  it("without a wait takes the refusal of the leader as its end", async () => {
    const each = await scene();
    const error = await failure(each.world, each.promote(0));
    expect(error.code).toBe("BUSY");
    expect(each.shown).toEqual([]);
  });

  it("does not wait for what will never be", async () => {
    const each = await scene();
    await each.world.until(each.admin.removeMember(4));
    const error = await failure(each.world, each.promote(60_000));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(each.shown).toEqual([]);
  });
});
