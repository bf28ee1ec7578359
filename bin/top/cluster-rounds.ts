/**
 * Asks the cluster, round after round, for what the screen shows, and for nothing else. Nodes and
 * locks are asked for apart, so that a node that does not answer delays no lock. A failure is an
 * event; the next round asks again, and the connection moves on to another node by itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { Admin, KeyView, MembersView } from "../../src/index.js";
import { within } from "../../src/reach/portable.js";
import { clusterMembers, isLocal } from "../cluster/node-report.js";
import type { NodeAccess } from "../config/command-options.js";
import { type LocksSeen, type NodesSeen, nodesSeen, type Sort } from "./cluster-facts.js";
import { LockSweep } from "./lock-sweep.js";
import type { TopEvent } from "./top-state.js";

/** How long each node has to say how it is. */
const STATUS_MS_MAX = 1_500;

/** What the screen shows now. */
export interface Wish {
  readonly view: "locks" | "cluster" | "lock" | "help";
  readonly prefix: string;
  readonly sort: Sort;
  /** The key that the view "lock" shows. */
  readonly lockKey: string | undefined;
  /** The locks on the screen. */
  readonly shownKeys: readonly string[];
  readonly isPaused: boolean;
}

export interface RoundsParts {
  readonly admin: Admin;
  readonly access: NodeAccess;
  readonly intervalMs: number;
  readonly wish: () => Wish;
  readonly dispatch: (event: TopEvent) => void;
}

export class ClusterRounds {
  readonly #parts: RoundsParts;
  #sweep: LockSweep | undefined;
  #wake = new AbortController();

  constructor(parts: RoundsParts) {
    this.#parts = parts;
  }

  /** The next round begins at once, because something else is wanted. */
  wake(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  /** Until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#repeat(signal, () => this.#askNodes(signal)),
      this.#repeat(signal, () => this.#askLocks(signal)),
    ]);
  }

  async #repeat(signal: AbortSignal, round: () => Promise<void>): Promise<void> {
    let asked: Wish | undefined;
    while (!signal.aborted) {
      const { signal: woken } = this.#wake;
      const wish = this.#parts.wish();
      // Nothing moves while it pauses, except where its user goes.
      if (!wish.isPaused || asked === undefined || !isSameWish(wish, asked)) {
        asked = wish;
        await this.#attempt(signal, round);
      }
      const either = AbortSignal.any([signal, woken]);
      await delay(this.#parts.intervalMs, undefined, { signal: either }).catch(ignoreAbort);
    }
  }

  async #attempt(signal: AbortSignal, round: () => Promise<void>): Promise<void> {
    try {
      await round();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof HoldfastError)) throw error;
      this.#parts.dispatch({ type: "failed", text: error.message, wallMs: Date.now() });
    }
  }

  async #askNodes(signal: AbortSignal): Promise<void> {
    const { admin, access, dispatch } = this.#parts;
    const seen = await askNodes(admin, access, signal);
    if (!signal.aborted) dispatch({ type: "nodes", seen });
  }

  async #askLocks(signal: AbortSignal): Promise<void> {
    const { wish, dispatch } = this.#parts;
    const { view, lockKey } = wish();
    if (view === "lock" && lockKey !== undefined) await this.#askLock(lockKey, signal);
    if (view !== "locks") return;
    const seen = await this.#stepSweep(signal);
    if (!signal.aborted) dispatch({ type: "locks", seen });
  }

  async #askLock(key: string, signal: AbortSignal): Promise<void> {
    const { admin, dispatch } = this.#parts;
    const view = await admin.inspect(key, { signal });
    const why = await explainFirst(admin, view, signal);
    if (!signal.aborted) dispatch({ type: "lock", seen: { view, why, wallMs: Date.now() } });
  }

  async #stepSweep(signal: AbortSignal): Promise<LocksSeen> {
    const { admin, wish } = this.#parts;
    const { prefix, sort, shownKeys } = wish();
    if (this.#sweep?.prefix !== prefix || this.#sweep.sort !== sort) {
      this.#sweep = new LockSweep((of, until) => admin.query(of, { signal: until }), prefix, sort);
    }
    const sweep = this.#sweep;
    const seen = await sweep.step(signal, Date.now);
    // The step has just looked at all of them.
    if (sweep.isFresh) return seen;
    sweep.refresh(await Promise.all(shownKeys.map((key) => admin.inspect(key, { signal }))));
    return sweep.seen(Date.now());
  }
}

/** Why the first request waits, or what would be in the way of a new one. */
async function explainFirst(
  admin: Admin,
  { key, waiters }: KeyView,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<Admin["explain"]>>> {
  const [first] = waiters;
  if (first === undefined) return admin.explain(key, { signal });
  const { session, sequence } = first;
  return admin.explain(key, { request: { session, sequence }, signal });
}

/** All nodes that can be found, as they are or as the leader sees them. */
export async function askNodes(
  admin: Admin,
  access: NodeAccess,
  signal: AbortSignal,
): Promise<NodesSeen> {
  const endpoints = knownEndpoints(admin, access);
  const [reports, members] = await Promise.all([
    clusterMembers({ ...access, endpoints }, { timeoutMs: STATUS_MS_MAX, signal }),
    membersOf(admin, signal),
  ]);
  return nodesSeen(reports, members, Date.now());
}

/** Those that the cluster has named since, because the given ones may die. */
function knownEndpoints(admin: Admin, { endpoints }: NodeAccess): readonly string[] {
  if (isLocal(endpoints)) return endpoints;
  const isSafe = endpoints.every((url) => url.startsWith("wss:"));
  const learned = admin.endpoints.filter((url) => !isSafe || url.startsWith("wss:"));
  return [...new Set([...endpoints, ...learned])];
}

/** The leader's view is missing while there is no leader, and to those who may not operate. */
async function membersOf(admin: Admin, signal: AbortSignal): Promise<MembersView | undefined> {
  try {
    return await within(STATUS_MS_MAX, signal, (either) => admin.members({ signal: either }));
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
    if (isTimeout || error instanceof HoldfastError || signal.aborted) return undefined;
    throw error;
  }
}

function isSameWish(a: Wish, b: Wish): boolean {
  return a.view === b.view && a.prefix === b.prefix && a.sort === b.sort && a.lockKey === b.lockKey;
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === "AbortError")) throw error;
}
