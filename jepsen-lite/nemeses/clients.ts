/**
 * Faults of clients: holders that are stopped past their lease, holders that die, clock jumps; and clocks
 * of clients or nodes that run at another rate.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ClientProcess } from "../clients/client-process.js";
import { writeRate } from "../clocks/clock-rate.js";
import type { NodeProcess } from "../cluster/node-process.js";
import type { Nemesis } from "./nemesis.js";

/** In leases: long enough for the table to end one and for another client to work. */
const LAPSE = 2.2;
/** How long to wait for a grant. */
const HOLDER_MS_MAX = 1_000;
const JUMPS_MS = [-86_400_000, -5_000, 2_000, 60_000, 86_400_000] as const;

export const pauseClients: Nemesis = {
  name: "pause-clients",
  about: "SIGSTOP of clients, including holders, usually for longer than their leases",
  isForPeers: true,
  async begin(target, random) {
    // One goes on, so that there is work that a resumed client could destroy.
    const count = random.integer(1, Math.max(1, target.clients.length - 1));
    const chosen = random.sample(target.clients, count);
    const leastMs = target.ttlMs * (random.chance(0.75) ? LAPSE : 0);
    const paused: ClientProcess[] = [];
    if (random.chance(0.75)) {
      // While it uses the lock.
      const holder = await target.nextHolder(HOLDER_MS_MAX);
      if (holder !== undefined) pauseNow(holder, paused);
    }
    for (const client of chosen) if (paused.length < count) pauseNow(client, paused);
    const beganMs = performance.now();
    return {
      what: `SIGSTOP of client ${paused.map(({ plan }) => plan.client).join(", ") || "none"}`,
      async end() {
        const restMs = beganMs + leastMs - performance.now();
        if (restMs > 0) await delay(restMs, undefined, { signal: target.signal }).catch(() => null);
        for (const client of paused) client.resume();
      },
    };
  },
};

export const clockRate: Nemesis = {
  name: "clock-rate",
  about: "the clocks of some nodes, or of some clients, run a tenth too fast or too slow",
  needs: "paced-clocks",
  async begin(target, random) {
    // Never both: their rates would differ by more than anybody promises.
    const isOfNodes = random.chance(0.5);
    const rate = random.pick(RATES);
    const paced = isOfNodes
      ? paceNodes(random.sample(target.nodes, random.integer(1, target.nodes.length)))
      : paceClients(random.sample(target.clients, random.integer(1, target.clients.length)));
    paced.to(rate);
    return { what: `clocks of ${paced.names} at ${rate}`, end: async () => paced.to(1) };
  },
};

const RATES = [0.9, 1.1] as const;

interface Paced {
  readonly names: string;
  to(rate: number): void;
}

function paceNodes(nodes: readonly NodeProcess[]): Paced {
  return {
    names: nodes.map(({ id }) => `node ${id}`).join(", "),
    to(rate) {
      for (const { plan } of nodes) {
        if (plan.clockFile !== undefined) writeRate(plan.clockFile, rate);
      }
    },
  };
}

function paceClients(clients: readonly ClientProcess[]): Paced {
  return {
    names: clients.map(({ plan }) => `client ${plan.client}`).join(", "),
    to(rate) {
      for (const client of clients) client.order({ order: "rate", rate });
    },
  };
}

function pauseNow(client: ClientProcess, paused: ClientProcess[]): void {
  if (client.isPaused) return;
  client.pause();
  paused.push(client);
}

export const killClients: Nemesis = {
  name: "kill-clients",
  about: "kill -9 of a client with everything it holds; another client replaces it",
  isForPeers: true,
  async begin(target, random) {
    const [client] = random.sample(target.clients, 1);
    if (client === undefined) throw new Error("there is no client to kill");
    await target.replaceClient(client);
    return { what: `kill -9 of client ${client.plan.client}`, end: async () => undefined };
  },
};

export const clock: Nemesis = {
  name: "clock",
  about: "the wall clocks of clients jump forwards and backwards, by seconds to a day",
  isForPeers: true,
  async begin(target, random) {
    const clients = random.sample(target.clients, random.integer(1, target.clients.length));
    const offsetMs = random.pick(JUMPS_MS);
    for (const client of clients) client.order({ order: "clock", offsetMs });
    const names = clients.map(({ plan }) => plan.client).join(", ");
    return {
      what: `wall clock of client ${names} by ${offsetMs / 1_000} s`,
      async end() {
        for (const client of clients) client.order({ order: "clock", offsetMs: 0 });
      },
    };
  },
};
