/**
 * What others see of holds: the changes of keys, and the holds of one key. Both are recorded with the
 * mark that each request leaves as the value, or the name, of its hold, so that the checker knows whose
 * hold it is even if its client was never told.
 */
import type { Client } from "../sdk.js";
import type { Worker } from "./workload.js";

const AGAIN_MS = 100;

/** Notes every change of these keys, and opens a new stream if one cannot continue. */
export async function watchKeys(worker: Worker, prefix: string): Promise<void> {
  for (let streams = 0; !worker.signal.aborted; streams += 1) {
    const watch = `${worker.process}-${streams}`;
    try {
      for await (const change of worker.client.watch({ prefix }, { signal: worker.signal })) {
        const { key, revision, token } = change;
        const kind = change.type === "ended" ? change.reason : change.type;
        const named = { mark: change.value === "" ? change.sessionName : change.value };
        const at = [revision.index, revision.number];
        worker.note({
          f: "change",
          key,
          value: { watch, revision: at, kind, key, token, ...named },
        });
      }
    } catch {
      // Too far behind, or the session is gone: the next stream begins with the current state.
      await worker.sleep(AGAIN_MS);
    }
  }
}

/** The holds of a key, as they are recorded. */
export async function holdsOf(client: Pick<Client, "inspect">, key: string) {
  const { holds } = await client.inspect(key);
  return {
    holds: holds.map(({ token, value, sessionName }) => {
      return { token, mark: value === "" ? sessionName : value };
    }),
  };
}

export async function inspect(worker: Worker, key: string): Promise<void> {
  await worker.record({ f: "inspect", key }, () => holdsOf(worker.client, key));
}
