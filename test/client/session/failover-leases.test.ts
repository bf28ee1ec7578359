/**
 * A failover of five seconds costs no session and no lock at the default lease, however long before
 * it each session was renewed. The clock of the cluster runs all the time here, as it does if a new
 * leader was elected at once and the clients need the time to find it.
 */
import { describe, expect, it } from "vitest";
import { CLIENT_DEFAULTS, type Lock } from "../../../src/client/index.js";
import { setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

const { ttlMs } = CLIENT_DEFAULTS;
const FAILOVER_MS = 5_000;
const SESSIONS = 240;
/** Their first renewals are spread over this: longer than between any two of one session. */
const SPREAD_MS = 12_000;
/** Every eighth of them holds a lock. */
const HOLDER_EVERY = 8;
/** Clocks of clients run as fast as the margin of a lease allows. */
const RATES = [0.92, 1, 1.08] as const;

interface Crowd {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly clients: readonly SimulatedClient[];
  readonly locks: readonly Lock[];
}

async function crowd(seed: number): Promise<Crowd> {
  const { world, server } = setUp(seed);
  // A quarter of a second is how long a leader may gather keepalives.
  server.faults.commitMs = [0.5, 250];
  const clients: SimulatedClient[] = [];
  const locks: Lock[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const each = await connectTo(server, { ttlMs }, RATES[i % RATES.length]);
    clients.push(each);
    if (i % HOLDER_EVERY === 0) locks.push(await world.until(each.client.acquire(`k${i}`)));
    await world.run(SPREAD_MS / SESSIONS);
  }
  await world.run(2 * ttlMs);
  return { world, server, clients, locks };
}

/** Node 1, which leads, is gone; the others serve nobody before the failover is over. */
async function failOver({ world, server, clients }: Crowd, isSilent: boolean): Promise<void> {
  const { downNodes, silentNodes } = server.faults;
  (isSilent ? silentNodes : downNodes).add(1);
  for (const id of [2, 3]) downNodes.add(id);
  for (const { platform } of clients) {
    const { connection } = platform;
    if (connection === undefined) continue;
    if (isSilent) connection.isBlackhole = true;
    else connection.cut();
  }
  server.leaderId = 2;
  await world.run(FAILOVER_MS);
  for (const id of [2, 3]) downNodes.delete(id);
  // A busy machine: nobody is let in and attached at once.
  server.faults.latencyMs = [0, 150];
  await world.run(ttlMs + FAILOVER_MS);
}

/** How many sessions and locks it costs, and how many sessions the table has then. */
async function lossesOf(each: Crowd, isSilent: boolean): Promise<unknown> {
  const before = each.clients.map(({ client }) => client.session);
  await failOver(each, isSilent);
  return {
    sessions: each.clients.filter(({ client }, i) => client.session !== before[i]).length,
    locks: each.locks.filter(({ signal }) => signal.aborted).length,
    known: each.server.table.counts().sessions,
  };
}

const NOTHING_LOST = { sessions: 0, locks: 0, known: SESSIONS };

describe("a failover of five seconds", () => {
  it("loses no session and no lock when the leader closes its connections", async () => {
    expect(await lossesOf(await crowd(1), false)).toEqual(NOTHING_LOST);
  });

  it("loses no session and no lock when the leader falls silent", async () => {
    expect(await lossesOf(await crowd(2), true)).toEqual(NOTHING_LOST);
  });
});
