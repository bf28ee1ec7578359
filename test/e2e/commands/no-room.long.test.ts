/**
 * A cluster of real processes that has no room for another session, because any client may have set
 * `sessionsMax` to 1: operators see and act all the same, since neither needs a session.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../../src/index.js";
import { ClusterScene } from "../world/cluster-scene.js";

const scene = new ClusterScene({}, { ttlMs: 60_000, name: "the one" });

beforeAll(async () => {
  await scene.start();
  await scene.client.acquire("held");
  await scene.client.acquire("other");
  await scene.client.changeSetting("sessionsMax", 1);
});
afterAll(() => scene.stop());

/** By way of one node, leading or not. */
async function ask(node: number, ...args: string[]): Promise<string> {
  const env = { HOLDFAST_ENDPOINTS: scene.cluster.node(node).endpoint };
  const { code, stdout, stderr } = await scene.holdfast(args, { env });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.trim();
}

describe("without room for another session", () => {
  test("no client gets one", async () => {
    const refused = connect({ endpoints: scene.endpoints });
    await expect(refused).rejects.toMatchObject({ code: "QUOTA" });
  });

  test("everything can be looked at", async () => {
    expect(await ask(1, "ls", "--names")).toBe("held\nother");
    expect(await ask(2, "inspect", "held")).toContain("the one");
    expect(await ask(3, "session", "ls")).toContain("the one");
    expect(await ask(1, "settings", "get", "sessionsMax", "--json")).toContain('"value":1,');
    expect(await ask(2, "explain", "held")).toContain("because the one (exclusive");
    expect(await ask(3, "graph", "--json")).toContain('"edges":[]');
  });

  test("locks are revoked, limits set, sessions ended and settings put right", async () => {
    expect(await ask(1, "revoke", "held", "--now")).toBe("held: 1 hold ended");
    expect(await ask(2, "revoke", "held", "--now")).toBe("held: not held");
    expect(await ask(3, "limit", "pool", "7")).toBe("pool: 7 permits");
    expect(await ask(1, "session", "end", String(scene.client.session), "--now")).toContain(
      "has ended",
    );
    expect(await ask(2, "settings", "set", "sessionsMax", "default")).toContain("was 1");
    await using next = await connect({ endpoints: scene.endpoints });
    expect(await next.tryAcquire("other")).toBeDefined();
  });
});
