/** What an error says about a deadlock, and about where its other tasks asked for their locks. */
import { describe, expect, it } from "vitest";
import type { DeadlockedTask } from "../../../src/client/index.js";
import type { HoldfastError } from "../../../src/errors/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";

const THIS_FILE = "deadlocks.test.ts";

async function billing(captureStacks = false) {
  const { world, server } = setUp();
  const settings = { ttlMs: 60_000, name: "billing-7", metadata: "host=a", captureStacks };
  return { world, server, one: await connectTo(server, settings) };
}

function cycleOf({ details }: HoldfastError): readonly DeadlockedTask[] {
  return details["cycle"] as readonly DeadlockedTask[];
}

describe("a deadlock of two processes", () => {
  async function deadlock(captureStacks = false) {
    const { world, server, one } = await billing(captureStacks);
    const two = await connectTo(server, { ttlMs: 60_000, name: "report-2", metadata: "host=b" });
    const first = await world.until(one.client.acquire("a", { value: "invoice 17" }));
    const second = await world.until(two.client.acquire("b", { value: "monthly" }));
    const waiting = second.acquire("a");
    waiting.catch(() => undefined);
    await world.run(250);
    const error = await failure(world, first.acquire("b"));
    return { world, one, two, first, second, waiting, error };
  }

  it("is explained by names, metadata, and what each of them holds since when", async () => {
    const { world, one, two, first, second, error } = await deadlock();
    const { members, text } = await world.until(one.client.explainDeadlock(error));
    expect(members).toMatchObject([
      {
        session: one.client.session,
        sessionName: "billing-7",
        metadata: "host=a",
        key: "b",
        mode: "exclusive",
        blocksBy: { key: "a", mode: "exclusive", token: first.token, value: "invoice 17" },
      },
      {
        session: two.client.session,
        sessionName: "report-2",
        metadata: "host=b",
        key: "a",
        blocksBy: { key: "b", token: second.token, value: "monthly" },
      },
    ]);
    expect(members[1]?.blocksBy?.sinceMs).toBeGreaterThanOrEqual(250);
    const lines = text.split("\n");
    expect(lines[0]).toBe("deadlock of 2 tasks");
    expect(lines[1]).toContain('"billing-7" task 1');
    expect(lines[1]).toContain('"host=a"');
    expect(lines[2]).toMatch(/holds "a" \(exclusive\) for \d+ ms, value "invoice 17"/);
    expect(lines[3]).toContain('waits in "b" (exclusive) for "report-2" task 1');
    expect(lines).toHaveLength(7);
  });

  it("is explained as far as it still stands", async () => {
    const { world, one, two, first, waiting, error } = await deadlock();
    await world.until(first.release());
    await world.until(two.client.close());
    await waiting.catch(() => undefined);
    const { members, text } = await world.until(one.client.explainDeadlock(error));
    expect(members.map(({ metadata }) => metadata)).toEqual(["host=a", undefined]);
    expect(members.map(({ blocksBy }) => blocksBy)).toEqual([undefined, undefined]);
    expect(text).toContain('"report-2" task 1');
  });

  it("says where this client asked, and nothing of where the other did", async () => {
    const { error } = await deadlock(true);
    const [own, other] = cycleOf(error);
    expect(own?.waitsAt).toContain(THIS_FILE);
    expect(own?.blocksAt).toContain(THIS_FILE);
    expect(own?.blocksAt).not.toBe(own?.waitsAt);
    expect(other).not.toHaveProperty("waitsAt");
    expect(other).not.toHaveProperty("blocksAt");
  });

  it("keeps no stack unless it was asked to", async () => {
    const { error } = await deadlock();
    for (const member of cycleOf(error)) {
      expect(Object.keys(member)).not.toContain("waitsAt");
      expect(Object.keys(member)).not.toContain("blocksAt");
    }
  });
});

describe("a deadlock within one process", () => {
  const takeSecond = ({ client }: SimulatedClient) => client.acquire("b");

  it("says where each of its tasks asked for what it holds and waits for", async () => {
    const { world, one } = await billing(true);
    const first = await world.until(one.client.acquire("a"));
    const second = await world.until(takeSecond(one));
    const waiting = first.using("b", () => "done");
    await world.run(20);
    const error = await failure(world, second.acquire("a"));
    const [refused, other] = cycleOf(error);
    expect(refused?.blocksAt).toContain("takeSecond");
    expect(refused?.waitsAt).toContain(THIS_FILE);
    expect(other?.blocksAt).toContain(THIS_FILE);
    expect(other?.waitsAt).toContain("using");
    const { text } = await world.until(one.client.explainDeadlock(error));
    expect(text).toContain("takeSecond");
    await world.until(second.release());
    expect(await world.until(waiting)).toBe("done");
  });

  it("may be one of waiting alone: the place in the queue is what is in the way", async () => {
    const { world, server, one } = await billing(true);
    const holder = await connectTo(server, { ttlMs: 60_000, name: "holder" });
    const blocker = await world.until(holder.client.acquire("a", { mode: "shared" }));
    const task = one.client.task();
    const held = await world.until(one.client.acquire("b", { task }));
    // Waits in "a" behind the holder, and for "b".
    const both = one.client.acquireAll([{ key: "a" }, { key: "b" }]);
    both.catch(() => undefined);
    await world.run(20);
    const error = await failure(world, held.acquire("a", { mode: "shared" }));
    const [refused, ahead] = cycleOf(error);
    expect(refused).toMatchObject({ task: task.id, key: "a" });
    expect(ahead?.blocksAt).toContain(THIS_FILE);
    const { members } = await world.until(one.client.explainDeadlock(error));
    expect(members[1]?.blocksBy).toMatchObject({ key: "a", token: 0 });
    expect(members[0]?.blocksBy).toMatchObject({ key: "b", token: held.token });
    await world.until(Promise.all([held.release(), blocker.release()]));
    await world.until(both);
  });

  it("is one of two upgrades too", async () => {
    const { world, one } = await billing(true);
    const [first, second] = await world.until(
      Promise.all([1, 2].map(() => one.client.acquire("a", { mode: "shared" }))),
    );
    const upgrading = first?.upgrade();
    await world.run(20);
    const error = await failure(world, second?.upgrade() ?? Promise.resolve());
    expect(cycleOf(error)[1]?.waitsAt).toContain("upgrade");
    expect(error.code).toBe("DEADLOCK");
    const [refused, other] = cycleOf(error);
    expect(refused?.waitsAt).toContain("upgrade");
    expect(other?.blocksAt).toContain(THIS_FILE);
    await world.until(Promise.resolve(second?.release()));
    await world.until(upgrading ?? Promise.resolve());
  });
});

describe("explainDeadlock", () => {
  it("takes a DEADLOCK and nothing else", async () => {
    const { world, one } = await billing();
    await world.until(one.client.acquire("a"));
    const held = await failure(world, one.client.acquire("a", { waitMs: 0 }));
    for (const error of [held, new Error("no"), undefined, "DEADLOCK"]) {
      await expect(one.client.explainDeadlock(error)).rejects.toThrow(TypeError);
    }
  });
});
