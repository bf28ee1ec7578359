/** Clients that compete for a few locks, so that every kind of change happens. */
import { seededRandom } from "../../../lab/random-stream.js";
import { type LockMode, MESSAGE, STATUS } from "../../../src/protocol/index.js";
import type { TestClient } from "./test-client.js";
import type { World, WorldNode } from "./world.js";

export const BUSY_KEYS = ["orders/1", "orders/2", "stock", "users/a", "users/b"] as const;
const WAITS_MS = [0, 3, 40, 5_000] as const;

/** Starts `count` of them on `node`; each does `rounds` things at once, then lets go of what it has. */
export async function keepBusy(
  world: World,
  node: WorldNode,
  seed: number,
  rounds: number,
): Promise<void> {
  const random = seededRandom(seed);
  const clients = [world.client(), world.client(), world.client()];
  for (const client of clients) await client.start(node, 600_000);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  for (let round = 0; round < rounds; round += 1) {
    for (const client of clients) {
      const mode: LockMode = random() < 0.5 ? "exclusive" : "shared";
      client.acquire(pick(BUSY_KEYS), pick(WAITS_MS), mode);
      for (const granted of grantedTo(client)) if (random() < 0.6) client.end(granted);
    }
    await world.run(Math.floor(random() * 5));
  }
  for (const client of clients) for (const granted of grantedTo(client)) client.end(granted);
  await world.run(100);
}

/** The last acquires that were granted, including what it gave back since. */
function grantedTo(client: TestClient): number[] {
  const sequences: number[] = [];
  for (const message of client.received) {
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) continue;
    if (message.result.status === STATUS.granted) sequences.push(message.sequence);
  }
  return sequences.slice(-4);
}
