/** Requests to the HTTP door that wait: polls, repeats, callers that leave, and a node that stops. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DoorWorld } from "./door-world.js";
import { RawClient } from "./raw-client.js";

describe.concurrent("a request that waits", () => {
  let world: DoorWorld;

  beforeAll(async () => {
    world = await DoorWorld.start();
  });

  afterAll(() => world.stop());

  test("is answered when the lock is granted", async () => {
    const held = await world.take("granted", "a");
    const waiting = world.take("granted", "b", "ttl=30s&wait=20s");
    await world.waiting("granted", 1);
    await world.giveBack("granted", "a");
    const granted = await waiting;
    expect(granted.status).toBe(200);
    expect(granted.body.token).toBeGreaterThan(held.body.token);
    expect(granted.body.trustMs).toBeGreaterThan(26_000);
  });

  test("fails when its time is over", async () => {
    await world.take("late", "a");
    const late = await world.take("late", "b", "ttl=30s&wait=50ms");
    expect(late.status).toBe(409);
    expect(late.body).toMatchObject({ code: "LOCK_TIMEOUT", details: { decidedBy: "service" } });
  });

  test("goes on after 202 with the same request, and keeps its place", async () => {
    await world.take("polled", "a");
    const first = await world.take("polled", "b", "ttl=30s&wait=60s&poll=1s");
    expect(first.status).toBe(202);
    expect(first.body).toEqual({ queued: true, graceMs: 2_000 });
    const behind = world.take("polled", "c", "ttl=30s&wait=60s");
    await world.waiting("polled", 2);
    const second = world.take("polled", "b", "ttl=60s&wait=60s");
    // The wait has gone over to the repeat when its first request is not in the log any more.
    await world.waiting("polled", 2);
    await world.giveBack("polled", "a");
    const granted = await second;
    expect(granted.status).toBe(200);
    await world.giveBack("polled", "b");
    expect((await behind).body.token).toBeGreaterThan(granted.body.token);
  });

  test("is withdrawn when it is not repeated in time, also if it was granted meanwhile", async () => {
    await world.take("parked", "a");
    const first = await world.take("parked", "b", "ttl=30s&wait=60s&poll=1s");
    expect(first.status).toBe(202);
    await world.waiting("parked", 0);
    const second = await world.take("parked", "b", "ttl=500ms&wait=60s");
    expect(second.status).toBe(202);
    await world.giveBack("parked", "a");
    // The grace is over long before the end of such a lease, and the lock is free.
    const free = await world.take("parked", "c", "ttl=30s&wait=60s");
    expect(free.status).toBe(200);
  });

  test("keeps its place when something on the way ends it and it comes again at once", async () => {
    await world.take("cut", "a");
    const cutting = new AbortController();
    const cut = world.take("cut", "b", "ttl=30s&wait=60s", { signal: cutting.signal });
    await world.waiting("cut", 1);
    const behind = world.take("cut", "c", "ttl=30s&wait=60s");
    await world.waiting("cut", 2);
    cutting.abort();
    await expect(cut).rejects.toThrow();
    const again = world.take("cut", "b", "ttl=30s&wait=60s");
    // What was asked after it is answered after it.
    await world.ask("GET", "/v1/lock?key=cut");
    await world.giveBack("cut", "a");
    const granted = await again;
    expect(granted.status).toBe(200);
    await world.giveBack("cut", "b");
    expect((await behind).body.token).toBeGreaterThan(granted.body.token);
  });

  test("is answered as soon as its caller ends its side of the connection", async () => {
    await world.take("half", "a");
    const client = await RawClient.say(
      world.port(),
      "PUT /v1/lock?key=half&ttl=30s&wait=60s HTTP/1.1\r\nHost: localhost\r\n" +
        "Holdfast-Owner: b\r\nIdempotency-Key: b\r\n\r\n",
    );
    expect(client.statuses).toEqual([202]);
    await world.waiting("half", 0);
  });

  test("takes nothing when a copy of it comes after its lease was given back", async () => {
    await world.take("late copy", "a");
    await world.giveBack("late copy", "a");
    const copy = await world.take("late copy", "a");
    expect(copy.status).toBe(409);
    expect(copy.body).toMatchObject({ code: "NOT_HELD", details: { reason: "released" } });
    const waiting = await world.take("late copy", "a", "ttl=30s&wait=10s");
    expect([waiting.status, waiting.body.code]).toEqual([409, "NOT_HELD"]);
    expect((await world.ask("GET", "/v1/lock?key=late%20copy")).body.holds).toEqual([]);
    expect((await world.take("late copy", "b")).status).toBe(200);
  });

  test("leaves the queue a moment after its connection breaks", async () => {
    await world.take("broken", "a");
    const leaving = new AbortController();
    const signal = leaving.signal;
    const waiting = world.take("broken", "b", "ttl=30s&wait=60s", { signal });
    await world.waiting("broken", 1);
    leaving.abort();
    await expect(waiting).rejects.toThrow();
    await world.waiting("broken", 0);
  });

  test("is taken over by a repeat, which its end does not end", async () => {
    await world.take("shared call", "a");
    const leaving = new AbortController();
    const call = { signal: leaving.signal };
    const first = world.take("shared call", "b", "ttl=30s&wait=60s", call);
    await world.waiting("shared call", 1);
    const second = world.take("shared call", "b", "ttl=30s&wait=60s");
    expect((await first).body).toMatchObject({ status: 409, code: "CANCELLED" });
    leaving.abort();
    await world.giveBack("shared call", "a");
    expect((await second).status).toBe(200);
  });

  test("leaves the queue by DELETE", async () => {
    await world.take("deleted", "a");
    const waiting = world.take("deleted", "b", "ttl=30s&wait=60s");
    await world.waiting("deleted", 1);
    const left = await world.giveBack("deleted", "b");
    expect(left.body).toEqual({ released: false, leftQueue: true, reason: null });
    expect((await waiting).body.code).toBe("CANCELLED");
  });
});

describe("a cluster without a majority", () => {
  test("answers that it cannot serve now, and never that a lock is held", async () => {
    const world = await DoorWorld.start(3);
    await Promise.all(world.nodes.slice(1).map((node) => node.stop()));
    const first = await world.take("k", "a");
    expect(first.body.code).toBe("UNAVAILABLE");
    expect([503, 504]).toContain(first.status);
    if (first.status === 503) expect(first.headers["retry-after"]).toBe("1");
    await world.stop();
  });
});

describe("a node that stops", () => {
  let world: DoorWorld;

  afterEach(() => world.stop());

  test("sends callers that wait to another node, where they keep their place and their hold", async () => {
    world = await DoorWorld.start(3);
    const held = await world.take("moving", "a", "ttl=60s", {}, 1);
    const waiting = world.take("moving", "b", "ttl=60s&wait=60s", {}, 1);
    await world.waiting("moving", 1);
    const behind = world.take("moving", "c", "ttl=60s&wait=60s", {}, 2);
    await world.waiting("moving", 2);
    const stopped = world.nodes[0]?.stop();
    const sentAway = await waiting;
    expect(sentAway.status).toBe(503);
    expect(sentAway.headers).toMatchObject({ "retry-after": "1", connection: "close" });
    const repeated = world.take("moving", "b", "ttl=60s&wait=60s", {}, 3);
    await stopped;
    const verified = await world.ask(
      "GET",
      `/v1/verify?key=moving&token=${held.body.token}`,
      {},
      3,
    );
    expect(verified.body.isCurrent).toBe(true);
    await world.giveBack("moving", "a", 2);
    expect((await repeated).status).toBe(200);
    await world.giveBack("moving", "b", 2);
    expect((await behind).status).toBe(200);
  });

  test("gives back what it was granted for a caller that did not come back", async () => {
    world = await DoorWorld.start(3);
    await world.take("left", "a", "ttl=60s", {}, 2);
    const waiting = world.take("left", "b", "ttl=600s&wait=60s", {}, 1);
    await world.waiting("left", 1);
    const stopped = world.nodes[0]?.stop();
    expect((await waiting).status).toBe(503);
    await world.giveBack("left", "a", 2);
    await stopped;
    expect((await world.take("left", "c", "ttl=60s&wait=30s", {}, 3)).status).toBe(200);
  });
});
