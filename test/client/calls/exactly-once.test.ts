/**
 * Commands of a session, each executed once: after refusals, broken connections and repetitions.
 */
import { describe, expect, it } from "vitest";
import type { Lock } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

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
    for (const { command } of server.executed) {
      if (command.op !== OP.acquire) continue;
      unanswered = command.sequence - command.mark + 1;
      most = Math.max(most, unanswered);
    }
    expect(most).toBe(1_024);
    // All these tokens do not fit into one recall, and nothing is lost on the way.
    platform.connection?.cut();
    await world.run(1_000);
    expect(locks.every((lock) => lock.isHeld)).toBe(true);
    const recalls = server.applied.filter(({ op }) => op === OP.recall);
    expect(recalls.length).toBe(20);
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

  it("that was refused gives its number back, and is tried again in the order of the calls", async () => {
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
    const { session } = client;
    const mine = server.executed.filter((each) => each.session === session);
    expect(mine.map(({ command }) => command.sequence)).toEqual([1, 2, 3, 4, 5]);
  });

  it("that gives back gets through while those that ask for more are refused", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const held = await world.until(client.acquire("held"));
    const shared = await world.until(client.acquire("shared"));
    server.faults.busy = "strong";
    const acquiring = client.acquire("a");
    await world.run(100);
    expect(await world.until(held.release(), 2_500)).toEqual({ released: true });
    await world.until(shared.downgrade(), 2_500);
    // The hold of a bearer is larger than the hold of a session.
    const handing = shared.handOver();
    await world.run(100);
    expect(server.table.inspect("shared").holds).toMatchObject([{ holder: "session" }]);
    server.faults.busy = "nothing";
    expect((await world.until(acquiring)).isHeld).toBe(true);
    await world.until(handing);
    expect(server.table.inspect("shared").holds).toMatchObject([{ holder: "bearer" }]);
  });

  it("is passed by none that gives back later, however often that is refused", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server, { ttlMs: 60_000 });
      const locks = await world.until(
        Promise.all(["a", "b", "c", "d"].map((key) => client.acquire(key))),
      );
      server.faults.hardRefusals = 0.6;
      const released = locks.map((lock) => lock.release());
      await world.until(Promise.all(released));
      const ends = server.executed.flatMap(({ command }) =>
        command.op === OP.end ? [command.target] : [],
      );
      expect(ends).toEqual([1, 2, 3, 4]);
    }
  });

  it("that is not allowed fails alone, and what was sent after it is done", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    server.faults.refusesForGood = (command) => {
      return command.op === OP.acquire && command.items[0]?.key === "no";
    };
    const [first, refused, last] = ["a", "no", "c"].map((key) => client.acquire(key));
    expect((await failure(world, refused ?? Promise.resolve())).code).toBe("INVALID_ARGUMENT");
    expect((await world.until(first ?? Promise.reject())).isHeld).toBe(true);
    expect((await world.until(last ?? Promise.reject())).isHeld).toBe(true);
    expect(server.executed.map(({ command }) => command.sequence)).toEqual([1, 2]);
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

  it("is executed once where nodes pass it on several times, lose it, or break off after it", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server, { ttlMs: 60_000 });
      Object.assign(server.faults, { duplicates: 0.5, losses: 0.3, refusals: 0.2 });
      server.faults.cutsAfter = () => world.random() < 0.1;
      server.faults.cutsBefore = () => world.random() < 0.05;
      const values = Array.from({ length: 40 }, (_, i) => `${i}`);
      const locks = await world.until(
        Promise.all(values.map((value) => client.acquire(value, { value }))),
      );
      const done = server.executed.flatMap(({ command }) =>
        command.op === OP.acquire ? [command.options?.value] : [],
      );
      expect(done).toEqual(values);
      expect(locks.map(({ token }) => token)).toEqual(
        [...locks].map(({ token }) => token).sort((a, b) => a - b),
      );
    }
  });
});
