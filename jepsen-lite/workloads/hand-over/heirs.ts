/**
 * Two holds of one client that are handed over to two others at once, as by a supervisor that starts a
 * process twice. What goes over as a whole is gone on with by one of them, under new tokens, and the other
 * one is refused: it holds neither while somebody else holds one. A process that hands a hold over
 * has given it up before anybody else can have it.
 */
import { type Client, HoldfastError, type Lock } from "../../sdk.js";
import { leaseSession } from "../leases/lease-holds.js";
import { grantOf, hold, noteLoss, release } from "../lock-operations.js";
import type { Worker, Workload } from "../workload.js";
import { byClient, byLock, type HandOver } from "./hand-over.js";

export const heirs: Workload = {
  name: "heirs",
  about: "clients that hand over two locks together, which two others then try to adopt",
  ...heirsOf(byClient),
};

export const handOvers: Workload = {
  name: "hand-overs",
  about: "two locks handed over one by one, each of which two other clients then try to adopt",
  ...heirsOf(byLock),
};

/** A hold that is handed over. */
interface Left {
  readonly key: string;
  readonly token: number;
}

/** What goes to one heir: one hold, or all that a client had. */
interface Estate {
  readonly holds: readonly Left[];
  readonly handed: string;
}

const LOCKS = 2;
const MOMENT_MS = 2;
const WISH = { waitMs: 1_000 } as const;

function heirsOf(way: HandOver): Omit<Workload, "name" | "about"> {
  /** The last ones of this process, for the heir next to the one that hands over. */
  let estates: readonly Estate[] = [];
  return {
    model: "lock",
    compares: ["exactly-once", "heirs"],
    workersMax: 1,
    async step(worker) {
      const left = await leave(worker, way);
      estates = left;
      // The other one is first now and then.
      await worker.sleep(worker.random.integer(0, 2 * MOMENT_MS));
      await inherit(worker, way, left);
    },
    async background(worker) {
      while (!worker.signal.aborted) {
        const left = estates;
        estates = [];
        if (left.length === 0) await worker.sleep(MOMENT_MS);
        else await inherit(worker, way, left);
      }
    },
  };
}

/** Resolves to what was certainly handed over. */
async function leave(worker: Worker, way: HandOver): Promise<readonly Estate[]> {
  const client = await opened(worker);
  if (client === undefined) return [];
  const author = { client, session: leaseSession(worker) };
  const locks = await acquireSome(worker, author);
  const [first] = locks.values();
  if (first !== undefined) await hold(worker, first, worker.random.integer(0, 20));
  const estates = await handOver(worker, way, author, locks);
  const handedOver = estates.reduce((sum, { holds }) => sum + holds.length, 0);
  if (handedOver === locks.size) await client.close();
  else await giveUp(worker, author);
  return estates;
}

/** Who hands over, under one number in the history for as long as it lives. */
interface Author {
  readonly client: Client;
  readonly session: number;
}

/** In the order of their names, so that nobody waits for anybody in a circle. */
async function acquireSome(worker: Worker, { client, session }: Author) {
  const { random, keys, ttlMs } = worker;
  const locks = new Map<Left, Lock>();
  for (const key of random.sample(keys, Math.min(LOCKS, keys.length)).sort()) {
    const operation = { f: "acquire", key, value: { ...WISH, ttlMs }, session };
    const lock = await worker.record(
      operation,
      () => client.acquire(key, WISH),
      (granted) => grantOf(worker, granted),
    );
    if (lock === undefined) break;
    noteLoss(worker, lock, key);
    locks.set({ key, token: lock.token }, lock);
  }
  return locks;
}

async function handOver(
  worker: Worker,
  way: HandOver,
  { client, session }: Author,
  locks: ReadonlyMap<Left, Lock>,
): Promise<readonly Estate[]> {
  const all = [...locks.keys()];
  const shares = way.isOfAll ? [all] : all.map((left) => [left]);
  const estates: Estate[] = [];
  for (const share of shares) {
    // The first may be lost while it waits for the second.
    const holds = share.filter((left) => locks.get(left)?.isHeld === true);
    if (holds.length === 0) continue;
    const own = holds.map((left) => locks.get(left) as Lock);
    const operation = { f: "hand-over", value: { tokens: tokensOf(holds) }, session };
    const giving = () => way.handOver(client, own);
    const handed = await worker.record(operation, giving, () => undefined);
    if (handed === undefined) continue;
    const kept = own.find(({ isHeld }) => isHeld);
    if (kept !== undefined) throw new Error(`token ${kept.token}, handed over, is still held`);
    estates.push({ holds, handed });
  }
  return estates;
}

/** What could not be handed over is given back, at some time from now on. */
async function giveUp(worker: Worker, { client, session }: Author): Promise<void> {
  await worker.record({ f: "close", session }, async () => {
    await client.close();
    throw new HoldfastError("UNAVAILABLE", "ended with its client, or by its lease", {
      details: { indeterminate: true },
    });
  });
}

async function opened(worker: Worker): Promise<Client | undefined> {
  try {
    return await worker.connect({ signal: worker.signal });
  } catch (error) {
    if (!worker.signal.aborted && !(error instanceof HoldfastError && error.retryable)) throw error;
    return undefined;
  }
}

/** In any order, so that each of two heirs may be the first for a part of what goes by itself. */
async function inherit(worker: Worker, way: HandOver, estates: readonly Estate[]): Promise<void> {
  const inherited: Inheritance[] = [];
  for (const estate of worker.random.sample(estates, estates.length)) {
    const taken = await takeUp(worker, way, estate);
    if (taken !== undefined) inherited.push(taken);
  }
  for (const { client, locks } of inherited) {
    for (const [{ key }, lock] of locks) {
      await hold(worker, lock, worker.random.integer(0, 20));
      await release(worker, lock, key);
    }
    await client.close();
  }
}

interface Inheritance {
  readonly client: Client;
  readonly locks: ReadonlyMap<Left, Lock>;
}

/** Only one adopt of these tokens can succeed. */
async function takeUp(worker: Worker, way: HandOver, { holds, handed }: Estate) {
  const operation = { f: "adopt", value: { tokens: tokensOf(holds) } };
  const taking = async (): Promise<Inheritance> => {
    const { client, locks } = await way.takeUp(worker, handed);
    const own = holds.flatMap((left) => {
      const lock = locks.find(({ items }) => items.some(({ key }) => key === left.key));
      return lock === undefined ? [] : [[left, lock] as const];
    });
    return { client, locks: new Map(own) };
  };
  const taken = await worker.record(operation, taking, ({ locks }) => ({
    grants: holds.map((left) => {
      const lock = locks.get(left);
      return lock === undefined ? null : grantOf(worker, lock);
    }),
  }));
  for (const [{ key }, lock] of taken?.locks ?? []) noteLoss(worker, lock, key);
  return taken;
}

function tokensOf(holds: readonly Left[]): number[] {
  return holds.map(({ token }) => token);
}
