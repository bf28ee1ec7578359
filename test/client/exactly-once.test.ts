import { describe, expect, it } from "vitest";
import { CommandWindow } from "../../src/client/command-window.js";
import { ReleaseCall } from "../../src/client/hold-calls.js";
import type { Lock } from "../../src/client/index.js";
import { OP } from "../../src/protocol/index.js";
import { failure, setUp } from "./set-up.js";
import { connectTo } from "./simulated-client.js";

const HOST = { submit: () => undefined, acknowledge: () => undefined };

class UnwantedCall extends ReleaseCall {
  constructor() {
    super(HOST, { token: 0 }, undefined);
  }

  override get isUnwanted(): boolean {
    return true;
  }
}

describe("a command", () => {
  it("is executed once, whenever the connection breaks and whatever was lost", async () => {
    // From before the frame arrives to after the reply did, in steps below the latency.
    for (let cutMs = 0; cutMs < 12; cutMs += 0.2) {
      const { world, server } = setUp(1 + Math.round(cutMs * 5));
      const { client, platform } = await connectTo(server);
      server.faults.duplicates = 0.5;
      const lock = await world.until(client.acquire("kept"));
      world.after(cutMs, () => platform.connection?.cut());
      const [taken, released] = await world.until(
        Promise.all([client.acquire("taken"), lock.release()]),
      );
      expect(released).toEqual({ released: true });
      expect(taken.isHeld).toBe(true);
      await world.run(100);
      // One hold, and no token in between that went to nobody.
      expect(server.table.inspect("taken").holds.map(({ token }) => token)).toEqual([taken.token]);
      expect(server.table.counts().holds).toBe(1);
      expect(taken.token).toBe(lock.token + 1);
    }
  });

  it("is one of at most 1,024 without an answer; the others wait their turn in order", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const all = Array.from({ length: 5_000 }, (_, i) => client.acquire(`k/${i}`));
    const locks = await world.until(Promise.all(all));
    expect(locks.map(({ token }) => token)).toEqual(
      locks.map((_, i) => (locks[0] as Lock).token + i),
    );
    let unanswered = 0;
    let most = 0;
    for (const command of server.applied) {
      if (command.op !== OP.acquire) continue;
      unanswered = command.sequence - command.mark + 1;
      most = Math.max(most, unanswered);
    }
    expect(most).toBe(1_024);
    // More than one recall is needed for so many tokens, and nothing is lost on the way.
    platform.connection?.cut();
    await world.run(1_000);
    expect(locks.every((lock) => lock.isHeld)).toBe(true);
    const recalls = server.applied.filter(({ op }) => op === OP.recall);
    expect(recalls.length).toBe(5);
    const released = await world.until(Promise.all(locks.map((lock) => lock.release())));
    expect(released.every((result) => result.released)).toBe(true);
    expect(server.table.counts().holds).toBe(0);
  });

  it("leaves in the same frame as all others of its turn", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server);
    let frames = 0;
    const connection = platform.connection;
    if (connection === undefined) throw new Error("not connected");
    const toServer = connection.toServer.bind(connection);
    connection.toServer = (frame) => {
      frames += 1;
      toServer(frame);
    };
    await world.until(Promise.all(Array.from({ length: 100 }, (_, i) => client.acquire(`${i}`))));
    expect(frames).toBe(1);
  });

  it("that was refused is tried again under its sequence until the cluster takes it", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const held = await world.until(client.acquire("held"));
    server.faults.busy = "everything";
    const granted: number[] = [];
    const all = ["a", "b", "c"].map(async (key) => {
      const lock = await client.acquire(key);
      granted.push(lock.token);
    });
    const release = held.release();
    await world.run(2_000);
    expect(granted).toEqual([]);
    server.faults.busy = "nothing";
    await world.until(Promise.all([...all, release]));
    expect(await release).toEqual({ released: true });
    expect(granted).toEqual([...granted].sort((a, b) => a - b));
    const sequences = server.applied.flatMap((command) =>
      command.op === OP.acquire ? [command.sequence] : [],
    );
    expect(new Set(sequences).size).toBe(sequences.length);
  });

  it("that was refused is sent again though an earlier one is executed meanwhile", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    server.faults.latencyMs = [1, 1];
    server.faults.commitMs = [8, 8];
    const first = client.acquire("a");
    await world.run(5);
    // The first one is on its way to the log, and there is no room for another.
    server.faults.busy = "commands";
    const second = client.acquire("b");
    await world.run(2);
    server.faults.busy = "nothing";
    await world.until(first);
    expect((await world.until(second, 2_000)).isHeld).toBe(true);
  });

  it("that is refused for longer than a TTL fails as BUSY, and was not executed", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 2_000 });
    server.faults.busy = "commands";
    const error = await failure(world, client.acquire("k"));
    expect(error.code).toBe("BUSY");
    expect(error.retryable).toBe(true);
    server.faults.busy = "nothing";
    await world.run(5_000);
    expect(server.table.counts().holds).toBe(0);
    expect((await world.until(client.acquire("k"))).isHeld).toBe(true);
  });

  it("that nobody wants any more is not kept until the cluster is back", () => {
    const window = new CommandWindow();
    const wanted = new ReleaseCall(HOST, { token: 1 }, undefined);
    window.enqueue(wanted);
    for (let i = 0; i < 50_000; i++) window.enqueue(new UnwantedCall());
    expect([...window.queued()].length).toBeLessThan(3_000);
    expect(window.next()).toBe(wanted);
    expect(window.next()).toBeUndefined();
  });
});
