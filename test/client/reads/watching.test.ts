/**
 * Watches and elections: no change is missing or reported twice, whatever happens to the
 * connection.
 */
import { describe, expect, it } from "vitest";
import type { Change, Leader, Watch } from "../../../src/client/index.js";
import { MESSAGE, REVISION_NUMBER_MAX, STATUS } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";

/** Takes what comes until `done` says that it was enough. */
async function take(
  world: SimulatedWorld,
  watch: Watch,
  count: number,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  while (changes.length < count) {
    const { done, value } = await world.until(watch.next());
    if (done === true) break;
    changes.push(value);
  }
  return changes;
}

function namesOf(changes: readonly Change[]): string[] {
  return changes.map(({ type, key }) => `${type} ${key}`);
}

describe("a watch", () => {
  it.each([
    null,
    {},
    { changes: [null], revision: { index: 1, number: 0 } },
    { changes: [], revision: { index: -0.5, number: 0 } },
  ])("fails, and its client goes on, where the node sends something else: %j", async (payload) => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server);
    const next = client.watch("k").next();
    await world.run(20);
    for (let id = 1; id < 10; id += 1) {
      platform.connection?.push({ kind: MESSAGE.changes, id, status: STATUS.ok, payload });
    }
    platform.connection?.flush();
    expect((await failure(world, next)).code).toBe("PROTOCOL");
    expect((await world.until(client.acquire("k"))).isHeld).toBe(true);
  });

  it("reports changes of a key, or of all with a prefix, in the order of the log", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { name: "watcher" });
    const ofKey = client.watch("orders/1");
    const ofPrefix = client.watch({ prefix: "ord" });
    const below = client.watch("orders/");
    await world.run(20);
    const one = await world.until(client.acquire("orders/1", { value: "v" }));
    const waiting = client.acquire("orders/1");
    const two = await world.until(client.acquire("orders/2"));
    await world.until(client.acquire("others/3"));
    await world.run(20);
    await world.until(one.update("w"));
    await world.until(one.release());
    await world.until(waiting);
    await world.until(two.release());
    const seen = await take(world, ofKey, 5);
    expect(namesOf(seen)).toEqual([
      "granted orders/1",
      "queued orders/1",
      "updated orders/1",
      "ended orders/1",
      "granted orders/1",
    ]);
    expect(seen[0]).toMatchObject({ token: one.token, sessionName: "watcher", value: "v" });
    expect(seen[3]).toMatchObject({ reason: "released" });
    const all = namesOf(await take(world, ofPrefix, 7));
    expect(all).not.toContain("granted others/3");
    expect(namesOf(await take(world, below, 7)), "a text that ends with a slash").toEqual(all);
    expect(ofKey.revision).toBeDefined();
  });

  it("goes on behind its last revision after every way of losing the connection", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const other = await connectTo(server, { ttlMs: 60_000 });
    const watch = client.watch("k");
    await world.run(20);
    const tokens: number[] = [];
    for (let i = 0; i < 40; i++) {
      const lock = await world.until(other.client.acquire("k"));
      tokens.push(lock.token);
      if (i % 7 === 3) platform.connection?.cut();
      if (i % 7 === 6) platform.connection?.close(1012, "restart");
      await world.until(lock.release());
    }
    const changes = await take(world, watch, 80);
    const granted = changes.filter(({ type }) => type === "granted");
    expect(granted.map(({ token }) => token)).toEqual(tokens);
    const revisions = changes.map(({ revision }) => revision.index * 1_000 + revision.number);
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  });

  it("misses nothing that happens after it was asked for, though its first answer is lost", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const other = await connectTo(server, { ttlMs: 60_000 });
    const watch = client.watch("k");
    await world.run(0.1);
    platform.connection?.cut();
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    const { token } = await world.until(other.client.acquire("k"));
    server.faults.downNodes.clear();
    expect(await take(world, watch, 1)).toMatchObject([{ type: "granted", token }]);
  });

  it("is taken up by another client from the revision where one stopped", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const other = await connectTo(server);
    const first = client.watch("k");
    await world.run(20);
    for (let i = 0; i < 3; i++)
      await world.until((await world.until(client.acquire("k"))).release());
    const [begin] = await take(world, first, 1);
    expect(first.revision).toEqual(begin?.revision);
    const after = JSON.parse(JSON.stringify(first.revision)) as typeof first.revision;
    await first.return?.();
    if (after === undefined) throw new Error("it was told something");
    const second = other.client.watch("k", { after });
    expect(namesOf(await take(world, second, 5))).toEqual([
      "ended k",
      "granted k",
      "ended k",
      "granted k",
      "ended k",
    ]);
    // A node that had applied nothing says that a watch began there.
    const beginning = { index: 0, number: REVISION_NUMBER_MAX };
    const whole = other.client.watch("k", { after: beginning });
    expect(await take(world, whole, 1)).toEqual([begin]);
  });

  it("pauses while nobody takes what it reports, and loses nothing", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const other = await connectTo(server, { ttlMs: 60_000 });
    const watch = client.watch({ prefix: "" });
    await world.run(20);
    for (let i = 0; i < 1_500; i++) {
      await world.until((await world.until(other.client.acquire(`k/${i}`))).release());
    }
    expect(platform.connection?.watchCount).toBe(0);
    platform.connection?.cut();
    await world.run(100);
    expect(platform.connection?.watchCount).toBe(0);
    const changes = await take(world, watch, 3_000);
    const granted = changes.filter(({ type }) => type === "granted").map(({ key }) => key);
    expect(granted).toEqual(Array.from({ length: 1_500 }, (_, i) => `k/${i}`));
    expect(platform.connection?.watchCount).toBe(1);
    await watch.return?.();
    await world.run(20);
    expect(platform.connection?.watchCount).toBe(0);
  });

  it("fails with COMPACTED when what comes next is forgotten", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const other = await connectTo(server, { ttlMs: 60_000 });
    const watch = client.watch("k");
    await world.run(20);
    platform.connection?.cut();
    await world.until(other.client.acquire("k"));
    server.reads.compact();
    const error = await failure(world, watch.next());
    expect(error.code).toBe("COMPACTED");
    expect(error.message).toContain("inspect");
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });

  it("is asked for again when a node is busy, and ends by signal, return and close", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    server.faults.busy = "everything";
    const watch = client.watch("k");
    await world.run(300);
    server.faults.busy = "nothing";
    await world.run(300);
    const lock = await world.until(client.acquire("k"));
    expect(namesOf(await take(world, watch, 1))).toEqual(["granted k"]);
    const waiting = watch.next();
    await watch.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });

    const controller = new AbortController();
    const aborted = client.watch("k", { signal: controller.signal });
    world.after(50, () => controller.abort());
    expect(await rejection(world, aborted.next())).toBe(controller.signal.reason);
    expect(() => client.watch("k", { signal: controller.signal })).toThrow();

    const last = client.watch("k");
    const end = failure(world, last.next());
    await world.until(client.close());
    expect((await end).code).toBe("CANCELLED");
    expect(() => client.watch("k")).toThrow("closed");
    expect(lock.isHeld).toBe(false);
  });

  it("keeps a process running only while somebody waits for what it reports", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server);
    const watch = client.watch("k");
    await world.run(50);
    expect(platform.keepsProcess).toBe(false);
    const waiting = watch.next();
    await world.run(50);
    expect(platform.keepsProcess).toBe(true);
    await watch.return?.();
    await waiting;
    await world.run(50);
    expect(platform.keepsProcess).toBe(false);
  });
});

describe("an election", () => {
  it("is won by one after the other, who can change the value and resign", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "one" });
    const two = await connectTo(server, { name: "two" });
    const election = one.client.election("scheduler");
    expect(await world.until(election.leader())).toBeUndefined();
    const first = await world.until(election.campaign("host-1"));
    const second = two.client.election("scheduler").campaign("host-2");
    const { token } = first;
    const leader = await world.until(election.leader());
    expect(leader).toMatchObject({ value: "host-1", token, sessionName: "one" });
    await world.until(first.proclaim("host-1b"));
    expect((await world.until(election.leader()))?.value).toBe("host-1b");
    expect(first.value).toBe("host-1b");
    expect(await world.until(first.resign())).toEqual({ released: true });
    const term = await world.until(second);
    expect(term.token).toBeGreaterThan(token);
    expect(term.isHeld).toBe(true);
  });

  it("shows each leader to those who observe, over broken connections and lost history", async () => {
    const { world, server } = setUp();
    const watcher = await connectTo(server, { ttlMs: 60_000 });
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const seen: (string | undefined)[] = [];
    const controller = new AbortController();
    const { signal } = controller;
    const observing = (async () => {
      for await (const leader of watcher.client.election("e").observe({ signal })) {
        seen.push((leader as Leader | undefined)?.value);
      }
    })();
    await world.run(50);
    const election = client.election("e");
    for (let i = 0; i < 6; i++) {
      const term = await world.until(election.campaign(`v${i}`));
      await world.run(50);
      if (i % 3 === 1) watcher.platform.connection?.cut();
      if (i === 4) {
        watcher.platform.connection?.cut();
        server.reads.compact();
      }
      await world.run(300);
      await world.until(term.proclaim(`w${i}`));
      await world.run(50);
      await world.until(term.resign());
      await world.run(50);
    }
    const expected = Array.from({ length: 6 }, (_, i) => [`v${i}`, `w${i}`, undefined]).flat();
    expect(seen).toEqual([undefined, ...expected]);
    controller.abort();
    expect(await rejection(world, observing)).toBe(signal.reason);
    await world.run(50);
    expect(watcher.platform.connection?.watchCount).toBe(0);
  });

  it("that nobody reaches for a while is observed further when somebody does", async () => {
    const { world, server } = setUp();
    const settings = { ttlMs: 60_000, connectTimeoutMs: 500 };
    const { client, platform } = await connectTo(server, settings);
    const other = await connectTo(server, { ttlMs: 60_000 });
    const leaders = client.election("e").observe();
    expect((await world.until(leaders.next())).value).toBeUndefined();
    const next = leaders.next();
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    platform.connection?.cut();
    await world.until(other.client.election("e").campaign("v"));
    await world.run(3_000);
    server.faults.downNodes.clear();
    expect((await world.until(next)).value).toMatchObject({ value: "v" });
    await leaders.return();
  });
});
