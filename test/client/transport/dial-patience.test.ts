/**
 * How long a client waits for nodes that are slow, because thousands of clients have come to them, or
 * because the machine is busy.
 */
import { expect, it } from "vitest";
import {
  CLIENT_DEFAULTS,
  connectOn,
  type Transport,
  type TransportEvents,
} from "../../../src/client/index.js";
import { DialPatience } from "../../../src/client/transport/dial-patience.js";
import { setUp } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

/** A client gives up a node of which it has heard nothing for so long, at first. */
const PATIENCE_MS = 2_000;

/** The first frame of each connection comes late, and before it a sign after each part of that time. */
class SlowHandshakes extends SimulatedPlatform {
  readonly #world: SimulatedWorld;
  readonly #lateMs: number;
  readonly #parts: number;
  dials = 0;

  constructor(world: SimulatedWorld, server: TableServer, lateMs: number, parts: number) {
    super(world, server);
    this.#world = world;
    this.#lateMs = lateMs;
    this.#parts = parts;
  }

  override open(url: string, events: TransportEvents): Transport {
    this.dials += 1;
    let isFirst = true;
    for (let part = 1; part < this.#parts; part += 1) {
      const atMs = (this.#lateMs * part) / this.#parts;
      this.#world.after(atMs, () => this.call(() => events.onProgress()));
    }
    return super.open(url, {
      ...events,
      onOpen: () => undefined,
      onFrame: (frame) => {
        if (!isFirst) return events.onFrame(frame);
        isFirst = false;
        const kept = frame.slice();
        return this.#world.after(this.#lateMs, () => this.call(() => events.onFrame(kept)));
      },
    });
  }
}

function scene(lateMs: number, parts = 1) {
  const { world, server } = setUp();
  const platform = new SlowHandshakes(world, server, lateMs, parts);
  const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints };
  return { world, server, platform, connecting: connectOn(platform, settings) };
}

it("connects although each node takes longer than it waits at first", async () => {
  for (const lateMs of [PATIENCE_MS * 1.2, PATIENCE_MS * 1.9]) {
    const { world, connecting } = scene(lateMs);
    const client = await world.until(connecting);
    expect(client.session).toBeGreaterThan(0);
  }
});

it("stays with a node that shows signs, however long all of it takes", async () => {
  const { world, server, platform, connecting } = scene(PATIENCE_MS * 2.4, 3);
  const client = await world.until(connecting);
  expect(client.session).toBeGreaterThan(0);
  // The first node, and the leader that it named.
  expect(platform.dials).toBeLessThanOrEqual(2);
  expect(server.opened).toHaveLength(platform.dials);
});

it("waits longer for each node after one that was too slow, until one serves", () => {
  const patience = new DialPatience(100);
  const waits = (): number => {
    const dueMs = patience.begin(0);
    const laterMs = patience.secondLook(dueMs);
    expect(laterMs).toBeGreaterThan(dueMs);
    expect(patience.secondLook(laterMs ?? 0)).toBeUndefined();
    return dueMs;
  };
  expect([waits(), waits(), waits(), waits()]).toEqual([100, 200, 400, 400]);
  patience.served();
  expect(waits()).toBe(100);
});

it("looks twice after each sign", () => {
  const patience = new DialPatience(100);
  expect(patience.begin(0)).toBe(100);
  expect(patience.secondLook(100)).toBeDefined();
  expect(patience.begin(120)).toBe(220);
  expect(patience.secondLook(220)).toBeDefined();
});
