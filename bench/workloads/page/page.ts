/**
 * `page`: what one viewer of a node's page costs the node, and how smooth the page is. A cluster with
 * many held locks serves a steady load of takes and releases, and a real Chromium shows the page of
 * the leader: all locks, those that begin with a prefix, then one lock. Each view takes turns with an
 * empty tab, in alternating order; the ratio of CPU per change in each such pair is the cost of the
 * viewer. The browser runs on the same cores, so part of that ratio is their shared caches.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Browser } from "playwright-core";
import type { Client } from "../../../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "../../cluster/bench-clients.js";
import type { NodeProcess } from "../../cluster/node-process.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { BurstLoop } from "../../load/burst-loop.js";
import { fillTable } from "../../load/hold-filler.js";
import type { LoadShape } from "../../load/load-shapes.js";
import { warmUp } from "../../load/warm-up.js";
import { describeMachine } from "../../measures/machine.js";
import { cpuMicros } from "../../measures/process-cpu.js";
import type { PageOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import { BLANK, launchChromium, MeteredTab, type TabFigures } from "./metered-tab.js";
import {
  type MeasuredTurn,
  PAGE_VIEWS,
  type PageResult,
  type PageView,
  pageResult,
} from "./page-result.js";

/** Their sessions renew it for the whole run. */
const HOLDER_TTL_MS = 600_000;
/** After a tab shows what it should, before it is measured. */
const SETTLING_MS = 1_000;
/** Each cycle is a take and a release. */
const CHANGES_OF_CYCLE = 2;
/** Locks that the load takes in turn: so the rows of a list come and go. */
const TAKEN_LOCKS = 1_000;

/** Everything that a turn needs. */
interface Stage {
  readonly browser: Browser;
  readonly cluster: OwnCluster;
  readonly leader: NodeProcess;
  readonly loop: BurstLoop;
  /** The address of each view. */
  readonly urls: Readonly<Record<PageView, string>>;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** `signal` ends it early, by rejecting. */
export async function runPage(options: PageOptions, signal: AbortSignal): Promise<PageResult> {
  const browser = await launchChromium();
  let closing: Promise<void> | undefined;
  // The second call would not wait until the browser is gone and its profile is removed.
  const close = () => (closing ??= browser.close());
  // A page that hangs answers nothing until then.
  signal.addEventListener("abort", close, { once: true });
  try {
    return await withOwnCluster({ signal }, (cluster) => runOn(cluster, browser, options, signal));
  } finally {
    signal.removeEventListener("abort", close);
    await close();
  }
}

async function runOn(
  cluster: OwnCluster,
  browser: Browser,
  options: PageOptions,
  signal: AbortSignal,
): Promise<PageResult> {
  const { connections, holds, rate, seconds, warmupSeconds } = options;
  const machine = describeMachine();
  const progress = new Progress();
  const prefix = runPrefix();
  const clients: Client[] = [];
  try {
    clients.push(...(await connectAll(connections, cluster.endpoints, signal)));
    await warmUp(clients, warmupSeconds, `${prefix}/warm-up`, signal);
    const holderOptions = () => ({ ttlMs: HOLDER_TTL_MS });
    const holders = await connectAll(connections, cluster.endpoints, signal, holderOptions);
    clients.push(...holders);
    const held = `${prefix}/held`;
    const fillSeconds = await fillTable(cluster, holders, held, holds, progress, signal);
    const leader = await cluster.healthy();
    const loop = new BurstLoop({
      clients: clients.slice(0, connections),
      shape: manyKeys(`${held}/1-`),
      rate: rate / CHANGES_OF_CYCLE,
    });
    try {
      const urls = urlsOf(leader, held);
      const stage = { browser, cluster, leader, loop, urls, seconds, signal };
      const turns = await takeTurns(stage, options, progress);
      const { fencingViolations } = loop;
      return pageResult(options, {
        ...{ turns, machine, fillSeconds, fencingViolations },
        chromium: browser.version(),
        node: `n${leader.id}`,
        errors: Object.fromEntries(loop.errors),
      });
    } finally {
      await drained(loop.stop());
    }
  } finally {
    progress.clear();
    await closeAll(clients);
  }
}

/** The key of each cycle is the next one: most have not been in the last reading of a list. */
function manyKeys(prefix: string): LoadShape {
  let asked = 0;
  return {
    ask: (client, _worker, { signal }) => {
      const key = `${prefix}${asked % TAKEN_LOCKS}`;
      asked += 1;
      return client.acquire(key, { signal });
    },
  };
}

/**
 * The names that are taken come after `held/1` and before `held/10`: on the first page of all locks,
 * and of those that begin with `held/1`.
 */
function urlsOf({ endpoint }: NodeProcess, held: string): Record<PageView, string> {
  const page = `${endpoint.replace(/^ws/, "http")}/#`;
  return {
    locks: `${page}/locks`,
    prefix: `${page}/locks?prefix=${encodeURIComponent(`${held}/1`)}`,
    lock: `${page}/lock/${encodeURIComponent(`${held}/1-0`)}`,
  };
}

async function takeTurns(
  stage: Stage,
  { rounds }: PageOptions,
  progress: Progress,
): Promise<MeasuredTurn[]> {
  const turns: MeasuredTurn[] = [];
  // Otherwise the first rounds would include the compilation of what answers the page.
  const { signal, urls } = stage;
  const unmeasured = () => delay(SETTLING_MS, undefined, { signal });
  for (const view of PAGE_VIEWS) await measureTab(stage, urls[view], unmeasured);
  stage.loop.reset();
  for (let round = 1; round <= rounds; round += 1) {
    for (const view of PAGE_VIEWS) {
      const order = round % 2 === 1 ? [false, true] : [true, false];
      for (const isOpen of order) {
        progress.show(`round ${round} of ${rounds}: ${isOpen ? view : `without ${view}`}`);
        turns.push(await takeTurn(stage, round, view, isOpen));
      }
    }
    const { leader, cluster } = stage;
    if ((await cluster.healthy()) !== leader) {
      throw new Error(`node ${leader.id}, whose page was open, is no longer the leader`);
    }
  }
  return turns;
}

async function takeTurn(
  stage: Stage,
  round: number,
  view: PageView,
  isOpen: boolean,
): Promise<MeasuredTurn> {
  const { loop, leader, cluster, seconds, signal } = stage;
  const pids = cluster.nodes.map(({ pid }) => pid);
  const reading = () => ({
    ms: performance.now(),
    cycles: loop.cycles,
    node: cpuMicros([leader.pid]) ?? Number.NaN,
    servers: cpuMicros(pids) ?? Number.NaN,
  });
  const { tab, work } = await measureTab(stage, isOpen ? stage.urls[view] : BLANK, async () => {
    const before = reading();
    await delay(seconds * 1_000, undefined, { signal });
    return { before, after: reading() };
  });
  const { before, after } = work;
  const changes = (after.cycles - before.cycles) * CHANGES_OF_CYCLE;
  if (changes === 0) throw new Error("no lock was taken while the page was measured");
  if (isOpen && tab.messages === 0) throw new Error(`the page of ${view} received nothing`);
  return {
    ...{ round, view, isOpen, changes, tab },
    seconds: (after.ms - before.ms) / 1_000,
    nodeCpuMicros: after.node - before.node,
    serverCpuMicros: after.servers - before.servers,
  };
}

/** Shows `url` in a new tab, which is measured during `during`. */
async function measureTab<T>(
  { browser, signal }: Stage,
  url: string,
  during: () => Promise<T>,
): Promise<{ readonly tab: TabFigures; readonly work: T }> {
  const tab = await MeteredTab.open(browser, url);
  try {
    await delay(SETTLING_MS, undefined, { signal });
    await tab.start();
    const work = await during();
    return { tab: await tab.read(), work };
  } finally {
    await tab.close();
  }
}
