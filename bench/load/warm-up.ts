/**
 * Warms a cluster up. A young process runs interpreted code, and with a slow load it would do so
 * for a whole measurement; the code of a cluster in use has long been compiled. So before every
 * workload some workers make it run at full speed, on keys of their own. Loads need none of this:
 * they begin long before they are measured.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/index.js";
import { drained } from "../cluster/bench-clients.js";
import { ClosedLoop } from "./closed-loop.js";
import { ownKeys } from "./load-shapes.js";

const WARM_UP_WORKERS = 256;

export async function warmUp(
  clients: readonly Client[],
  seconds: number,
  prefix: string,
  signal: AbortSignal,
): Promise<void> {
  if (seconds === 0) return;
  const loop = new ClosedLoop({ clients, workers: WARM_UP_WORKERS, shape: ownKeys(prefix) });
  try {
    await delay(seconds * 1_000, undefined, { signal });
  } finally {
    await drained(loop.stop());
  }
}
