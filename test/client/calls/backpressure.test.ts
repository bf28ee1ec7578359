/**
 * Iterators read from the cluster only as much as the application reads from them, and lose
 * nothing.
 */
import { describe, expect, it } from "vitest";
import type { Change, Client, Leader } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";

/** More than a watch keeps for an application that does not take it. */
const MANY = 1_400;

async function churn(world: SimulatedWorld, client: Client, key: string): Promise<number[]> {
  const tokens: number[] = [];
  for (let i = 0; i < MANY; i++) {
    const lock = await world.until(client.acquire(key));
    tokens.push(lock.token);
    await world.until(lock.release());
  }
  return tokens;
}

async function scene() {
  const { world, server } = setUp();
  const taker = await connectTo(server, { ttlMs: 600_000 });
  const other = await connectTo(server, { ttlMs: 600_000 });
  return { world, server, taker, other };
}

describe("a watch that nobody takes from", () => {
  it("does not hold up another one of the same client", async () => {
    const { world, taker, other } = await scene();
    const slow = taker.client.watch("k");
    const quick = taker.client.watch("k");
    const seen: Change[] = [];
    const reading = (async () => {
      for await (const change of quick) {
        seen.push(change);
        if (seen.length === 2 * MANY) return;
      }
    })();
    await world.run(20);
    const tokens = await churn(world, other.client, "k");
    await world.until(reading);
    await world.run(20);
    const granted = seen.filter(({ type }) => type === "granted");
    expect(granted.map(({ token }) => token)).toEqual(tokens);
    // The slow one was stopped at the node, and goes on there when it is wanted.
    expect(taker.platform.connection?.watchCount).toBe(0);
    for (const token of tokens) {
      expect(((await world.until(slow.next())) as { value: Change }).value.token).toBe(token);
      await world.until(slow.next());
    }
    await slow.return?.();
  });

  it("fails with COMPACTED once the cluster has forgotten the next changes", async () => {
    const { world, server, taker, other } = await scene();
    const slow = taker.client.watch("k");
    await world.run(20);
    const tokens = await churn(world, other.client, "k");
    server.reads.compact();
    const taken: number[] = [];
    const reading = (async () => {
      for await (const { type, token } of slow) if (type === "granted") taken.push(token);
    })();
    await expect(world.until(reading)).rejects.toMatchObject({ code: "COMPACTED" });
    // What was kept here comes first, from the first change on.
    expect(taken.length).toBeGreaterThan(500);
    expect(taken).toEqual(tokens.slice(0, taken.length));
  });
});

describe("an election that is observed slowly", () => {
  it("shows who leads now, not everybody who did meanwhile", async () => {
    const { world, taker, other } = await scene();
    const leaders = taker.client.election("e").observe();
    expect((await world.until(leaders.next())).value).toBeUndefined();
    await churn(world, other.client, "e");
    const term = await world.until(other.client.election("e").campaign("last"));
    await world.run(100);
    expect(taker.platform.connection?.watchCount).toBe(0);
    const { value } = (await world.until(leaders.next())) as { value: Leader | undefined };
    expect(value).toMatchObject({ value: "last", token: term.token });
    const next = leaders.next();
    await world.until(term.resign());
    expect((await world.until(next)).value).toBeUndefined();
    await leaders.return();
  });
});

describe("a listing", () => {
  it("asks for a page when the one before was taken, and for none after the loop is left", async () => {
    const { world, server, taker, other } = await scene();
    const items = Array.from({ length: 450 }, (_, i) => `k/${String(i).padStart(3, "0")}`);
    await world.until(Promise.all(items.map((key) => other.client.acquire(key))));
    let pages = 0;
    const answer = server.reads.answer.bind(server.reads);
    server.reads.answer = (query, viewer) => {
      if (query.op === OP.query) pages += 1;
      return answer(query, viewer);
    };
    const keys: string[] = [];
    const pagesAt: number[] = [];
    const reading = (async () => {
      for await (const { key } of taker.client.query("k/")) {
        keys.push(key);
        pagesAt.push(pages);
        if (keys.length === 250) return;
      }
    })();
    await world.until(reading);
    expect(keys).toEqual(items.slice(0, 250));
    expect([pagesAt[0], pagesAt[199], pagesAt[200], pagesAt[249]]).toEqual([1, 1, 2, 2]);
    await world.run(1_000);
    expect(pages).toBe(2);
  });
});
