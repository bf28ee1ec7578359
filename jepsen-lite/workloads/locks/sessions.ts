/** Sessions that come and go: everything a session holds ends when its client closes it. */
import type { Client } from "../../sdk.js";
import { HoldfastError } from "../../sdk.js";
import { grantOf } from "../lock-operations.js";
import type { Worker, Workload } from "../workload.js";

export const sessions: Workload = {
  name: "sessions",
  about: "short sessions that take locks and close while they hold them",
  model: "lock",
  workersMax: 1,
  async step(worker) {
    const client = await opened(worker);
    if (client === undefined) return;
    const { random } = worker;
    const key = random.pick(worker.keys);
    const waitMs = random.pick([0, 1_000]);
    const { session } = client;
    const asked = { f: "acquire", key, value: { waitMs, ttlMs: worker.ttlMs }, session };
    await worker.record(
      asked,
      () => client.acquire(key, { waitMs }),
      (lock) => grantOf(worker, lock),
    );
    await worker.sleep(random.integer(0, 30));
    // `close` never rejects; if it took too long, it is not known whether the cluster received it.
    await worker.record({ f: "close", session }, () => closed(client));
  },
};

async function opened(worker: Worker): Promise<Client | undefined> {
  try {
    return await worker.connect({ signal: worker.signal });
  } catch (error) {
    if (!worker.signal.aborted && !(error instanceof HoldfastError && error.retryable)) throw error;
    return undefined;
  }
}

async function closed(client: Client): Promise<void> {
  const beganMs = performance.now();
  await client.close();
  if (performance.now() - beganMs < CLOSE_MS_MAX) return;
  throw new HoldfastError("UNAVAILABLE", "the end of the session was not confirmed");
}

/** The client gives up after a third of its lease. */
const CLOSE_MS_MAX = 300;
