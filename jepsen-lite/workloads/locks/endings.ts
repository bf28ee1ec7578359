/**
 * Holds that others end: stolen, revoked at once or with a grace, ended with their session, or over by
 * their own longest time. With a grace, and at the longest time, the holder has to know of it before
 * anybody else can hold; at once, and by a steal, it learns of it afterwards. Keys are new every few
 * seconds: a steal without an answer may end a hold at any later time, so that little could be judged
 * of a key after it.
 */
import type { Lock, RevokeOptions } from "../../sdk.js";
import { acquire, hold, release } from "../lock-operations.js";
import { inspect, watchKeys } from "../watching.js";
import type { Worker, Workload } from "../workload.js";

const KEYS_MAX = 2;
const KEY_NS = 4_000_000_000;
const GRACES_MS = [0, 300, 1_000] as const;
/** Beyond the shortest lease, so that either may come first. */
const MAX_HOLDS_MS = [1_000, 1_500] as const;

export const endings: Workload = {
  name: "endings",
  about: "holds that others end: stolen, revoked, ended with their session, held too long",
  model: "lock",
  compares: ["exactly-once", "endings", "denials"],
  workersMax: 2,
  async step(worker) {
    const { random } = worker;
    const key = keyNow(worker);
    const choice = random.next();
    if (choice < 0.62) await holdOn(worker, key);
    else if (choice < 0.7) await holdOn(worker, key, { steal: true });
    else if (choice < 0.88) await revoke(worker, key);
    else if (choice < 0.93) await endSession(worker, key);
    else await inspect(worker, key);
    await worker.sleep(random.integer(0, 60));
  },
  background: (worker) => watchKeys(worker, "endings/"),
};

function keyNow(worker: Worker): string {
  const key = worker.random.pick(worker.keys.slice(0, KEYS_MAX));
  return `${key}/${Math.floor(worker.now() / KEY_NS)}`;
}

/** Often for longer than it may be held, and until it is asked to end. */
async function holdOn(worker: Worker, key: string, more: { steal?: true } = {}): Promise<void> {
  const { client, random } = worker;
  const limited = random.chance(0.4) ? { maxHoldMs: random.pick(MAX_HOLDS_MS) } : {};
  const wish = { waitMs: random.pick([0, 500, 2_000]), ...limited, ...more };
  const take = (value: string) => client.acquire(key, { ...wish, value });
  const lock = await acquire(worker, key, wish, take);
  if (lock === undefined) return;
  const holdMs = random.chance(0.4) ? random.integer(1_000, 2_500) : random.integer(0, 100);
  await Promise.race([hold(worker, lock, holdMs), asked(lock, random.chance(0.5))]);
  await release(worker, lock, key);
}

/** Resolves when it will be revoked, if its holder cares. */
function asked(lock: Lock, cares: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (cares) lock.on("revoking", () => resolve());
  });
}

/** Revokes by the key, or by the token that holds it. */
async function revoke(worker: Worker, key: string): Promise<void> {
  const { client, random } = worker;
  const force = forceFor(worker);
  if (random.chance(0.6)) {
    const act = () => client.revoke({ key }, force);
    await worker.record({ f: "revoke", key, value: force }, act, () => undefined);
    return;
  }
  const token = (await client.inspect(key).catch(() => undefined))?.holds[0]?.token;
  if (token === undefined) return;
  const act = () => client.revoke({ token }, force);
  await worker.record({ f: "revoke", key, value: { ...force, token } }, act, () => undefined);
}

/** Ends the session that holds the key. */
async function endSession(worker: Worker, key: string): Promise<void> {
  const { client } = worker;
  const session = (await client.inspect(key).catch(() => undefined))?.holds[0]?.session ?? 0;
  if (session === 0) return;
  const force = forceFor(worker);
  const operation = { f: "end-session", value: { ...force, session } };
  await worker.record(operation, () => client.endSession(session, force));
}

/** As it is called for, and as the history has it. */
function forceFor({ random }: Worker): Pick<RevokeOptions, "now" | "graceMs"> {
  return random.chance(0.4) ? { now: true } : { graceMs: random.pick(GRACES_MS) };
}
