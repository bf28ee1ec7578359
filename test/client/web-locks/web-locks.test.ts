/**
 * The statements of the Web Locks API about grants, one by one, on a simulated cluster: W3C, "Web
 * Locks API", section 4.
 */
import { describe, expect, it } from "vitest";
import type { RequestedLock } from "../../../src/client/index.js";
import { rejection } from "../world/set-up.js";
import { deferred, hold, openPage, type Page, uncalled } from "./page.js";

describe("the callback", () => {
  it("is given the name and the mode, and a token to fence with", async () => {
    const page = await openPage();
    const first = await hold(page, "a", { mode: "shared" });
    const second = await hold(page, "a", { mode: "shared" });
    expect(first.lock).toMatchObject({ name: "a", mode: "shared" });
    expect(second.lock?.token).toBeGreaterThan(first.lock?.token ?? Number.POSITIVE_INFINITY);
    const { signal } = first.lock as RequestedLock;
    expect(signal.aborted).toBe(false);
    first.release();
    await page.world.until(first.released);
    expect(signal.reason).toMatchObject({ name: "AbortError" });
  });

  it("settles the promise that was returned, once the lock is free", async () => {
    const page = await openPage();
    const { world, locks, server } = page;
    const asked = locks.request("a", () => 123);
    expect(Promise.resolve(asked)).toBe(asked);
    expect(await world.until(asked)).toBe(123);
    expect(server.table.counts().holds).toBe(0);
    const order: string[] = [];
    const { promise, resolve } = deferred();
    const returned = locks.request("a", () => promise).then(() => order.push("returned"));
    void promise.then(() => order.push("holding"));
    resolve();
    await world.until(returned);
    expect(order).toEqual(["holding", "returned"]);
  });

  it("passes on what it throws or rejects with, whatever that is", async () => {
    const { world, locks, server } = await openPage();
    const mistake = { name: "mistake" };
    const throwing = locks.request("a", () => {
      throw mistake;
    });
    expect(await rejection(world, throwing)).toBe(mistake);
    expect(
      await rejection(
        world,
        locks.request("a", () => Promise.reject(mistake)),
      ),
    ).toBe(mistake);
    expect(server.table.counts().holds).toBe(0);
  });

  it.each(["resolves", "rejects"])("keeps the lock until its promise %s", async (how) => {
    const page = await openPage();
    const first = await hold(page, "a");
    const order: string[] = [];
    const second = page.locks.request("a", () => order.push("second"));
    await page.world.run(5_000);
    expect(order).toEqual([]);
    order.push("ended");
    if (how === "resolves") first.release();
    else first.fail(new Error("expected"));
    await page.world.until(second);
    expect(order).toEqual(["ended", "second"]);
  });

  it("may ask for the same name again, and waits forever like anybody else", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const { release, released } = await hold(page, "a");
    const order: string[] = [];
    const nested = locks.request("a", () => order.push("nested"));
    const available = locks.request("a", { ifAvailable: true }, (lock) => lock);
    expect(await world.until(available)).toBeNull();
    await world.run(60_000);
    expect(order).toEqual([]);
    release();
    await world.until(Promise.all([released, nested]));
    expect(order).toEqual(["nested"]);
  });
});

describe("the order of grants", () => {
  it("is the order of the requests, for each name by itself", async () => {
    const { world, locks } = await openPage();
    const granted: number[] = [];
    const log = (n: number) => () => granted.push(n);
    await world.until(Promise.all([1, 2, 3].map((n) => locks.request("a", log(n)))));
    expect(granted).toEqual([1, 2, 3]);
    granted.length = 0;
    let inner: Promise<unknown> = Promise.resolve();
    const outer = locks.request("a", async () => {
      inner = Promise.all([locks.request("a", log(1)), locks.request("b", log(2))]);
    });
    await world.until(outer);
    await world.until(inner);
    expect(granted).toEqual([2, 1]);
  });

  it("lets shared locks be held together, in the order asked for", async () => {
    const { world, locks } = await openPage();
    const granted: number[] = [];
    const names = ["a", "b", "c", "a", "b", "c"];
    const all = names.map((name, n) => {
      return locks.request(name, { mode: "shared" }, () => granted.push(n));
    });
    await world.until(Promise.all(all));
    expect(granted).toEqual([0, 1, 2, 3, 4, 5]);
    const twice = locks.request("a", { mode: "shared" }, () => {
      return locks.request("a", { mode: "shared" }, () => "both");
    });
    expect(await world.until(twice)).toBe("both");
  });

  it("lets exclusive requests wait for shared locks before them, and block those behind", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const end = deferred();
    const granted: string[] = [];
    const request = (name: string, mode: "shared" | "exclusive", what: string) =>
      locks.request(name, { mode }, () => {
        granted.push(what);
        return end.promise;
      });
    const first = [1, 2, 3].map((n) => request("a", "shared", `shared ${n}`));
    const exclusive = locks.request("a", (lock) => granted.push(`${lock?.mode}`));
    const behind = request("a", "shared", "shared 4");
    await world.until(locks.request("b", () => granted.push("b")));
    expect(granted).toEqual(["shared 1", "shared 2", "shared 3", "b"]);
    end.resolve();
    await world.until(Promise.all([...first, exclusive, behind]));
    expect(granted.slice(4)).toEqual(["exclusive", "shared 4"]);
  });

  it("grants all shared requests at once when an exclusive lock is released", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const exclusive = await hold(page, "a");
    const ends = deferred();
    const shared = [1, 2, 3, 4, 5].map(() => {
      return locks.request("a", { mode: "shared" }, () => ends.promise);
    });
    const before = await world.until(locks.query());
    expect([before.held.length, before.pending.length]).toEqual([1, 5]);
    exclusive.release();
    await world.until(exclusive.released);
    const after = await world.until(locks.query());
    expect(after.held.map(({ mode }) => mode)).toEqual(Array(5).fill("shared"));
    ends.resolve();
    await world.until(Promise.all(shared));
  });
});

describe("ifAvailable", () => {
  const tryFor = ({ world, locks }: Page, name: string, mode: "shared" | "exclusive") =>
    world.until(locks.request(name, { ifAvailable: true, mode }, (lock) => lock?.mode ?? null));

  it("calls the callback with null where it would have to wait, and does not wait", async () => {
    const page = await openPage();
    expect(await tryFor(page, "a", "exclusive")).toBe("exclusive");
    const { release } = await hold(page, "a");
    expect(await tryFor(page, "a", "exclusive")).toBeNull();
    expect(await tryFor(page, "a", "shared")).toBeNull();
    expect(await tryFor(page, "different", "exclusive")).toBe("exclusive");
    expect((await page.world.until(page.locks.query())).pending).toEqual([]);
    release();
  });

  it("shares with shared locks, unless somebody waits before it", async () => {
    const page = await openPage();
    const { release, released } = await hold(page, "a", { mode: "shared" });
    expect(await tryFor(page, "a", "shared")).toBe("shared");
    expect(await tryFor(page, "a", "exclusive")).toBeNull();
    const waiting = page.locks.request("a", () => "exclusive");
    expect(await tryFor(page, "a", "shared")).toBeNull();
    release();
    await page.world.until(Promise.all([released, waiting]));
  });

  it("passes on what the callback makes of null", async () => {
    const page = await openPage();
    const { world, locks } = page;
    await hold(page, "a");
    const options = { ifAvailable: true };
    expect(await world.until(locks.request("a", options, () => 123))).toBe(123);
    const mistake = { name: "mistake" };
    const throwing = locks.request("a", options, () => {
      throw mistake;
    });
    expect(await rejection(world, throwing)).toBe(mistake);
    const rejecting = locks.request("a", options, () => Promise.reject(mistake));
    expect(await rejection(world, rejecting)).toBe(mistake);
  });

  it("finds the lock free as soon as an earlier request has settled", async () => {
    const page = await openPage();
    for (let i = 0; i < 20; i++) {
      await page.world.until(page.locks.request("a", () => i));
      expect(await tryFor(page, "a", "exclusive")).toBe("exclusive");
    }
  });
});

describe("steal", () => {
  it("is granted at once, held or not", async () => {
    const page = await openPage();
    const { world, locks } = page;
    expect(await world.until(locks.request("a", { steal: true }, (lock) => lock?.name))).toBe("a");
    await hold(page, "a");
    expect(await world.until(locks.request("a", { steal: true }, (lock) => lock?.name))).toBe("a");
  });

  it("rejects the promise of who held it with an AbortError, and lets the callback go on", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const first = await hold(page, "a");
    const stolen = rejection(world, first.released);
    const thief = await hold(page, "a", { steal: true });
    const reason = await stolen;
    expect(reason).toBeInstanceOf(DOMException);
    expect(reason).toMatchObject({ name: "AbortError", cause: { code: "LOCK_LOST" } });
    expect(first.lock?.signal.reason).toMatchObject({ details: { reason: "stolen" } });
    // The end of the old callback means nothing any more.
    first.fail(new Error("nobody listens"));
    await world.run(100);
    const { held } = await world.until(locks.query());
    expect(held).toHaveLength(1);
    thief.release("kept");
    expect(await world.until(thief.released)).toBe("kept");
  });

  it("ends all shared locks, and goes ahead of those who wait", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const shared = [
      await hold(page, "a", { mode: "shared" }),
      await hold(page, "a", { mode: "shared" }),
    ];
    const order: string[] = [];
    const waiting = locks.request("a", () => order.push("waiting"));
    const stealing = locks.request("a", { steal: true }, () => order.push("stealing"));
    await world.until(Promise.all([waiting, stealing]));
    expect(order).toEqual(["stealing", "waiting"]);
    for (const { released } of shared) {
      expect(await rejection(world, released)).toMatchObject({ name: "AbortError" });
    }
  });

  it("may be robbed itself: the last one wins", async () => {
    const page = await openPage();
    const { world } = page;
    const first = await hold(page, "a");
    const second = await hold(page, "a", { steal: true });
    const third = await hold(page, "a", { steal: true });
    for (const { released } of [first, second]) {
      expect(await rejection(world, released)).toMatchObject({ name: "AbortError" });
    }
    third.release("third");
    expect(await world.until(third.released)).toBe("third");
  });

  it("in the same moment still lets the one before be called", async () => {
    const { world, locks } = await openPage();
    const called: string[] = [];
    const first = locks.request("a", async () => {
      called.push("first");
      await Promise.resolve();
    });
    const robbed = rejection(world, first);
    await world.until(locks.request("a", { steal: true }, () => called.push("thief")));
    expect(await robbed).toMatchObject({ name: "AbortError" });
    expect(called).toEqual(["first", "thief"]);
  });
});

describe("signal", () => {
  it("that is aborted already rejects with its reason", async () => {
    const { world, locks } = await openPage();
    const signal = AbortSignal.abort();
    expect(await rejection(world, locks.request("a", { signal }, uncalled))).toBe(signal.reason);
    expect(signal.reason).toMatchObject({ name: "AbortError" });
    const custom = locks.request("a", { signal: AbortSignal.abort("the dog ate it") }, uncalled);
    expect(await rejection(world, custom)).toBe("the dog ate it");
  });

  it("that is aborted while it waits rejects with its reason, and lets the next one in", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const { release } = await hold(page, "a");
    const controller = new AbortController();
    const waiting = locks.request("a", { signal: controller.signal }, uncalled);
    const next = locks.request("a", () => "next");
    const { held, pending } = await world.until(locks.query());
    expect([held.length, pending.length]).toEqual([1, 2]);
    controller.abort("enough");
    expect(await rejection(world, waiting)).toBe("enough");
    expect((await world.until(locks.query())).pending).toHaveLength(1);
    release();
    expect(await world.until(next)).toBe("next");
  });

  it("that is aborted in the same turn ends a request that could have been granted", async () => {
    const page = await openPage();
    const { world, locks, server } = page;
    const controller = new AbortController();
    const asked = locks.request("a", { signal: controller.signal }, uncalled);
    const next = locks.request("a", () => "next");
    controller.abort();
    expect(await rejection(world, asked)).toBe(controller.signal.reason);
    expect(await world.until(next)).toBe("next");
    expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
  });

  it("that is aborted while the grant is on its way gives the lock back", async () => {
    for (let delayMs = 0; delayMs < 8; delayMs += 0.25) {
      const { world, locks, server } = await openPage();
      const controller = new AbortController();
      world.after(delayMs, () => controller.abort());
      const asked = locks.request("a", { signal: controller.signal }, () => "granted");
      const ended = await world.until(asked.catch((reason: unknown) => reason));
      expect([controller.signal.reason, "granted"]).toContain(ended);
      expect(await world.until(locks.request("a", () => "next"))).toBe("next");
      expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
    }
  });

  it("that is aborted after the grant means nothing, before the release or behind it", async () => {
    const page = await openPage();
    const controller = new AbortController();
    const { signal } = controller;
    const held = await hold(page, "a", { signal });
    controller.abort();
    await page.world.run(100);
    expect((await page.world.until(page.locks.query())).held).toHaveLength(1);
    held.release("ok");
    expect(await page.world.until(held.released)).toBe("ok");
    const later = new AbortController();
    const other = await hold(page, "a", { signal: later.signal });
    other.release("ok");
    later.abort();
    expect(await page.world.until(other.released)).toBe("ok");
  });
});
