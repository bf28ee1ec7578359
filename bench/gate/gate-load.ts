/**
 * The load of the gate: fixed numbers of commands in three shapes. `alone`: one command after the
 * other. `batches`: one client asks for 64 locks in one turn, then releases them in one turn, so
 * that each batch is one message and one log entry. `spread`: 64 workers over eight clients, as in
 * the bench.
 */
import type { Client } from "../../src/index.js";
import type { Phase } from "./gate-counts.js";

const ALONE_CYCLES = 600;
const BATCH = 64;
const BATCHES = 400;
const WORKERS = 64;
const CYCLES_EACH = 250;

export async function runPhase(
  phase: Phase,
  clients: readonly Client[],
  prefix: string,
  signal: AbortSignal,
): Promise<void> {
  const [client] = clients;
  if (client === undefined) throw new RangeError("no client");
  switch (phase) {
    case "alone":
      return cycles(client, `${prefix}/alone`, ALONE_CYCLES, signal);
    case "batches":
      return batches(client, `${prefix}/batches`, signal);
    case "spread": {
      const workers = Array.from({ length: WORKERS }, (_, worker) => {
        const each = clients[worker % clients.length] ?? client;
        return cycles(each, `${prefix}/spread/${worker}`, CYCLES_EACH, signal);
      });
      await Promise.all(workers);
    }
  }
}

async function cycles(
  client: Client,
  key: string,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  for (let cycle = 0; cycle < count; cycle += 1) {
    const lock = await client.acquire(key, { signal });
    await lock.release();
  }
}

async function batches(client: Client, prefix: string, signal: AbortSignal): Promise<void> {
  const keys = Array.from({ length: BATCH }, (_, index) => `${prefix}/${index}`);
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const locks = await Promise.all(keys.map((key) => client.acquire(key, { signal })));
    await Promise.all(locks.map((lock) => lock.release()));
  }
}
