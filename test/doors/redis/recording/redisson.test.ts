/**
 * What Redisson said to Redis, replayed at a door: each command is answered as Redis answered it. The
 * recordings are of two clients with locks of each kind; their random names are replaced. Connections that
 * only subscribe are left out, and so is what the long test runs (`redisson.long.test.ts`).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DoorWorld, type RespClient } from "../world/door-world.js";

interface Recording {
  readonly client: string;
  /** By their sums. */
  readonly scripts: Readonly<Record<string, string>>;
  /** The number of its connection, the reply, and the words of each command. */
  readonly exchanges: readonly (readonly [number, string, ...string[]])[];
}

const RECORDINGS = ["redisson-4.7.0.json", "redisson-3.52.0.json"];
const TOKEN_SCRIPT = /'incr'/;
const LONG = /:\d{3,}/g;

function read(name: string): Recording {
  return JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8")) as Recording;
}

/** Numbers of fenced locks are tokens here, and so they are larger. */
function expected(recording: Recording, [, reply, name, sum]: Recording["exchanges"][number]) {
  const text = name === "EVALSHA" ? (recording.scripts[sum as string] ?? "") : "";
  const isFenced = TOKEN_SCRIPT.test(text) && reply.startsWith("[:-1, ");
  return isFenced ? "[:-1, :<number>]" : reply;
}

test.for(RECORDINGS)("%s is answered as by Redis", async (name) => {
  const recording = read(name);
  await using world = await DoorWorld.open({ allowsUnproven: true });
  const clients = new Map<number, RespClient>();
  for (const exchange of recording.exchanges) {
    const [connection, , ...words] = exchange;
    const client = clients.get(connection) ?? (await world.connect());
    clients.set(connection, client);
    const [command, sum = ""] = words;
    if (command === "EVALSHA" && (await client.call("SCRIPT", "EXISTS", sum)) === "[:0]") {
      expect(await client.call("SCRIPT", "LOAD", recording.scripts[sum] ?? "")).toBe(sum);
    }
    const reply = (await client.call(...words)).replace(LONG, ":<number>");
    // A token that is asked for by itself is a text.
    const isToken = command === "GET" && sum.startsWith("redisson_lock_token");
    if (isToken) expect(reply).toMatch(/^(?:\d+|nil)$/);
    else expect(reply, words.join(" ")).toBe(expected(recording, exchange));
  }
});
