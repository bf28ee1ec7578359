/**
 * Callers that leave: acquires of one key and of two, upgrades, and takes of leases, given up at any
 * moment, while they wait, are granted or are on their way. What a caller that left was granted is given
 * back: those that go on waiting, for long, must get it.
 */
import type { Lock, WantedItem } from "../sdk.js";
import { giveBack, leaseSession, taking } from "./leases/lease-holds.js";
import { sdkRoad } from "./leases/lease-roads.js";
import { acquire, grantOf, hold, noteLoss, release } from "./lock-operations.js";
import { inspect, watchKeys } from "./watching.js";
import type { Worker, Workload } from "./workload.js";

const WAIT_MS = 2_000;
/** Longer than the end of a run takes: a request behind a forgotten one waits to the last line. */
const PATIENT_MS = [5_000, 40_000] as const;
const LEAVE_MS_MAX = 80;

export const aborts: Workload = {
  name: "aborts",
  about: "callers that leave while they wait or are granted, and others that wait for long",
  model: "lock",
  compares: ["exactly-once", "wake-ups"],
  workersMax: 3,
  async step(worker) {
    const { random } = worker;
    // One for all, so that somebody always waits.
    const key = worker.keys[0] as string;
    const choice = random.next();
    if (worker.index === 0) await patientRound(worker, key);
    else if (choice < 0.4) await leaveOne(worker, key);
    else if (choice < 0.6) await leaveTwo(worker);
    else if (choice < 0.75) await leaveUpgrade(worker, key);
    else if (choice < 0.95) await leaveTake(worker, key);
    else await inspect(worker, key);
  },
  background: (worker) => watchKeys(worker, "aborts/"),
};

async function patientRound(worker: Worker, key: string): Promise<void> {
  const { client, random } = worker;
  const wish = { waitMs: random.pick(PATIENT_MS) };
  const take = (value: string) => client.acquire(key, { ...wish, value });
  const lock = await acquire(worker, key, wish, take);
  if (lock === undefined) return;
  await hold(worker, lock, random.integer(50, 250));
  await release(worker, lock, key);
  await worker.sleep(random.integer(0, 60));
}

async function leaveOne(worker: Worker, key: string): Promise<void> {
  const { client } = worker;
  const wish = { waitMs: WAIT_MS };
  const signal = leaving(worker);
  const take = (value: string) => client.acquire(key, { ...wish, value, signal });
  await finish(worker, await acquire(worker, key, wish, take), key);
}

async function leaveTwo(worker: Worker): Promise<void> {
  const { client, random, keys } = worker;
  const items: WantedItem[] = random
    .sample(keys, Math.min(2, keys.length))
    .map((key) => ({ key, mode: random.chance(0.3) ? "shared" : "exclusive" }));
  const wish = { waitMs: WAIT_MS, items };
  const signal = leaving(worker);
  const take = (value: string) => client.acquireAll(items, { waitMs: WAIT_MS, value, signal });
  await finish(worker, await acquire(worker, undefined, wish, take), undefined);
}

async function leaveUpgrade(worker: Worker, key: string): Promise<void> {
  const { client } = worker;
  const wish = { waitMs: WAIT_MS, mode: "shared" } as const;
  const take = (value: string) => client.acquire(key, { ...wish, value });
  const lock = await acquire(worker, key, wish, take);
  if (lock === undefined) return;
  const operation = { f: "upgrade", key, value: { token: lock.token } };
  const signal = leaving(worker);
  const upgrade = () => lock.upgrade({ waitMs: WAIT_MS, signal });
  await worker.record(operation, upgrade, () => grantOf(worker, lock));
  await finish(worker, lock, key);
}

/** A lease outlives the session that asked for it. */
async function leaveTake(worker: Worker, key: string): Promise<void> {
  const { client, random, ttlMs } = worker;
  const session = leaseSession(worker);
  const name = `m${session}`;
  const wish = { owner: name, request: name, name, waitMs: WAIT_MS, ttlMs };
  const signal = leaving(worker);
  const taken = await worker.record(
    { f: "acquire", key, value: { waitMs: WAIT_MS, ttlMs, mark: name }, session },
    () => taking(key, sdkRoad(client), { ...wish, signal }),
    (lock) => grantOf(worker, lock),
  );
  if (taken === undefined) return;
  noteLoss(worker, taken, key);
  await hold(worker, taken, random.integer(0, 20));
  await giveBack(worker, { key, session, lock: taken });
}

async function finish(worker: Worker, lock: Lock | undefined, key: string | undefined) {
  if (lock === undefined) return;
  await hold(worker, lock, worker.random.integer(0, 20));
  await release(worker, lock, key);
}

/** Aborted in a moment, often before the answer. */
function leaving({ random }: Worker): AbortSignal {
  const caller = new AbortController();
  setTimeout(() => caller.abort(), random.integer(0, LEAVE_MS_MAX));
  return caller.signal;
}
