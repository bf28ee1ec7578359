import { describe, expect, it } from "vitest";
import {
  ADMIN_DEFAULTS,
  type Admin,
  type AdminSettings,
  connectAdmin,
  connectAdminOn,
} from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { TableServer } from "../world/table-server.js";

interface SimulatedAdmin {
  readonly admin: Admin;
  readonly platform: SimulatedPlatform;
}

async function adminOf(
  server: TableServer,
  settings: Partial<AdminSettings> = {},
): Promise<SimulatedAdmin> {
  const platform = new SimulatedPlatform(server.world, server);
  const complete = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, ...settings };
  const admin = await server.world.until(connectAdminOn(platform, complete));
  return { admin, platform };
}

describe("operating a cluster", () => {
  it("tells who belongs to it, as the leader sees it, without opening a session", async () => {
    const { world, server } = setUp();
    server.leaderId = 2;
    server.faults.downNodes.add(3);
    const { admin } = await adminOf(server, { endpoints: ["ws://node-1:7411"] });
    const view = await world.until(admin.members());
    expect(view).toMatchObject({ leaderId: 2, isJoint: false });
    expect(view.members.map(({ id, role, isReachable }) => [id, role, isReachable])).toEqual([
      [1, "voter", true],
      [2, "voter", true],
      [3, "voter", false],
    ]);
    expect(admin.clusterId).toBe(server.clusterId);
    expect([...admin.endpoints].sort()).toEqual(server.endpoints);
    expect(server.applied).toEqual([]);
  });

  it("adds, promotes, demotes and removes, each as often as it is asked with the same end", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    const steps: readonly (readonly [() => Promise<void>, string | undefined])[] = [
      [() => admin.addMember(4, "node-4:7511"), "learner"],
      [() => admin.promoteMember(4), "voter"],
      [() => admin.demoteMember(4), "learner"],
      [() => admin.removeMember(4), undefined],
    ];
    for (const [index, [step, role]] of steps.entries()) {
      await world.until(step());
      await world.until(step());
      const { members } = await world.until(admin.members());
      expect(members.find(({ id }) => id === 4)?.role).toBe(role);
      expect(server.members.changes).toBe(index + 1);
    }
  });

  it("hands leadership to a certain node, or to another one, and says who leads then", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    expect(await world.until(admin.transferLeadership(3))).toBe(3);
    expect(await world.until(admin.transferLeadership(3))).toBe(3);
    expect(server.members.changes).toBe(1);
    expect(await world.until(admin.transferLeadership())).not.toBe(3);
  });

  it("passes on the code and the words with which the leader refuses, and does not try again", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    await world.until(admin.addMember(4, "node-4:7511"));
    server.members.lag.set(4, 100);
    const behind = await failure(world, admin.promoteMember(4));
    expect([behind.code, behind.retryable]).toEqual(["BUSY", true]);
    expect(behind.message).toBe("the node has not caught up with the log yet");
    server.faults.downNodes.add(3);
    const quorum = await failure(world, admin.removeMember(2));
    expect([quorum.code, quorum.retryable]).toEqual(["FORBIDDEN", false]);
    const unknown = await failure(world, admin.demoteMember(9));
    expect([unknown.code, unknown.message]).toEqual([
      "INVALID_ARGUMENT",
      "node 9 is not a member; add it first",
    ]);
    expect(server.members.asked.filter(({ op }) => op === OP.changeMember)).toHaveLength(4);
  });

  it("refuses what cannot be before it asks anybody", async () => {
    const { server, world } = setUp();
    const { admin } = await adminOf(server);
    for (const id of [0, -1, 1.5, 2 ** 32]) {
      expect(await rejection(world, admin.promoteMember(id))).toBeInstanceOf(RangeError);
    }
    const wrong = await failure(world, admin.addMember(4, "nowhere"));
    expect(wrong.code).toBe("INVALID_ARGUMENT");
    await expect(connectAdmin({ timeout: 5 } as object)).rejects.toThrow(/unknown option timeout/);
    await expect(connectAdmin({ timeoutMs: 0 })).rejects.toThrow(RangeError);
    expect(server.members.asked).toEqual([]);
  });
});

describe("an operation whose answer does not come", () => {
  it("is asked again of another node when the connection breaks, and takes effect once", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    server.faults.losesAnswers = true;
    const adding = admin.addMember(4, "node-4:7511");
    await world.run(50);
    server.faults.losesAnswers = false;
    await world.until(adding);
    expect(server.members.changes).toBe(1);
    expect(server.members.asked.length).toBeGreaterThan(1);
    expect(new Set(server.opened).size).toBeGreaterThan(1);
  });

  it("is asked again of other nodes while nobody leads", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    server.faults.isLeaderless = true;
    world.after(2_500, () => {
      server.faults.isLeaderless = false;
    });
    const { leaderId } = await world.until(admin.members());
    expect(leaderId).toBe(1);
    expect(world.nowMs).toBeGreaterThan(2_500);
    expect(new Set(server.opened).size).toBe(3);
  });

  it("leaves a silent node for another one in a part of its time", async () => {
    const { world, server } = setUp();
    const { admin, platform } = await adminOf(server, { timeoutMs: 3_000 });
    await world.until(admin.members());
    const before = platform.connection;
    if (before !== undefined) before.isBlackhole = true;
    const askedAtMs = world.nowMs;
    await world.until(admin.members());
    expect(world.nowMs - askedAtMs).toBeGreaterThanOrEqual(1_000);
    expect(world.nowMs - askedAtMs).toBeLessThan(1_100);
  });

  it("is UNAVAILABLE in the end, and says whether it may have happened", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server, { timeoutMs: 6_000 });
    server.faults.isLeaderless = true;
    const startedMs = world.nowMs;
    const reading = failure(world, admin.members());
    const [read, change] = await Promise.all([reading, failure(world, admin.removeMember(3))]);
    expect(world.nowMs - startedMs).toBeLessThan(6_100);
    expect([read.code, read.details["indeterminate"]]).toEqual(["UNAVAILABLE", false]);
    expect([change.code, change.details["indeterminate"]]).toEqual(["UNAVAILABLE", true]);
    expect(change.message).toBe(
      "the change of members: no leader yet: 3 of 3 nodes answer; it may still take effect",
    );
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    for (const connection of server.connections) connection.cut();
    await world.run(1);
    const unsent = await failure(world, admin.removeMember(3));
    expect(unsent.details["indeterminate"]).toBe(false);
    expect(unsent.message).toContain("connection refused");
  });

  it("is given up with its signal, and by closing", async () => {
    const { world, server } = setUp();
    const { admin, platform } = await adminOf(server);
    server.faults.isLeaderless = true;
    const controller = new AbortController();
    const aborted = admin.members({ signal: controller.signal });
    const closed = admin.members();
    world.after(20, () => controller.abort());
    expect(await rejection(world, aborted)).toBe(controller.signal.reason);
    expect(await rejection(world, admin.members({ signal: controller.signal }))).toBe(
      controller.signal.reason,
    );
    expect(platform.keepsProcess).toBe(true);
    const closing = failure(world, closed);
    await admin.close();
    await admin.close();
    expect((await closing).code).toBe("CANCELLED");
    expect((await failure(world, admin.members())).code).toBe("CANCELLED");
    await world.run(100);
    expect(server.connections.size).toBe(0);
  });
});

describe("the connection of an operator", () => {
  it("ends when nothing is asked for a while, and comes back with the next question", async () => {
    const { world, server } = setUp();
    const { admin, platform } = await adminOf(server);
    await world.until(admin.members());
    const opened = server.opened.length;
    await world.until(admin.members());
    expect(server.opened.length).toBe(opened);
    expect(platform.keepsProcess).toBe(false);
    await world.run(5_000);
    expect(server.connections.size).toBe(0);
    expect((await world.until(admin.members())).leaderId).toBe(1);
    expect(server.opened.length).toBe(opened + 1);
  });

  it("is not made when no node answers in time, or the signal says so", async () => {
    const { world, server } = setUp();
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    const error = await failure(world, adminOf(server, { timeoutMs: 500 }));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toMatch(/^no node answers: ws:\/\/node-\d:7411: connection refused/);
    const controller = new AbortController();
    world.after(20, () => controller.abort());
    const given = rejection(world, adminOf(server, { signal: controller.signal }));
    expect(await given).toBe(controller.signal.reason);
    const opened = server.opened.length;
    await world.run(5_000);
    expect(server.opened.length).toBe(opened);
  });

  it("stays with the cluster that answered first", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    const first = admin.clusterId;
    server.clusterId = "other";
    await world.run(5_000);
    const error = await failure(world, admin.removeMember(3));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain("belongs to another cluster");
    expect(admin.clusterId).toBe(first);
    expect(server.members.asked).toEqual([]);
  });

  it("moves when it is told to", async () => {
    const { world, server } = setUp();
    const { admin, platform } = await adminOf(server);
    const before = platform.connection;
    server.faults.isLeaderless = true;
    const asking = admin.members();
    await world.run(10);
    before?.push({ kind: 10 });
    before?.flush();
    await world.run(20);
    expect(platform.connection?.nodeId).not.toBe(before?.nodeId);
    server.faults.isLeaderless = false;
    expect((await world.until(asking)).leaderId).toBe(1);
  });
});

describe("seeing and giving orders without a session", () => {
  it("needs none, even where there is no room for one", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000, name: "the one" });
    const held = await world.until(client.acquire("k"));
    await world.until(client.changeSetting("sessionsMax", 1));
    const { admin } = await adminOf(server);
    const { holds } = await world.until(admin.inspect("k"));
    expect(holds.map(({ sessionName }) => sessionName)).toEqual(["the one"]);
    const now = { now: true };
    const left = { opened: 0, endsInMs: 0, leasesLeft: 0 };
    const [one, none] = [1, 0].map((revoked) => ({ revoked, ...left }));
    expect(await world.until(admin.revoke({ key: "k" }, now))).toEqual(one);
    expect(await world.until(admin.revoke({ key: "k" }, now))).toEqual(none);
    await world.run(10);
    expect(held.signal.reason.details.reason).toBe("revoked");
    await world.until(admin.setLimit("s", 2));
    await world.until(admin.endSession(client.session, { now: true }));
    await world.until(admin.changeSetting("sessionsMax", undefined));
    const settings = await world.until(admin.settings());
    expect(settings.find(({ name }) => name === "sessionsMax")?.value).toBe(100_000);
    const wrong = admin.changeSetting("sessionsMax", 0);
    expect((await failure(world, wrong)).message).toMatch(/no such setting, or a value beyond/);
    expect(server.applied.filter(({ op }) => op === OP.open)).toHaveLength(2);
  });

  it("says an order again whose answer was lost, and takes nothing from who came next", async () => {
    const { world, server } = setUp();
    const first = await connectTo(server, { ttlMs: 60_000 });
    const second = await connectTo(server, { ttlMs: 60_000 });
    const held = await world.until(first.client.acquire("k"));
    const next = second.client.acquire("k");
    await world.run(50);
    const { admin, platform } = await adminOf(server);
    const revokes = () => server.applied.filter(({ op }) => op === OP.revoke).length;
    const revoked = admin.revoke({ key: "k" }, { now: true });
    while (revokes() === 0) await world.run(0.1);
    platform.connection?.cut();
    const none = { revoked: 0, opened: 0, endsInMs: 0, leasesLeft: 0 };
    expect(await world.until(revoked)).toEqual(none);
    expect(revokes()).toBe(2);
    expect(held.signal.aborted).toBe(true);
    expect((await world.until(next)).isHeld).toBe(true);
    const { session } = first.client;
    const ends = () => server.applied.filter(({ op }) => op === OP.endSession).length;
    const ended = admin.endSession(session, { now: true });
    while (ends() === 0) await world.run(0.1);
    platform.connection?.cut();
    await world.until(ended);
    expect(ends()).toBe(2);
    const again = await failure(world, admin.endSession(session));
    expect(again).toMatchObject({ code: "NOT_HELD" });
  });

  it("waits for a node that has no room, and says what it may have done when its time is over", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    server.faults.busy = "everything";
    const refused = [admin.settings(), admin.setLimit("s", 1)];
    await world.run(1_000);
    server.faults.busy = "nothing";
    await world.until(Promise.all(refused));
    server.faults.isLeaderless = true;
    const { code, details } = await failure(world, admin.setLimit("s", 2));
    expect([code, details]).toEqual(["UNAVAILABLE", { indeterminate: true }]);
  });
});
