/** The HTTP door of a node: leases taken, extended, looked at and given back. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DoorWorld } from "./door-world.js";

const OWNER = "Holdfast-Owner";
let world: DoorWorld;

beforeAll(async () => {
  world = await DoorWorld.start();
});

afterAll(() => world.stop());

describe("a lease", () => {
  test("is taken with a token, extended, and given back once", async () => {
    const taken = await world.take("orders/1", "a");
    expect(taken.status).toBe(200);
    const { token, trustMs, endsInMs } = taken.body;
    expect(taken.body).toEqual({ token: expect.any(Number), trustMs, endsInMs });
    // The request waited for its client, and the lease began when that sent it.
    expect(endsInMs).toBeGreaterThanOrEqual(30_000);
    expect(endsInMs - trustMs).toBe(3_000);
    const headers = { [OWNER]: "a" };
    const extended = await world.ask("POST", "/v1/lock/extend?key=orders/1&ttl=2m", { headers });
    expect(extended.status).toBe(200);
    expect(extended.body.token).toBe(token);
    expect(extended.body.endsInMs - extended.body.trustMs).toBe(12_000);
    const verified = await world.ask("GET", `/v1/verify?key=orders/1&token=${taken.body.token}`);
    expect(verified.body).toEqual({ isCurrent: true, newestToken: taken.body.token });
    const released = await world.giveBack("orders/1", "a");
    expect(released.body).toEqual({ released: true, leftQueue: false, reason: null });
    const again = await world.giveBack("orders/1", "a");
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ released: false, leftQueue: false, reason: "released" });
  });

  test("is given again to a repeat with its Idempotency-Key, and held for any other", async () => {
    const first = await world.take("repeat", "a");
    const second = await world.take("repeat", "a", "ttl=60s");
    expect(second.status).toBe(200);
    expect(second.body.token).toBe(first.body.token);
    expect(second.body.endsInMs).toBeGreaterThanOrEqual(60_000);
    const headers = { "Idempotency-Key": "another" };
    const other = await world.take("repeat", "a", "ttl=30s", { headers });
    expect(other.status).toBe(409);
    expect(other.body).toMatchObject({ code: "LOCK_HELD", details: { isSameOwner: true } });
    const stranger = await world.take("repeat", "b");
    expect(stranger.body).toMatchObject({ status: 409, code: "LOCK_HELD", title: "Conflict" });
    expect(stranger.headers["content-type"]).toBe("application/problem+json");
  });

  test("is shown with the name of its owner, and whether it is mine", async () => {
    const headers = { "Holdfast-Name": "worker Zoë" };
    const name = Buffer.from("worker Zoë").toString("latin1");
    const taken = await world.take("shown", "secret owner", "ttl=30s", {
      headers: { ...headers, "Holdfast-Name": name },
    });
    const seen = await world.ask("GET", "/v1/lock?key=shown");
    expect(seen.body).toMatchObject({
      ...{ key: "shown", kind: "lock", waiters: [] },
      holds: [{ token: taken.body.token, sessionName: "worker Zoë", session: 0 }],
    });
    expect(seen.text).not.toContain("secret");
    expect(seen.body.mine).toBeUndefined();
    const mine = await world.ask("GET", "/v1/lock?key=shown", {
      headers: { [OWNER]: "secret owner" },
    });
    expect(mine.body.mine).toEqual({ token: taken.body.token, endsInMs: expect.any(Number) });
    const other = await world.ask("GET", "/v1/lock?key=shown", { headers: { [OWNER]: "other" } });
    expect(other.body.mine).toBeNull();
    const idle = await world.ask("GET", "/v1/lock?key=idle");
    expect(idle.status).toBe(200);
    expect(idle.body).toMatchObject({ key: "idle", kind: null, holds: [] });
    const head = await world.ask("HEAD", "/v1/lock?key=idle");
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(String(idle.text.length));
  });

  test("writes nothing when its owner asks what it has", async () => {
    const QUESTIONS = 200;
    await world.take("asked", "asking");
    const committed = async () => Number((await world.ask("GET", "/status")).body.commitIndex);
    const before = await committed();
    for (let i = 0; i < QUESTIONS; i += 1) {
      const { body } = await world.ask("GET", "/v1/lock?key=asked", {
        headers: { [OWNER]: "asking" },
      });
      expect(body.mine.endsInMs).toBeGreaterThan(0);
    }
    // Time itself is written once a second while there is a lease.
    expect((await committed()) - before).toBeLessThan(QUESTIONS / 2);
  });

  test("may be shared, or one of a semaphore's permits", async () => {
    for (const owner of ["r1", "r2"]) {
      expect((await world.take("shared", owner, "ttl=30s&mode=shared")).status).toBe(200);
    }
    expect((await world.take("shared", "w", "ttl=30s")).status).toBe(409);
    const first = await world.take("permits", "p1", "ttl=30s&permits=2&limit=3");
    expect(first.body.slots).toEqual([[0, 1]]);
    expect((await world.take("permits", "p2", "ttl=30s&permits=2")).body.code).toBe("LOCK_HELD");
    expect((await world.take("permits", "p3", "ttl=30s&limit=3")).body.slots).toEqual([[2]]);
    const wrong = await world.take("permits", "p4", "ttl=30s&limit=4");
    expect(wrong.body).toMatchObject({ status: 409, code: "LIMIT_MISMATCH" });
  });

  test("of several keys is taken whole or not at all, and found by any of them", async () => {
    const call = (owner: string, body: object) => {
      return world.ask("POST", "/v1/locks", {
        headers: { [OWNER]: owner, "Content-Type": "application/json; charset=utf-8" },
        body: JSON.stringify(body),
      });
    };
    const items = [{ key: "all/1" }, { key: "all/2", mode: "shared" }, { key: "all/3", limit: 2 }];
    const taken = await call("a", { items, ttl: "30s" });
    expect(taken.status).toBe(200);
    const refused = await call("b", { items: [{ key: "all/9" }, { key: "all/1" }], ttl: 30_000 });
    expect(refused.body.code).toBe("LOCK_HELD");
    const page = await world.ask("GET", "/v1/locks?prefix=all/&limit=2");
    expect(page.body.keys.map(({ key }: { key: string }) => key)).toEqual(["all/1", "all/2"]);
    const rest = await world.ask("GET", `/v1/locks?prefix=all/&after=${page.body.next}`);
    expect(rest.body).toMatchObject({ keys: [{ key: "all/3" }], next: null });
    const headers = { [OWNER]: "a" };
    const extended = await world.ask("POST", "/v1/lock/extend?key=all/2&ttl=60s", { headers });
    expect(extended.body.token).toBe(taken.body.token);
    expect((await world.giveBack("all/3", "a")).body.released).toBe(true);
    expect((await world.ask("GET", "/v1/locks?prefix=all/")).body.keys).toEqual([]);
  });

  test("that has ended is not extended, and the answer has the reason", async () => {
    await world.take("gone", "a");
    await world.giveBack("gone", "a");
    const headers = { [OWNER]: "a" };
    const late = await world.ask("POST", "/v1/lock/extend?key=gone&ttl=30s", { headers });
    expect(late.status).toBe(409);
    expect(late.body).toMatchObject({ code: "NOT_HELD", details: { reason: "released" } });
    const never = await world.ask("POST", "/v1/lock/extend?key=never&ttl=30s", { headers });
    expect(never.body).toMatchObject({ code: "NOT_HELD", details: { reason: "unknown" } });
  });
});

describe("a request that is wrong", () => {
  const JSON_TYPE = { "Content-Type": "application/json" };
  test.each([
    ["PUT", "/v1/lock?ttl=30s", { [OWNER]: "a" }, 400, "the parameter key is missing"],
    ["PUT", "/v1/lock?key=k", { [OWNER]: "a" }, 400, "the parameter ttl is missing"],
    ["PUT", "/v1/lock?key=k&ttl=30s", {}, 400, "which alone may extend and end"],
    ["PUT", "/v1/lock?key=k&ttl=30s&wiat=5s", { [OWNER]: "a" }, 400, "wiat"],
    ["PUT", "/v1/lock?key=k&key=l&ttl=30s", { [OWNER]: "a" }, 400, "key is given twice"],
    ["PUT", "/v1/lock?key=k&ttl=30", { [OWNER]: "a" }, 400, "write 30s for seconds"],
    ["PUT", "/v1/lock?key=k&ttl=250ms", { [OWNER]: "a" }, 400, "can be relied on"],
    ["POST", "/v1/lock/extend?key=k&ttl=0", { [OWNER]: "a" }, 400, "can be relied on"],
    ["PUT", "/v1/lock?key=k&ttl=9s&poll=9ms", { [OWNER]: "a" }, 400, "poll must be at least"],
    ["PUT", "/v1/lock?key=k&ttl=soon", { [OWNER]: "a" }, 400, "ttl must be a duration"],
    ["PUT", "/v1/lock?key=k&ttl=1.0001ms", { [OWNER]: "a" }, 400, "ttl must be a duration"],
    ["PUT", "/v1/lock?key=k&ttl=2d", { [OWNER]: "a" }, 400, "leaseTtlMsMax"],
    ["PUT", "/v1/lock?key=%ff&ttl=30s", { [OWNER]: "a" }, 400, "percent-encoded UTF-8"],
    ["PUT", "/v1/lock?key=k&ttl=30s", { [OWNER]: "\xff" }, 400, "Holdfast-Owner must be UTF-8"],
    ["PUT", "/v1/lock?key=k&ttl=30s&wait=1s", { [OWNER]: "a" }, 400, "needs an Idempotency-Key"],
    ["PUT", "/v1/lock?key=k&ttl=30s&mode=own", { [OWNER]: "a" }, 400, "mode"],
    ["GET", "/v1/verify?key=k&token=x", {}, 400, "token must be a whole number"],
    ["GET", "/v1/watch?key=k", {}, 400, "only prefix"],
    ["GET", "/v1/lokc?key=k", {}, 404, "/v1/openapi.json"],
    ["PATCH", "/v1/lock?key=k", {}, 405, "only PUT, DELETE, GET, HEAD, OPTIONS"],
    ["POST", "/v1/locks", { [OWNER]: "a" }, 415, "application/json"],
    ["POST", "/v1/locks?key=k", { [OWNER]: "a", ...JSON_TYPE }, 400, "only none"],
    ["GET", "/v1/lock?key=k", { Host: "evil.example" }, 421, "evil.example"],
  ])(
    "%s %s with %o is answered with %i and a sentence",
    async (method, path, headers, status, text) => {
      const answer = await world.ask(method, path, { headers });
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject({
        ...{ "content-type": "application/problem+json", "cache-control": "no-store" },
      });
      expect(answer.body).toMatchObject({ status, code: expect.any(String) });
      expect(answer.body.detail).toContain(text);
    },
  );

  test("names the methods that are served", async () => {
    const answer = await world.ask("PATCH", "/v1/lock");
    expect(answer.headers.allow).toBe("PUT, DELETE, GET, HEAD, OPTIONS");
  });

  test("has a body where none is read, or too large a one", async () => {
    const headers = { [OWNER]: "a", "Content-Type": "application/json" };
    const ignored = await world.ask("PUT", "/v1/lock?key=k", { headers, body: "ttl=30s" });
    expect(ignored.body.detail).toContain("no body");
    const body = JSON.stringify({ items: [{ key: "k".repeat(70_000) }], ttl: 1 });
    expect((await world.ask("POST", "/v1/locks", { headers, body })).status).toBe(413);
    const broken = await world.ask("POST", "/v1/locks", { headers, body: "{" });
    expect(broken.body.detail).toContain("not JSON");
    const misspelled = await world.ask("POST", "/v1/locks", {
      ...{ headers, body: JSON.stringify({ items: [{ kee: "k" }], ttl: 1 }) },
    });
    expect(misspelled.body.detail).toBe('an item has "kee"');
  });
});

test("no answer and no line of the log contains an owner", () => {
  expect(JSON.stringify(world.logged)).not.toContain("secret owner");
});
