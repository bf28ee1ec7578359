/** What a client said to Redis, and its replays at a door. Connections that only subscribe are left out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DoorWorld, RespClient } from "../world/door-world.js";

export interface Recording {
  readonly client: string;
  /** By their sums. */
  readonly scripts: Readonly<Record<string, string>>;
  /** The number of its connection, the reply, and the words of each command. */
  readonly exchanges: readonly (readonly [number, string, ...string[]])[];
}

export type Exchange = Recording["exchanges"][number];

export const RECORDINGS = ["redisson-4.7.0.json", "redisson-3.52.0.json"] as const;

export function readRecording(name: (typeof RECORDINGS)[number]): Recording {
  return JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8")) as Recording;
}

/** Says everything to the door, and hands out what it replies to each command. */
export async function replay(
  world: DoorWorld,
  { exchanges, scripts }: Recording,
  onReply: (exchange: Exchange, reply: string) => void,
): Promise<void> {
  const clients = new Map<number, RespClient>();
  for (const exchange of exchanges) {
    const [connection, , ...words] = exchange;
    const client = clients.get(connection) ?? (await world.connect());
    clients.set(connection, client);
    const [command, sum = ""] = words;
    if (command === "EVALSHA" && (await client.call("SCRIPT", "EXISTS", sum)) === "[:0]") {
      const reply = await client.call("SCRIPT", "LOAD", scripts[sum] ?? "");
      if (reply !== sum) throw new Error(`${sum} is loaded as ${reply}`);
    }
    onReply(exchange, await client.call(...words));
  }
}
