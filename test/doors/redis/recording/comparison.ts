/**
 * Unchanged clients, first against Redis and then against the door: what they send, what they are
 * answered and what they report to their users must be the same, but for the listed differences.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StartedServer } from "../../../fence/stores/installed.js";
import { startRedis } from "../../../fence/stores/redis.js";
import { RespClient } from "../world/door-world.js";
import { DIFFERENCES, type Difference } from "./differences.js";
import { LIVES, type Life } from "./lives.js";
import { LoggingProxy } from "./logging-proxy.js";
import { type Line, transcriptOf } from "./transcript.js";

export interface ComparedServer {
  readonly port: number;
  /** Called again and again while a lock is waited for, with the time since it was last called. */
  readonly onWait?: (elapsedMs: number) => void;
}

interface Recorded {
  readonly told: readonly string[] | undefined;
  readonly lines: readonly Line[];
}

async function record({ live }: Life, { port, onWait }: ComparedServer): Promise<Recorded> {
  await using proxy = await LoggingProxy.to(port);
  const own = await RespClient.open(port);
  const expired = async (key: string): Promise<void> => {
    let lastMs = performance.now();
    for (;;) {
      const nowMs = performance.now();
      onWait?.(nowMs - lastMs);
      lastMs = nowMs;
      const reply = await own.call("EXISTS", key);
      if (reply === ":0") return;
      if (reply !== ":1") throw new Error(`EXISTS ${key}: ${reply}`);
    }
  };
  const breakConnections = (): void => proxy.reset();
  const told = await live({ port: proxy.port, expired, breakConnections });
  own.close();
  return { told, lines: transcriptOf(proxy.exchanges) };
}

async function recordRedis(life: Life, redis: StartedServer): Promise<Recorded> {
  const own = await RespClient.open(redis.port);
  await own.call("FLUSHALL");
  await own.call("SCRIPT", "FLUSH");
  own.close();
  return record(life, redis);
}

function differenceOf({ command, reply }: Line, atDoor: Line): Difference | undefined {
  return DIFFERENCES.find(
    (each) => each.command.test(command) && each.redis.test(reply) && each.door.test(atDoor.reply),
  );
}

/** Makes a test of each life of a client; `withDoor` opens a door of its own or shares one. */
export function compareWithRedis(
  withDoor: <T>(use: (door: ComparedServer) => Promise<T>) => Promise<T>,
): void {
  let redis: StartedServer | undefined;
  const seen = new Set<Difference>();

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.[Symbol.asyncDispose]();
  });

  test.for(LIVES)("$client: $what", async (life, context) => {
    if (redis === undefined) return context.skip("redis-server is not installed");
    const atRedis = await recordRedis(life, redis);
    if (atRedis.told === undefined) return context.skip(`${life.client} is not installed`);
    const atDoor = await withDoor((door) => record(life, door));
    expect(atDoor.told).toEqual(atRedis.told);
    const expected = atRedis.lines.map((line, at) => {
      const other = atDoor.lines[at];
      const difference = other === undefined ? undefined : differenceOf(line, other);
      if (difference === undefined) return line;
      seen.add(difference);
      return { command: line.command, reply: other?.reply };
    });
    expect(atDoor.lines).toEqual(expected);
  });

  test("each listed difference is one", (context) => {
    if (redis === undefined) return context.skip("redis-server is not installed");
    expect([...DIFFERENCES].filter((difference) => !seen.has(difference))).toEqual([]);
  });
}
