/**
 * One worker of the tour, in a process of its own, so that it can be paused like any program: it
 * waits for the lock of the tour, works for a while and then writes to the tour's resource, with its
 * token. It looks at `lock.signal` before it works and not after, as programs do that are paused in
 * between; only the fence of the resource can refuse that write. Ends with its parent.
 */
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "../../src/index.js";

/** How long a worker keeps the lock, and how long each piece of work takes. */
const TURN_MS = 6_000;
const WORK_MS = 250;

interface Order {
  readonly endpoints: readonly string[];
  readonly name: string;
  readonly key: string;
  readonly ttlMs: number;
}

export type WorkerMessage =
  | { readonly type: "waits" }
  | { readonly type: "holds"; readonly token: number }
  | { readonly type: "writes"; readonly token: number }
  | { readonly type: "lost"; readonly token: number };

function tell(message: WorkerMessage): void {
  process.send?.(message);
}

async function work({ endpoints, name, key, ttlMs }: Order): Promise<void> {
  for (;;) {
    // Another session after one that ended while this process was paused.
    await using client = await connect({ endpoints, name, ttlMs });
    try {
      for (;;) {
        tell({ type: "waits" });
        await using lock = await client.acquire(key);
        const { token } = lock;
        tell({ type: "holds", token });
        lock.signal.addEventListener("abort", () => tell({ type: "lost", token }), { once: true });
        const endMs = performance.now() + TURN_MS;
        while (performance.now() < endMs && !lock.signal.aborted) {
          await delay(WORK_MS);
          tell({ type: "writes", token });
        }
      }
    } catch {
      // The session ended, or no node answered for long: it begins again.
      await delay(WORK_MS);
    }
  }
}

process.on("disconnect", () => process.exit());
process.once("message", (order: Order) => {
  void work(order);
});
