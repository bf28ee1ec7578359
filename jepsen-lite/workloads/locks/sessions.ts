/** Sessions that come and go: everything a session holds ends when its client closes it. */
import type { Client } from "../../sdk.js";
import { HoldfastError } from "../../sdk.js";
import { grantOf } from "../lock-operations.js";
import type { Task, Workload } from "../workload.js";

export const sessions: Workload = {
  name: "sessions",
  about: "short sessions that take locks and close while they hold them",
  model: "lock",
  tasksMax: 1,
  async step(task) {
    const client = await opened(task);
    if (client === undefined) return;
    const { random } = task;
    const key = random.pick(task.keys);
    const waitMs = random.pick([0, 1_000]);
    const { session } = client;
    const asked = { f: "acquire", key, value: { waitMs, ttlMs: task.ttlMs }, session };
    await task.record(
      asked,
      () => client.acquire(key, { waitMs }),
      (lock) => grantOf(task, lock),
    );
    await task.sleep(random.integer(0, 30));
    // `close` never rejects; if it took too long, it is not known whether the cluster received it.
    await task.record({ f: "close", session }, () => closed(client));
  },
};

async function opened(task: Task): Promise<Client | undefined> {
  try {
    return await task.connect({ signal: task.signal });
  } catch (error) {
    if (!task.signal.aborted && !(error instanceof HoldfastError && error.retryable)) throw error;
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
