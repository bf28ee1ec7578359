/** What a client reports to the logger of its application. */
import { describe, expect, it } from "vitest";
import { connectAdminOn, type Logger } from "../../../src/client/index.js";
import { resolveConnectOptions } from "../../../src/client/options/connect-options.js";
import {
  ADMIN_DEFAULTS,
  resolveAdminOptions,
} from "../../../src/client/options/operator-options.js";
import { setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { TableServer } from "../world/table-server.js";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

class ListLogger implements Logger {
  readonly lines: Line[] = [];

  debug(fields: object, message: string): void {
    this.#add("debug", fields, message);
  }

  info(fields: object, message: string): void {
    this.#add("info", fields, message);
  }

  warn(fields: object, message: string): void {
    this.#add("warn", fields, message);
  }

  error(fields: object, message: string): void {
    this.#add("error", fields, message);
  }

  /** What was logged since this was last called, but for debugging. */
  take(): string[] {
    const told = this.lines.splice(0).filter(({ level }) => level !== "debug");
    return told.map(({ level, message }) => `${level}: ${message}`);
  }

  #add(level: string, fields: object, message: string): void {
    this.lines.push({ level, message, fields: { ...fields } });
  }
}

/** No node can be reached any more. */
function cutOff(server: TableServer): void {
  for (const { id } of server.nodes) server.faults.downNodes.add(id);
  for (const connection of server.connections) connection.cut();
}

describe("a client informs its logger", () => {
  it("of its connection, its session and its end", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const { client } = await connectTo(server, { logger });
    expect(logger.lines.filter(({ level }) => level !== "debug")).toMatchObject([
      {
        level: "info",
        message: "connected",
        fields: { endpoint: server.endpoints[0], node: 1, leader: 1 },
      },
      { level: "info", message: "session opened", fields: { session: client.session } },
    ]);
    logger.take();
    await world.until(client.close());
    expect(logger.take()).toEqual(["info: the client has ended"]);
  });

  it("of a lost connection, nodes that do not serve once each, and the way back", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const { client } = await connectTo(server, { logger, ttlMs: 60_000 });
    const lock = await world.until(client.acquire("k"));
    logger.take();
    cutOff(server);
    await world.run(5_000);
    const tries = logger.lines.filter(({ message }) => message === "a node does not serve");
    expect(tries.length).toBeGreaterThan(server.nodes.length);
    expect(logger.lines[0]).toMatchObject({
      level: "warn",
      message: "connection lost",
      fields: { endpoint: server.endpoints[0], why: expect.any(String) },
    });
    expect(logger.take()).toEqual([
      "warn: connection lost",
      ...server.nodes.map(() => "warn: a node does not serve"),
    ]);
    server.faults.downNodes.clear();
    await world.run(3_000);
    expect(logger.take()).toEqual(["info: connected", "info: session resumed"]);
    expect(lock.isHeld).toBe(true);
  });

  it("of a lost lock before anybody else hears of it, and of the session that ended", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const { client } = await connectTo(server, { logger, ttlMs: 1_000 });
    const lock = await world.until(client.acquire("k"));
    const toldBefore: boolean[] = [];
    lock.signal.addEventListener("abort", () => {
      toldBefore.push(logger.lines.some(({ message }) => message === "lock lost"));
    });
    cutOff(server);
    await world.run(10_000);
    expect(toldBefore).toEqual([true]);
    const lost = logger.lines.find(({ message }) => message === "lock lost");
    expect(lost).toMatchObject({
      level: "warn",
      fields: { keys: ["k"], token: lock.token, reason: "expired" },
    });
    server.faults.downNodes.clear();
    await world.until(client.acquire("other"));
    expect(logger.take()).toEqual(
      expect.arrayContaining(["warn: session lost", "info: session opened"]),
    );
  });

  it("of a lock that an operator took, and not of one that was released", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const one = await connectTo(server, { logger });
    const two = await connectTo(server);
    const kept = await world.until(one.client.acquire("kept"));
    await world.until(one.client.acquire("taken"));
    logger.take();
    await world.until(kept.release());
    await world.until(two.client.revoke({ key: "taken" }, { now: true }));
    await world.run(100);
    expect(logger.lines).toMatchObject([
      { message: "lock lost", fields: { keys: ["taken"], reason: "revoked" } },
    ]);
  });

  it("that the cluster has no room once, and that it goes on", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const { client } = await connectTo(server, { logger, ttlMs: 30_000 });
    logger.take();
    server.faults.busy = "strong";
    const waiting = client.acquire("k");
    await world.run(3_000);
    const told = logger.lines.filter(({ message }) => message.startsWith("no room"));
    expect(told.length).toBeGreaterThan(2);
    expect(told[0]?.fields).toMatchObject({ code: "BUSY", pauseMs: expect.any(Number) });
    expect(logger.take()).toEqual(["warn: no room: tries again after a pause"]);
    server.faults.busy = "nothing";
    await world.until(waiting);
    expect(logger.take()).toEqual(["info: goes on after a refusal"]);
  });

  it("nothing of a hand-over, whose data are a secret, but that it has ended", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const { client } = await connectTo(server, { logger });
    await world.until(client.acquire("k"));
    const { holds } = await world.until(client.handOver());
    expect(holds).toHaveLength(1);
    expect(JSON.stringify(logger.lines)).not.toContain(holds[0]?.secret);
    expect(logger.take()).toEqual([
      "info: connected",
      "info: session opened",
      "info: the client has ended",
    ]);
  });
});

describe("a logger", () => {
  it("that throws breaks no lock, and the process is warned once", async () => {
    const { world, server } = setUp();
    const fail = () => {
      throw new Error("the disk of the log is full");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const { client, platform } = await connectTo(server, { logger, ttlMs: 60_000 });
    const lock = await world.until(client.acquire("k"));
    for (const connection of server.connections) connection.cut();
    await world.run(1_000);
    expect(lock.isHeld).toBe(true);
    expect(await world.until(lock.release())).toEqual({ released: true });
    expect(platform.warnings).toEqual([
      "holdfast: the logger failed: Error: the disk of the log is full",
    ]);
  });

  it("hears of an operator's connections too", async () => {
    const { world, server } = setUp();
    const logger = new ListLogger();
    const platform = new SimulatedPlatform(world, server);
    const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, logger };
    await world.until(connectAdminOn(platform, settings));
    expect(logger.take()).toEqual(["info: connected"]);
  });

  it("must have the four methods", () => {
    const { debug, info, warn } = console;
    const logger = { debug, info, warn } as unknown as Logger;
    for (const resolve of [resolveConnectOptions, resolveAdminOptions]) {
      expect(() => resolve({ logger })).toThrow(
        new TypeError("logger must have a method error(fields, message), as pino's"),
      );
      expect(resolve({ logger: console }).logger).toBe(console);
    }
  });
});
