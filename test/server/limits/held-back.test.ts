/** From which connections nothing is read, and when they are read again. Time stands still by itself. */
import { describe, expect, test } from "vitest";
import { LockTable } from "../../../src/lockfsm/index.js";
import { LimitCounts } from "../../../src/server/limits/limit-counts.js";
import { Limits } from "../../../src/server/limits/limits.js";
import { NO_LIMITS, Share } from "../../../src/server/limits/usage.js";
import { RecordingConnection } from "../world/recording-connection.js";

/** Such a command costs two: one for itself, one for its bytes. */
const COMMAND_BYTES = 256;

class Client {
  readonly connection: RecordingConnection;
  readonly credential = 0;
  readonly share = new Share();
  turnOf = undefined;

  constructor(id: number, address: string) {
    this.connection = new RecordingConnection(id, address);
  }
}

class Node {
  nowMs = 0;
  readonly limits: Limits;
  #clients = 0;

  constructor(commandsPerSecondMax: number, isEnforced = true) {
    const clock = { nowMs: () => this.nowMs };
    const counts = new LimitCounts(isEnforced, clock, () => {});
    const limits = { ...NO_LIMITS, commandsPerSecondMax };
    this.limits = new Limits(
      { identity: limits, address: limits, counts },
      {
        table: new LockTable(),
        clock,
      },
    );
  }

  client(address = "10.0.0.1"): Client {
    this.#clients += 1;
    const client = new Client(this.#clients, address);
    this.limits.arrive(client);
    this.limits.count(client);
    return client;
  }

  /** `commands` of them were read from it in one piece. */
  hear(client: Client, commands: number): void {
    for (let i = 0; i < commands; i += 1) client.share.payRequest();
    this.limits.received(client, commands * COMMAND_BYTES);
  }

  /** Time passes, with a turn of the loop whenever it asked for one. */
  run(ms: number): void {
    const endMs = this.nowMs + ms;
    while (this.limits.nextDeadlineMs <= endMs) {
      this.nowMs = this.limits.nextDeadlineMs;
      this.limits.serve(this.nowMs);
    }
    this.nowMs = endMs;
  }
}

const isPaused = ({ connection }: Client): boolean => connection.isPaused;

describe("a connection that has sent what its address may send", () => {
  test("is not read until that is earned again, by bytes and by commands", () => {
    const node = new Node(1_000);
    const client = node.client();
    node.hear(client, 499);
    expect(isPaused(client)).toBe(false);
    node.hear(client, 51);
    expect(isPaused(client)).toBe(true);
    node.run(90);
    expect(isPaused(client)).toBe(true);
    node.run(40);
    expect(isPaused(client)).toBe(false);
    expect(node.limits.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("is read again after a second at the latest if it is alone, whatever it has sent", () => {
    const node = new Node(1_000);
    const client = node.client();
    node.hear(client, 1_000_000);
    node.run(900);
    expect(isPaused(client)).toBe(true);
    node.run(140);
    expect(isPaused(client)).toBe(false);
  });

  test("does not hold up other addresses, nor programs on the machine of the node", () => {
    const node = new Node(1_000);
    node.hear(node.client(), 5_000);
    const others = [node.client("10.0.0.2"), node.client("127.0.0.1")];
    for (const other of others) node.hear(other, 100);
    node.hear(others[1] as Client, 100_000);
    expect(others.map(isPaused)).toEqual([false, false]);
  });

  test("is read all the same when limits are only observed", () => {
    const node = new Node(1_000, false);
    const client = node.client();
    node.hear(client, 100_000);
    expect(isPaused(client)).toBe(false);
    expect(node.limits.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("leaves nothing when it ends meanwhile", () => {
    const node = new Node(1_000);
    const [gone, other] = [node.client(), node.client()];
    node.hear(gone, 5_000);
    node.limits.leave(gone);
    node.run(20);
    expect(node.limits.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
    node.hear(other, 1);
    expect(isPaused(other)).toBe(true);
    node.run(2_000);
    expect([isPaused(other), isPaused(gone)]).toEqual([false, true]);
  });
});

test("connections of one address take turns: the one that sends little is read as often as others", () => {
  const node = new Node(10_000);
  const floods = Array.from({ length: 20 }, () => node.client());
  const little = node.client();
  for (const flood of floods) node.hear(flood, 1_000);
  node.hear(little, 1);
  expect(isPaused(little)).toBe(true);
  const times = new Map<Client, number>([...floods, little].map((client) => [client, 0]));
  for (let i = 0; i < 1_000; i += 1) {
    node.run(20);
    for (const [client, count] of times) {
      if (isPaused(client)) continue;
      times.set(client, count + 1);
      node.hear(client, client === little ? 1 : 130);
    }
  }
  const counts = [...times.values()];
  // 20 seconds are worth 200,000, of which a flood takes 260 in each turn.
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(700);
  expect(Math.max(...counts)).toBeLessThan(2 * Math.min(...counts));
});
