/**
 * What the compiler must accept of programs that use the SDK, and what it must refuse: nothing here
 * runs, `tsc -p tsconfig.json` is the test. A line that is expected to fail and does not is an
 * error too.
 */
import {
  type Adopted,
  type Change,
  type Client,
  connect,
  type Deadlock,
  type HandedOver,
  type HandOverOptions,
  HoldfastError,
  type KeyView,
  type Leader,
  type Lock,
  type LockInfo,
  type LockManager,
  type LockMode,
  type LossReason,
  type ReleaseResult,
  type RequestedLock,
  type Task,
} from "../../src/index.js";

/** Fails to compile unless both are the same type. */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
function expectType<Expected>() {
  return <Actual>(
    _value: Actual,
    ..._same: Same<Expected, Actual> extends true ? [] : [never]
  ) => {};
}

declare const client: Client;
declare const lock: Lock;

export async function connecting(): Promise<void> {
  expectType<Client>()(await connect());
  await connect({ endpoints: ["ws://localhost:7411"], ttlMs: 15_000, name: "a", metadata: "b" });
  await connect({ taskFromContext: true, captureStacks: true, releaseOnExit: true });
  // @ts-expect-error: one endpoint is a list of one
  await connect({ endpoints: "ws://localhost:7411" });
  // @ts-expect-error: units are part of the name
  await connect({ ttl: 15_000 });
  // @ts-expect-error: milliseconds are numbers
  await connect({ ttlMs: "15s" });
  await using closed = await connect();
  expectType<number>()(closed.session);
}

export async function acquiring(signal: AbortSignal, task: Task): Promise<void> {
  expectType<Lock>()(await client.acquire("k"));
  expectType<Lock | undefined>()(await client.tryAcquire("k"));
  await client.acquire("k", { mode: "shared", waitMs: 5_000, signal, priority: 3, task });
  await client.acquire("k", { waitMs: Number.POSITIVE_INFINITY, detect: false });
  // @ts-expect-error: there is no such mode
  await client.acquire("k", { mode: "read" });
  // @ts-expect-error: a try does not wait
  await client.tryAcquire("k", { waitMs: 5 });
  // @ts-expect-error: a controller is not a signal
  await client.acquire("k", { signal: new AbortController() });
  // @ts-expect-error: inside a lock the task is the lock's
  await lock.acquire("k", { task });
  // @ts-expect-error: a task is made by the client
  await client.acquire("k", { task: { id: 1 } });
  await client.acquireAll([{ key: "a" }, { key: "b", mode: "shared" }, { key: "c", permits: 2 }]);
  // @ts-expect-error: permits have no mode
  await client.acquireAll([{ key: "c", permits: 2, mode: "shared" }]);
  // @ts-expect-error: permits cannot be stolen
  await client.semaphore("s", { limit: 2 }).acquire({ steal: true });
}

export async function holding(): Promise<void> {
  expectType<number>()(lock.token);
  expectType<AbortSignal>()(lock.signal);
  expectType<ReleaseResult>()(await lock.release());
  const handed = await lock.handOver({ ttlMs: 1_000 });
  expectType<HandedOver>()(handed);
  expectType<undefined>()(await lock.handOver({ owner: "worker", ttlMs: 1_000 }));
  const options: HandOverOptions = {};
  expectType<HandedOver | undefined>()(await lock.handOver(options));
  expectType<Adopted>()(await client.adopt(handed, { rest: true }));
  // @ts-expect-error: an owner who goes on with it is named by a text of its own
  await lock.handOver({ owner: client.task() });
  const result = await lock.release();
  // @ts-expect-error: there is a reason only of what was not released
  void result.reason;
  if (!result.released) expectType<LossReason>()(result.reason);
  // @ts-expect-error: what is held is not changed by assignment
  lock.token = 5;
  lock.on("revoking", ({ reason, remainingMs }) => {
    expectType<string>()(reason);
    expectType<number>()(remainingMs);
  });
  // @ts-expect-error: there is no such event
  lock.on("expired", () => undefined);
  await using disposed = lock;
  void disposed;
}

export async function using(): Promise<void> {
  expectType<number>()(await client.using("k", () => 5));
  expectType<string>()(await client.using("k", { mode: "shared" }, async (held) => held.key));
  expectType<boolean>()(await lock.using("k", (held) => held.isHeld));
  expectType<readonly number[]>()(await client.semaphore("s").using(({ slots }) => slots));
  // @ts-expect-error: the callback comes last
  await client.using(() => 5, "k");
}

export async function seeing(): Promise<void> {
  for await (const view of client.query("orders/")) expectType<KeyView>()(view);
  for await (const change of client.watch({ prefix: "orders/" })) expectType<Change>()(change);
  for await (const leader of client.election("e").observe()) {
    expectType<Leader | undefined>()(leader);
  }
  expectType<Deadlock>()(await client.explainDeadlock(new Error("any")));
  // @ts-expect-error: a prefix is said to be one
  client.watch({ pre: "orders/" });
}

export async function webLocks(locks: LockManager, signal: AbortSignal): Promise<void> {
  expectType<LockManager>()(client.locks);
  expectType<number>()(await locks.request("n", () => 5));
  expectType<number>()(await locks.request("n", async () => 5));
  expectType<LockMode | undefined>()(await locks.request("n", (held) => held?.mode));
  await locks.request("n", { mode: "shared", signal }, (held) => {
    expectType<RequestedLock | null>()(held);
  });
  // @ts-expect-error: without ifAvailable it is there, but the type is the specification's
  await locks.request("n", (held) => held.name);
  // @ts-expect-error: there is no such mode
  await locks.request("n", { mode: "read" }, () => undefined);
  // @ts-expect-error: a callback is needed
  await locks.request("n", { mode: "shared" });
  const { held, pending } = await locks.query();
  expectType<LockInfo[]>()(held);
  expectType<string[]>()(pending.map(({ clientId }) => clientId));
}

export function failing(error: unknown): void {
  if (!(error instanceof HoldfastError)) return;
  // @ts-expect-error: there is no such code
  if (error.code === "TIMEOUT") return;
  expectType<boolean>()(error.retryable);
  // What is in it depends on the code.
  expectType<unknown>()(error.details["reason"]);
}
