/** A lock on its way from one process to another. */
import { describe, expect, it } from "vitest";
import type { HoldfastError } from "../../../src/errors.js";
import { OP, type OrderCommand } from "../../../src/protocol/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { TableServer } from "../world/table-server.js";

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

/** Orders of somebody without a session, while the cluster is open. */
function letAnonymousOnlyObserve(server: TableServer): void {
  const nobody = { onOpen: () => {}, onFrame: () => {}, onClose: () => {} };
  const connection = server.connect(`${server.endpoints[0]}/v1`, nobody);
  const head = (count: number) => ({ sequence: count + 1, mark: count, acknowledged: [] });
  const everything = { key: "", isPrefix: true } as const;
  const proof = { label: "first", kind: "token", digest: "d".repeat(64) } as const;
  const orders: readonly OrderCommand[] = [
    { op: OP.putIdentity, ...head(0), name: "root" },
    { op: OP.setGrant, ...head(1), name: "root", ...everything, level: "admin" },
    { op: OP.putCredential, ...head(2), name: "root", ...proof, expiresWallMs: 0 },
    { op: OP.setGrant, ...head(3), name: "anonymous", ...everything, level: "observe" },
  ];
  for (const order of orders) server.propose(connection, order);
}

describe("a ticket", () => {
  it("hands a lock over without anybody getting in between", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const three = await connectTo(server);
    const options = { value: "v" } as const;
    const lock = await world.until(
      one.client.acquireAll([{ key: "k" }, { key: "pool", permits: 2, limit: 3 }], options),
    );
    const waiting = three.client.acquire("k");
    await world.run(20);
    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => seen.push(holdsOf(server, "k")[0]?.isTicket));
    const ticket = await world.until(lock.detach());
    // Aborted before it was sent.
    expect(seen).toEqual([false]);
    expect(lock.signal.reason).toMatchObject({ name: "AbortError" });
    expect(await lock.release()).toEqual({ released: false, reason: "detached" });
    const sent = JSON.parse(JSON.stringify(ticket)) as typeof ticket;
    const claimed = await world.until(two.client.claim(sent));
    expect(claimed.token).toBeGreaterThan(lock.token);
    expect(claimed.items).toEqual(lock.items);
    expect(claimed.value).toBe("v");
    expect(server.table.inspect("k").waiters).toHaveLength(1);
    expect((await failure(world, two.client.claim(ticket))).code).toBe("NOT_HELD");
    await world.until(claimed.release());
    await world.until(waiting);
    expect(server.owedTo(two.client.session)).toEqual([]);
  });

  it("is refused to who does not know its secret, and ends when nobody claims it", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const { token } = await world.until(lock.detach({ ticketTtlMs: 3_000 }));
    const forged = await failure(world, client.claim({ token, secret: "0".repeat(32) }));
    expect(forged.code).toBe("NOT_HELD");
    expect(holdsOf(server, "k")).toMatchObject([{ isTicket: true }]);
    await world.run(3_100);
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("is not made by who may not: its lock is released", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    letAnonymousOnlyObserve(server);
    await world.run(50);
    expect((await failure(world, lock.detach())).code).toBe("FORBIDDEN");
    await world.run(50);
    expect(holdsOf(server, "k")).toEqual([]);
    expect(server.owedTo(client.session)).toEqual([]);
  });

  it("names the newest token when an upgrade was granted on the way", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    server.faults.latencyMs = [20, 20];
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    const upgrading = lock.upgrade().catch((error: HoldfastError) => error.code);
    await world.run(30);
    const ticket = await world.until(lock.detach());
    expect(await upgrading).toBe("LOCK_LOST");
    expect(holdsOf(server, "k")).toMatchObject([{ isTicket: true, token: ticket.token }]);
    expect((await world.until(client.claim(ticket))).isHeld).toBe(true);
  });

  it("names the newest token also where its session is exported meanwhile", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    server.faults.latencyMs = [20, 20];
    const lock = await world.until(one.client.acquire("k", { mode: "shared" }));
    const reader = await world.until(two.client.acquire("k", { mode: "shared" }));
    const upgrading = lock.upgrade().catch((error: HoldfastError) => error.code);
    await world.run(100);
    void reader.release();
    const detaching = lock.detach();
    const exporting = one.client.export();
    const ticket = await world.until(detaching);
    expect(await upgrading).toBe("LOCK_LOST");
    expect((await world.until(exporting)).holds).toEqual([]);
    expect((await world.until(two.client.claim(ticket))).isHeld).toBe(true);
  });

  it("takes the hold from all of its handles, and nobody believes to hold it", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 4_000 });
    const lock = await world.until(client.acquire("k"));
    const inner = await world.until(lock.acquire("k", { reentrant: true }));
    server.faults.busy = "commands";
    const detaching = lock.detach();
    expect([lock.isHeld, inner.isHeld]).toEqual([false, false]);
    const after = await failure(world, inner.acquire("k", { reentrant: true }));
    expect(after.code).toBe("LOCK_LOST");
    // The table says that it is held, until the detach gets through.
    await world.run(500);
    server.faults.busy = "nothing";
    const ticket = await world.until(detaching);
    expect(await inner.release()).toEqual({ released: false, reason: "detached" });
    expect(holdsOf(server, "k")).toMatchObject([{ isTicket: true, token: ticket.token }]);
  });

  it("of a lock that was lost before is none", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    server.faults.latencyMs = [20, 20];
    const stealing = two.client.acquire("k", { steal: true });
    await world.run(5);
    const error = await failure(world, lock.detach());
    expect(error.code).toBe("LOCK_LOST");
    expect((await world.until(stealing)).isHeld).toBe(true);
  });
});
