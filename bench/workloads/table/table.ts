/**
 * `table`: whether a table full of held locks slows down unrelated requests, and how much memory a
 * lock takes. There are two clusters, one of which is filled. The same load runs on them in turns,
 * and the medians are compared, so that effects of time or of other load on the machine are not
 * attributed to the table.
 *
 * The clients that acquire the locks then die as far as the cluster can see, without ending
 * them: the table keeps the locks, and the load generator has nothing to remember that would slow
 * it down.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "../../cluster/bench-clients.js";
import { DyingClients } from "../../cluster/dying-clients.js";
import { fetchFigures } from "../../cluster/node-pages.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { ClosedLoop } from "../../load/closed-loop.js";
import { fillTable } from "../../load/hold-filler.js";
import { ownKeys } from "../../load/load-shapes.js";
import { measureLoad } from "../../load/load-window.js";
import { PacedLoop } from "../../load/paced-loop.js";
import { warmUp } from "../../load/warm-up.js";
import { describeMachine, type Machine } from "../../measures/machine.js";
import type { MeasuredProcess } from "../../measures/process-cpu.js";
import { residentMiB } from "../../measures/resident-memory.js";
import type { RateSample } from "../../measures/stall-windows.js";
import type { TableOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import { takenSnapshots } from "../snapshot/snapshot-watch.js";
import { type LoadName, type MeasuredLoad, type TableResult, tableResult } from "./table-result.js";

/** They are not renewed: long enough for the whole run. */
const HOLDER_TTL_MS = 600_000;
/** Under a light load, before memory is read. */
const SETTLING_MS = 10_000;
/** The measured workers run this long before they are counted. */
const RUN_UP_MS = 1_000;
const RATE_INTERVAL_MS = 1_000;

/** A cluster, and the clients that load it. */
interface Side {
  readonly cluster: OwnCluster;
  readonly clients: readonly Client[];
}

/** `signal` ends it early, by rejecting. */
export async function runTable(options: TableOptions, signal: AbortSignal): Promise<TableResult> {
  const machine = describeMachine();
  return withOwnCluster({ signal }, (full) =>
    withOwnCluster({ signal }, async (empty) => {
      const { connections } = options;
      const clients: Client[] = [];
      try {
        for (const { endpoints } of [full, empty]) {
          clients.push(...(await connectAll(connections, endpoints, signal)));
        }
        const sides = {
          full: { cluster: full, clients: clients.slice(0, connections) },
          empty: { cluster: empty, clients: clients.slice(connections) },
        };
        return await runOn(sides, options, machine, signal);
      } finally {
        await closeAll(clients);
      }
    }),
  );
}

async function runOn(
  sides: Readonly<Record<LoadName, Side>>,
  options: TableOptions,
  machine: Machine,
  signal: AbortSignal,
): Promise<TableResult> {
  const { holds, rounds, warmupSeconds } = options;
  const { cluster, clients } = sides.full;
  const prefix = runPrefix();
  const progress = new Progress();
  const settle = async () => {
    progress.show("settling under a light load");
    await lightLoad(clients, `${prefix}/light`, signal);
    return residentMiB(cluster);
  };
  const loads: MeasuredLoad[] = [];
  const measure = async (round: number, table: LoadName): Promise<MeasuredLoad> => {
    progress.show(`round ${round} of ${rounds}: load on the ${table} table`);
    return measureOn(sides[table], round, table, options, `${prefix}/load`, signal);
  };
  try {
    const start = residentMiB(cluster);
    for (const side of [sides.full, sides.empty]) {
      await warmUp(side.clients, warmupSeconds, `${prefix}/warm-up`, signal);
    }
    const empty = await settle();
    const key = `${prefix}/held`;
    const fillSeconds = await fill(cluster, key, options, progress, signal);
    const filled = residentMiB(cluster);
    const settled = await settle();
    // Otherwise code that only one of them has compiled would be compared.
    for (const table of ["empty", "full"] as const) await measure(0, table);
    for (let round = 1; round <= rounds; round += 1) {
      const order: LoadName[] = round % 2 === 1 ? ["empty", "full"] : ["full", "empty"];
      for (const table of order) loads.push(await measure(round, table));
    }
    if ((await holdsMin(cluster)) < holds) {
      throw new Error("held locks expired while the load was measured");
    }
    const end = residentMiB(cluster);
    return tableResult(options, {
      machine,
      keyBytes: `${key}/${holds - 1}`.length,
      fillSeconds,
      loads,
      residentMiB: { start, empty, filled, settled, end },
    });
  } finally {
    progress.clear();
  }
}

async function measureOn(
  { cluster, clients }: Side,
  round: number,
  table: LoadName,
  { workers, seconds }: TableOptions,
  prefix: string,
  signal: AbortSignal,
): Promise<MeasuredLoad> {
  const processes: MeasuredProcess[] = [
    { name: "load", pid: process.pid },
    ...cluster.nodes.map(({ id, pid }) => ({ name: `n${id}`, pid })),
  ];
  const loop = new ClosedLoop({ clients, workers, shape: ownKeys(prefix) });
  const end = new AbortController();
  try {
    await delay(RUN_UP_MS, undefined, { signal });
    const measuring = measureLoad(loop, processes, seconds * 1_000, signal);
    const sampling = sampleRates(loop, AbortSignal.any([signal, end.signal]));
    const window = await measuring;
    end.abort();
    const rates = await sampling;
    const spans = takenSnapshots(cluster.nodes);
    const { fencingViolations } = loop;
    const errors = Object.fromEntries(loop.errors);
    return { round, table, window, rates, spans, errors, fencingViolations };
  } finally {
    end.abort();
    await drained(loop.stop());
  }
}

/** Cycles of each second, until it is stopped. */
async function sampleRates(loop: ClosedLoop, stop: AbortSignal): Promise<RateSample[]> {
  const rates: RateSample[] = [];
  let fromMs = Date.now();
  let before = loop.cycles;
  while (!stop.aborted) {
    await delay(RATE_INTERVAL_MS, undefined, { signal: stop }).catch(() => undefined);
    const toMs = Date.now();
    const { cycles } = loop;
    rates.push({ fromMs, toMs, cycles: cycles - before });
    fromMs = toMs;
    before = cycles;
  }
  return rates;
}

/** Makes the nodes collect garbage as they do when little happens. */
async function lightLoad(
  clients: readonly Client[],
  prefix: string,
  signal: AbortSignal,
): Promise<void> {
  const light = new PacedLoop(clients, prefix);
  try {
    await delay(SETTLING_MS, undefined, { signal });
  } finally {
    await drained(light.stop());
  }
}

/** Resolves with the seconds it took; then only the table has the locks. */
async function fill(
  cluster: OwnCluster,
  prefix: string,
  { connections, holds }: TableOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<number> {
  const options = { ttlMs: HOLDER_TTL_MS };
  const holders = await DyingClients.connect(connections, cluster.endpoints, signal, options);
  try {
    return await fillTable(cluster, holders.clients, prefix, holds, progress, signal);
  } finally {
    await holders.die();
  }
}

/** On the node that has the fewest; 0 if one does not answer. */
async function holdsMin(cluster: OwnCluster): Promise<number> {
  const figures = await Promise.all(cluster.nodes.map(({ endpoint }) => fetchFigures(endpoint)));
  return Math.min(...figures.map((each) => each?.holds ?? 0));
}
