/**
 * What an application notices when the disks of its cluster are full: its session lives on, and its
 * commands wait for space. A command that fails in the end was never executed, and one that was
 * executed is never reported as failed.
 */
import { describe, expect, it } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { OP } from "../../../src/protocol/index.js";
import { EMPTY, failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

const { DISK_FULL } = ERROR_NUMBERS;

describe("while the leader's disk is full", () => {
  it("a session that has to be resumed lives on, and what it holds", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const lock = await world.until(client.acquire("kept"));
    Object.assign(server.faults, { busy: "everything", refusal: DISK_FULL });
    platform.connection?.cut();
    await world.run(3_000);
    expect(client.closed.aborted).toBe(false);
    expect(lock.isHeld).toBe(true);
    server.faults.busy = "nothing";
    await world.until(client.acquire("next"), 5_000);
    expect(lock.isHeld).toBe(true);
  });

  it("commands wait for room, and are executed once", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const held = await world.until(client.acquire("held"));
    Object.assign(server.faults, { busy: "commands", refusal: DISK_FULL });
    const taken = client.acquire("taken");
    const released = held.release();
    await world.run(2_000);
    server.faults.busy = "nothing";
    expect(await world.until(released, 5_000)).toEqual({ released: true });
    expect((await world.until(taken, 5_000)).isHeld).toBe(true);
    expect(server.table.counts().holds).toBe(1);
    const acquires = server.executed.filter(({ command }) => command.op === OP.acquire);
    expect(acquires.length).toBe(2);
  });

  it("a release gets through as long as there is room for what gives back", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const held = await world.until(client.acquire("held"));
    Object.assign(server.faults, { busy: "strong", refusal: DISK_FULL });
    const taken = client.acquire("taken");
    expect(await world.until(held.release(), 2_500)).toEqual({ released: true });
    expect(server.table.counts().holds).toBe(0);
    server.faults.busy = "nothing";
    expect((await world.until(taken, 5_000)).isHeld).toBe(true);
  });

  it("one that was executed before its answer got lost is not told to have failed", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    Object.assign(server.faults, { latencyMs: [5, 5], commitMs: [1, 1], refusal: DISK_FULL });
    const taken = client.acquire("taken");
    // Executed, and the answer is on its way.
    await world.run(8);
    expect(server.table.counts().holds).toBe(1);
    server.faults.busy = "commands";
    platform.connection?.cut();
    await world.run(2_000);
    server.faults.busy = "nothing";
    expect((await world.until(taken, 5_000)).isHeld).toBe(true);
    await world.until(client.close());
    expect(server.table.counts()).toMatchObject(EMPTY);
  });

  it("a command that waited for a TTL fails with DISK_FULL and is never executed", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 2_000 });
    Object.assign(server.faults, { busy: "commands", refusal: DISK_FULL });
    const error = await failure(world, client.acquire("k"));
    expect(error.code).toBe("DISK_FULL");
    expect(error.retryable).toBe(true);
    server.faults.busy = "nothing";
    await world.run(5_000);
    expect(server.table.counts().holds).toBe(0);
  });

  it("connecting goes on until its time is over, and says why it failed", async () => {
    const { world, server } = setUp();
    Object.assign(server.faults, { busy: "everything", refusal: DISK_FULL });
    const error = await failure(world, connectTo(server, { connectTimeoutMs: 1_000 }));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain("DISK_FULL");
  });
});
