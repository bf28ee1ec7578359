/** What is counted and logged of limits that were exceeded, and what is only observed. */
import { describe, expect, test } from "vitest";
import { LockTable } from "../../../src/lockfsm/index.js";
import { OP, type OpenCommand } from "../../../src/protocol/index.js";
import { LimitCounts } from "../../../src/server/limits/limit-counts.js";
import { Limits } from "../../../src/server/limits/limits.js";
import { type LimitedClient, NO_LIMITS, Share } from "../../../src/server/limits/usage.js";
import { RecordingConnection } from "../world/recording-connection.js";

const OPEN: OpenCommand = {
  ...{ op: OP.open, nonce: "0".repeat(32), attempt: 1, ttlMs: 1_000, name: "", metadata: "" },
};
const LIMITS = { ...NO_LIMITS, commandsPerSecondMax: 10, readCostPerSecondMax: 10, watchesMax: 1 };

class Node {
  nowMs = 0;
  readonly lines: unknown[] = [];
  readonly counts: LimitCounts;
  readonly limits: Limits;
  #clients = 0;

  constructor(isEnforced: boolean) {
    const clock = { nowMs: () => this.nowMs };
    this.counts = new LimitCounts(isEnforced, clock, (level, event, fields) =>
      this.lines.push({ level, event, ...fields }),
    );
    const limits = { identity: LIMITS, address: LIMITS, counts: this.counts };
    this.limits = new Limits(limits, { table: new LockTable(), clock });
  }

  client(address: string): LimitedClient {
    this.#clients += 1;
    const connection = new RecordingConnection(this.#clients, address);
    const share = new Share();
    const client = { connection, credential: 0, share, turnOf: undefined };
    this.limits.arrive(client);
    expect(this.limits.count(client)).toBe(undefined);
    return client;
  }

  /** How many of `count` commands, one right after the other, are refused. */
  refused(client: LimitedClient, count: number): number {
    let refused = 0;
    for (let i = 0; i < count; i += 1) {
      client.share.payRequest();
      if (this.limits.refusesCommand(client, OPEN)) refused += 1;
    }
    return refused;
  }
}

describe("limits that are only observed", () => {
  test("refuse nothing, and count what they would refuse", () => {
    const node = new Node(false);
    const client = node.client("10.0.0.1");
    expect(node.refused(client, 100)).toBe(0);
    expect(node.counts.total("address", "commandsPerSecondMax")).toBe(90);
    for (let i = 0; i < 5; i += 1) expect(node.limits.refusesRead(client, 10)).toBe(false);
    expect(node.counts.total("address", "readCostPerSecondMax")).toBe(4);
    client.share.countWatches(1);
    expect(node.limits.watchRefusal(client)).toBe(undefined);
    expect(node.counts.total("address", "watchesMax")).toBe(1);
    expect(node.counts.total("identity", "commandsPerSecondMax")).toBe(0);
    expect(node.lines[0]).toMatchObject({ event: "limit exceeded, only observed" });
    expect(node.limits.received(client, 1 << 20)).toBe(false);
    expect(node.counts.total("address", "commandsPerSecondMax")).toBe(91);
    // It owes nothing.
    node.nowMs = 500;
    expect(node.refused(client, 5)).toBe(0);
    expect(node.counts.total("address", "commandsPerSecondMax")).toBe(91);
  });

  test("refuse the same when they are enforced", () => {
    const node = new Node(true);
    expect(node.refused(node.client("10.0.0.1"), 100)).toBe(90);
    expect(node.counts.total("address", "commandsPerSecondMax")).toBe(90);
  });
});

describe("lines about limits", () => {
  test("come once in ten seconds for each limit, with how often it was exceeded meanwhile", () => {
    const node = new Node(true);
    const [one, other] = [node.client("10.0.0.1"), node.client("10.0.0.2")];
    node.refused(one, 100);
    node.refused(other, 100);
    const line = { level: "warn", event: "limit exceeded", limit: "commands", max: 10 };
    expect(node.lines).toEqual([{ ...line, address: "10.0.0.1", count: 1 }]);
    node.nowMs = 9_999;
    node.refused(one, 100);
    expect(node.lines).toHaveLength(1);
    node.nowMs = 10_000;
    const before = node.counts.total("address", "commandsPerSecondMax");
    node.refused(other, 30);
    expect(node.lines[1]).toEqual({ ...line, address: "10.0.0.2", count: before });
  });
});

describe("what an address has spent", () => {
  test("stays spent when it connects again, and is forgotten when it owes nothing", () => {
    const node = new Node(true);
    const client = node.client("10.0.0.1");
    expect(node.refused(client, 10)).toBe(0);
    node.limits.leave(client);
    node.limits.leave(client);
    // Enough come and go that the node looks for some to forget.
    for (let i = 0; i < 1_000; i += 1) node.limits.leave(node.client(`10.1.${i >> 8}.${i & 255}`));
    expect(node.refused(node.client("10.0.0.1"), 10)).toBe(10);
    node.nowMs = 5_000;
    expect(node.refused(node.client("10.0.0.1"), 10)).toBe(0);
  });
});
