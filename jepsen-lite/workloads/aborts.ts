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
import type { Task, Workload } from "./workload.js";

const WAIT_MS = 2_000;
/** Longer than the end of a run takes: a request behind a forgotten one waits to the last line. */
const PATIENT_MS = [5_000, 40_000] as const;
const LEAVE_MS_MAX = 80;

export const aborts: Workload = {
  name: "aborts",
  about: "callers that leave while they wait or are granted, and others that wait for long",
  model: "lock",
  compares: ["exactly-once", "wake-ups"],
  tasksMax: 3,
  async step(task) {
    const { random } = task;
    // One for all, so that somebody always waits.
    const key = task.keys[0] as string;
    const choice = random.next();
    if (task.index === 0) await patientRound(task, key);
    else if (choice < 0.4) await leaveOne(task, key);
    else if (choice < 0.6) await leaveTwo(task);
    else if (choice < 0.75) await leaveUpgrade(task, key);
    else if (choice < 0.95) await leaveTake(task, key);
    else await inspect(task, key);
  },
  background: (task) => watchKeys(task, "aborts/"),
};

async function patientRound(task: Task, key: string): Promise<void> {
  const { client, random } = task;
  const wish = { waitMs: random.pick(PATIENT_MS) };
  const take = (value: string) => client.acquire(key, { ...wish, value });
  const lock = await acquire(task, key, wish, take);
  if (lock === undefined) return;
  await hold(task, lock, random.integer(50, 250));
  await release(task, lock, key);
  await task.sleep(random.integer(0, 60));
}

async function leaveOne(task: Task, key: string): Promise<void> {
  const { client } = task;
  const wish = { waitMs: WAIT_MS };
  const signal = leaving(task);
  const take = (value: string) => client.acquire(key, { ...wish, value, signal });
  await finish(task, await acquire(task, key, wish, take), key);
}

async function leaveTwo(task: Task): Promise<void> {
  const { client, random, keys } = task;
  const items: WantedItem[] = random
    .sample(keys, Math.min(2, keys.length))
    .map((key) => ({ key, mode: random.chance(0.3) ? "shared" : "exclusive" }));
  const wish = { waitMs: WAIT_MS, items };
  const signal = leaving(task);
  const take = (value: string) => client.acquireAll(items, { waitMs: WAIT_MS, value, signal });
  await finish(task, await acquire(task, undefined, wish, take), undefined);
}

async function leaveUpgrade(task: Task, key: string): Promise<void> {
  const { client } = task;
  const wish = { waitMs: WAIT_MS, mode: "shared" } as const;
  const take = (value: string) => client.acquire(key, { ...wish, value });
  const lock = await acquire(task, key, wish, take);
  if (lock === undefined) return;
  const operation = { f: "upgrade", key, value: { token: lock.token } };
  const signal = leaving(task);
  const upgrade = () => lock.upgrade({ waitMs: WAIT_MS, signal });
  await task.record(operation, upgrade, () => grantOf(task, lock));
  await finish(task, lock, key);
}

/** A lease outlives the session that asked for it. */
async function leaveTake(task: Task, key: string): Promise<void> {
  const { client, random, ttlMs } = task;
  const session = leaseSession(task);
  const name = `m${session}`;
  const wish = { owner: name, request: name, name, waitMs: WAIT_MS, ttlMs };
  const signal = leaving(task);
  const taken = await task.record(
    { f: "acquire", key, value: { waitMs: WAIT_MS, ttlMs, mark: name }, session },
    () => taking(key, sdkRoad(client), { ...wish, signal }),
    (lock) => grantOf(task, lock),
  );
  if (taken === undefined) return;
  noteLoss(task, taken, key);
  await hold(task, taken, random.integer(0, 20));
  await giveBack(task, { key, session, lock: taken });
}

async function finish(task: Task, lock: Lock | undefined, key: string | undefined) {
  if (lock === undefined) return;
  await hold(task, lock, task.random.integer(0, 20));
  await release(task, lock, key);
}

/** Aborted in a moment, often before the answer. */
function leaving({ random }: Task): AbortSignal {
  const caller = new AbortController();
  setTimeout(() => caller.abort(), random.integer(0, LEAVE_MS_MAX));
  return caller.signal;
}
