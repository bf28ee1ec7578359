/**
 * Web Locks of several clients: what `query` shows, and what only a cluster has, such as lost
 * sessions and nodes that cannot be reached.
 */
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../../src/errors/index.js";
import { OP } from "../../../src/protocol/index.js";
import { EMPTY, failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { type Held, hold, openAnother, openPage, type Page, uncalled } from "./page.js";

describe("query", () => {
  it("shows by two empty arrays that nothing is held", async () => {
    const { world, locks } = await openPage();
    expect(await world.until(locks.query())).toStrictEqual({ held: [], pending: [] });
  });

  it("shows name, mode and client of everything, requests of the moment before included", async () => {
    const page = await openPage();
    const { world, locks, client } = page;
    void locks.request("a", () => new Promise(() => undefined)).catch(() => undefined);
    void locks.request("a", { mode: "shared" }, uncalled).catch(() => undefined);
    void locks.request("b", { mode: "shared" }, () => new Promise(() => {})).catch(() => undefined);
    const clientId = String(client.session);
    expect(await world.until(locks.query())).toStrictEqual({
      held: [
        { name: "a", mode: "exclusive", clientId },
        { name: "b", mode: "shared", clientId },
      ],
      pending: [{ name: "a", mode: "shared", clientId }],
    });
  });

  it("lists requests as they were made and locks as they were granted, over all names", async () => {
    const page = await openPage();
    const { world, locks } = page;
    const holders = [];
    for (const name of ["a", "b", "c"]) holders.push(await hold(page, name));
    const [a, b, c] = holders as [Held, Held, Held];
    const next = ["c", "b", "a"].map((name) => hold(page, name));
    const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);
    expect(names((await world.until(locks.query())).pending)).toEqual(["c", "b", "a"]);
    for (const { release } of [b, c, a]) release();
    const second = await world.until(Promise.all(next));
    expect(names((await world.until(locks.query())).held)).toEqual(["b", "c", "a"]);
    const thieves = ["c", "a", "b"].map((name) => hold(page, name, { steal: true }));
    await world.until(Promise.all(thieves));
    expect(names((await world.until(locks.query())).held)).toEqual(["c", "a", "b"]);
    for (const { released } of second) await rejection(world, released);
  });

  it("shows every client of the cluster, each under an id of its own", async () => {
    const one = await openPage();
    const two = await openAnother(one);
    const { world } = one;
    await hold(one, "a");
    await hold(two, "b");
    // A deadlock, which the API leaves to those who look.
    const waits = [one.locks.request("b", uncalled), two.locks.request("a", uncalled)];
    for (const wait of waits) wait.catch(() => undefined);
    await world.run(50);
    const { held, pending } = await world.until(one.locks.query());
    const ids = [String(one.client.session), String(two.client.session)];
    expect(held.map(({ clientId }) => clientId)).toEqual(ids);
    expect(pending.map(({ name, clientId }) => [name, clientId])).toEqual(
      expect.arrayContaining([
        ["b", ids[0]],
        ["a", ids[1]],
      ]),
    );
    expect(await world.until(two.locks.query())).toEqual({ held, pending });
  });

  it("lists what several clients ask for in one entry in the order of the log", async () => {
    const pages = [await openPage()];
    const [first] = pages as [Page];
    for (let i = 0; i < 3; i++) pages.push(await openAnother(first));
    const { world, server } = first;
    for (const name of ["x", "y", "z"]) await hold(first, name);
    server.faults.commitMs = [20, 20];
    const from = server.applied.length;
    for (let i = 0; i < 24; i++) {
      const { locks } = pages[(i * 7) % 4] as Page;
      locks.request("xyz".charAt((i * 5) % 3), uncalled).catch(() => undefined);
    }
    await world.run(500);
    const asked = server.applied.slice(from).flatMap((command) => {
      return command.op === OP.acquire ? [command.items[0]?.key.at(-1)] : [];
    });
    const { pending } = await world.until(first.locks.query());
    expect(pending).toHaveLength(24);
    expect(pending.map(({ name }) => name)).toEqual(asked);
  });

  it("fetches more names than a page has", async () => {
    const page = await openPage();
    const names = Array.from({ length: 1_203 }, (_, i) => `n${i}`);
    const all = names.map((name) => page.locks.request(name, () => new Promise(() => undefined)));
    for (const each of all) each.catch(() => undefined);
    const { held } = await page.world.until(page.locks.query());
    expect(held.map(({ name }) => name)).toEqual(names);
  });

  it("shows requests that a busy node refused at first", async () => {
    const page = await openPage();
    const { world, locks, server } = page;
    server.faults.busy = "commands";
    void locks.request("a", () => new Promise(() => undefined)).catch(() => undefined);
    const snapshot = locks.query();
    await world.run(500);
    server.faults.busy = "nothing";
    expect((await world.until(snapshot)).held).toHaveLength(1);
  });

  it("rejects when nobody answers, with whatever was asked before still under way", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000, connectTimeoutMs: 700 });
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    platform.connection?.cut();
    const waiting = client.locks.request("a", () => "granted");
    const error = await failure(world, client.locks.query());
    expect(error.code).toBe("UNAVAILABLE");
    server.faults.downNodes.clear();
    expect(await world.until(waiting)).toBe("granted");
  });
});

describe("on a cluster, a request", () => {
  it("excludes requests of other clients, in the order in which they arrived", async () => {
    const one = await openPage();
    const { world } = one;
    const pages = [one, await openAnother(one), await openAnother(one)];
    let inside = 0;
    const order: number[] = [];
    const all = Array.from({ length: 30 }, (_, i) => {
      const { locks } = pages[i % 3] as Page;
      return locks.request("a", async (lock) => {
        inside += 1;
        expect(inside).toBe(1);
        order.push(lock?.token ?? 0);
        await new Promise<void>((resolve) => world.after(5, resolve));
        inside -= 1;
      });
    });
    await world.until(Promise.all(all));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  it("is a task of its own, so no circle of them is ever refused", async () => {
    const page = await openPage();
    await hold(page, "a");
    await hold(page, "b");
    const waits = ["b", "a"].map((name) => page.locks.request(name, uncalled));
    for (const wait of waits) wait.catch(() => undefined);
    await page.world.run(1_000);
    expect((await page.world.until(page.locks.query())).pending).toHaveLength(2);
    const tasks = ["~locks/a", "~locks/b"].flatMap((key) => {
      const { holds, waiters } = page.server.table.inspect(key);
      return [...holds, ...waiters].map(({ task }) => task);
    });
    expect(new Set(tasks).size).toBe(4);
  });

  it("is seen and revoked by its key, which can only be asked for through its name", async () => {
    const page = await openPage();
    const { world, client } = page;
    const { released } = await hold(page, "a\u0000");
    const view = await world.until(client.inspect("~locks/a~0000"));
    expect(view.holds).toHaveLength(1);
    const refused = await failure(world, client.acquire("~locks/a~0000"));
    expect(refused.code).toBe("INVALID_ARGUMENT");
    await world.until(client.revoke({ key: "~locks/a~0000" }, { now: true }));
    const reason = await rejection(world, released);
    expect(reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "revoked" } });
  });

  it("that fails is named as it was asked for, and its error also has the key that tools take", async () => {
    const page = await openPage();
    const { world, client, locks, server } = page;
    const name = "a~b\u0000";
    const key = "~locks/a~007eb~0000";
    const held = await hold(page, name);
    await world.until(client.revoke({ key }, { now: true }));
    const lost = await rejection(world, held.released);
    expect(lost).toMatchObject({ code: "LOCK_LOST", details: { key, name } });
    expect((lost as Error).message).toBe('web lock "a~b\\u{0}" was revoked');
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    page.platform.connection?.cut();
    const refused = await failure(world, locks.request(name, { ifAvailable: true }, uncalled));
    expect(refused).toMatchObject({ code: "UNAVAILABLE" });
    expect(refused.message).toMatch(/^web lock "a~b\\u\{0\}": /);
  });

  it("whose lease runs out rejects with LOCK_LOST at once, while its callback goes on", async () => {
    const page = await openPage(1_000);
    const { world, locks } = page;
    const other = await openAnother(page);
    const held = await hold(page, "a");
    const lost = rejection(world, held.released);
    const next = other.locks.request("a", () => "next");
    page.platform.stop();
    expect(await world.until(next)).toBe("next");
    page.platform.goOn();
    const reason = await lost;
    expect(reason).toBeInstanceOf(HoldfastError);
    expect(reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "expired" } });
    expect(held.lock?.signal.aborted).toBe(true);
    held.fail(new Error("nobody listens"));
    expect(await world.until(locks.request("a", () => "again"))).toBe("again");
  });

  it("does not resolve when the lock was lost without any timer having run", async () => {
    const { world, locks } = await openPage(1_000);
    const asked = locks.request("a", () => {
      world.nowMs += 5_000;
      return "done";
    });
    const reason = await rejection(world, asked);
    expect(reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "expired" } });
  });

  it("that waits in a session which expires rejects with SESSION_EXPIRED", async () => {
    const page = await openPage(1_000);
    const other = await openAnother(page);
    await hold(other, "a");
    const waiting = page.locks.request("a", uncalled);
    await page.world.run(50);
    page.platform.stop();
    await page.world.run(3_000);
    page.platform.goOn();
    expect((await failure(page.world, waiting)).code).toBe("SESSION_EXPIRED");
  });

  it("keeps its place over lost connections, and its callback is called once", async () => {
    const page = await openPage();
    const { world } = page;
    const other = await openAnother(page);
    const { release } = await hold(other, "a");
    const called: string[] = [];
    const first = page.locks.request("a", () => called.push("first"));
    await world.run(50);
    const second = other.locks.request("a", () => called.push("second"));
    for (let i = 0; i < 5; i++) {
      page.platform.connection?.cut();
      await world.run(200);
    }
    release();
    page.platform.connection?.cut();
    await world.until(Promise.all([first, second]));
    expect(called).toEqual(["first", "second"]);
  });

  it("ends with the client: what is held is lost, what waits is cancelled", async () => {
    const page = await openPage();
    const { world, client, locks, server } = page;
    const held = await hold(page, "a");
    const waiting = failure(world, locks.request("a", uncalled));
    const lost = rejection(world, held.released);
    await world.until(client.close());
    expect(await lost).toMatchObject({ code: "LOCK_LOST", details: { reason: "closed" } });
    expect((await waiting).code).toBe("CANCELLED");
    expect((await failure(world, locks.request("a", uncalled))).code).toBe("CANCELLED");
    expect((await failure(world, locks.query())).code).toBe("CANCELLED");
    expect(server.table.counts()).toMatchObject(EMPTY);
  });
});
