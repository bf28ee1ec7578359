/**
 * What the cluster shows about its locks: why a request waits, who waits for whom, who held a lock.
 */
import { describe, expect, it } from "vitest";
import { type SessionView, toDot } from "../../../src/client/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("the cluster", () => {
  it("explains why a request waits, and what a newcomer would wait for", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "one" });
    const two = await connectTo(server, { name: "two" });
    await world.until(one.client.acquire("k"));
    void two.client.acquire("k").catch(() => undefined);
    void two.client.acquire("k").catch(() => undefined);
    await world.run(20);
    const { waiters } = await world.until(one.client.inspect("k"));
    const [, last] = waiters;
    if (last === undefined) throw new Error("two wait");
    const { session, sequence } = last;
    const view = await world.until(one.client.explain("k", { request: { session, sequence } }));
    expect(view.request).toMatchObject({ session, sequence });
    expect(view.keys).toMatchObject([{ key: "k", isEligible: false, aheadCount: 1 }]);
    const newcomer = await world.until(one.client.explain("k"));
    expect(newcomer.request).toBeNull();
    expect(newcomer.keys[0]?.aheadCount).toBe(2);
  });

  it("shows who waits for whom, also as a drawing", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: 'the "one"' });
    const two = await connectTo(server);
    await world.until(one.client.acquire("k"));
    void two.client.acquire("k").catch(() => undefined);
    await world.run(20);
    const graph = await world.until(one.client.waitGraph());
    expect(graph.edges).toMatchObject([{ key: "k", mode: "exclusive", why: "holds" }]);
    const { from, to } = graph.edges[0] ?? { from: 0, to: 0 };
    expect(toDot({ ...graph, isTruncated: true })).toBe(
      [
        "digraph waits {",
        "  rankdir=LR;",
        `  n${from} [label="session ${two.client.session}\\ntask 1"];`,
        `  n${to} [label="the \\"one\\"\\ntask 1"];`,
        `  n${from} -> n${to} [label="k\\nexclusive"];`,
        '  label="there are more edges than the limit";',
        "}",
        "",
      ].join("\n"),
    );
  });

  it("verifies tokens, shows who held a key and why it ended, and lists sessions", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "one", metadata: "m" });
    const two = await connectTo(server, { name: "two" });
    const lock = await world.until(one.client.acquire("k"));
    const { token } = lock;
    const verified = await world.until(two.client.verify("k", token));
    expect(verified).toEqual({ isCurrent: true, newestToken: token });
    await world.until(two.client.acquire("k", { steal: true }));
    expect(await world.until(two.client.verify("k", token))).toMatchObject({ isCurrent: false });
    const { tenures, isTruncated } = await world.until(two.client.history("k", { limit: 5 }));
    expect(tenures).toMatchObject([{ token, sessionName: "one", reason: "stolen" }]);
    expect(isTruncated).toBe(false);
    const sessions: SessionView[] = [];
    const collect = async () => {
      for await (const session of two.client.sessions()) sessions.push(session);
    };
    await world.until(collect());
    expect(sessions).toMatchObject([
      { session: one.client.session, name: "one", metadata: "m", holds: 0 },
      { session: two.client.session, name: "two", holds: 1 },
    ]);
  });

  it("revokes as many as there are, however few fit in one step", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    const two = await connectTo(server);
    const shared = { mode: "shared" } as const;
    const locks = await world.until(
      Promise.all(Array.from({ length: 25 }, () => one.client.acquire("k", shared))),
    );
    await world.until(two.client.changeSetting("holdsPerStepMax", 10));
    const revoked = await world.until(two.client.revoke({ key: "k" }, { now: true }));
    expect(revoked).toEqual({ revoked: 25, opened: 0, endsInMs: 0, leasesLeft: 0 });
    await world.run(20);
    expect(locks.every((lock) => lock.signal.aborted)).toBe(true);
    const unknown = await failure(world, two.client.revoke({ token: locks[0]?.token ?? 0 }));
    expect(unknown.code).toBe("NOT_HELD");
    const none = await world.until(two.client.revoke({ key: "k" }));
    expect(none).toEqual({ revoked: 0, opened: 0, endsInMs: 0, leasesLeft: 0 });
  });

  it("opens a key that ended holds keep closed, however many they are", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const cooldown = { mode: "shared", minHoldMs: 3_600_000 } as const;
    const locks = await world.until(
      Promise.all(Array.from({ length: 25 }, () => client.acquire("k", cooldown))),
    );
    await world.until(Promise.all(locks.map((lock) => lock.release())));
    await world.until(client.changeSetting("holdsPerStepMax", 10));
    const next = client.acquire("k");
    const opened = await world.until(client.revoke({ key: "k" }, { graceMs: 60_000 }));
    expect(opened).toEqual({ revoked: 0, opened: 25, endsInMs: 0, leasesLeft: 0 });
    expect((await world.until(next)).isHeld).toBe(true);
  });

  it("is asked for nothing longer than connectTimeoutMs, and says whether it may have happened", async () => {
    const { world, server } = setUp();
    const settings = { ttlMs: 60_000, connectTimeoutMs: 1_000 };
    const { client } = await connectTo(server, settings);
    server.faults.isLeaderless = true;
    const sent = await failure(world, client.changeSetting("waitersMax", 5));
    expect(sent.code).toBe("UNAVAILABLE");
    expect(sent.details).toMatchObject({ indeterminate: true });
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = client.revoke({ key: "k" }, { signal });
    controller.abort();
    await expect(aborted).rejects.toBe(signal.reason);
  });
});
