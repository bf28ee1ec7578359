/** The SDK clients of a run: connected together and closed together, in limited time. */
import { setTimeout as delay } from "node:timers/promises";
import { type Client, type ConnectOptions, connect } from "../../src/index.js";

const DRAIN_MS_MAX = 10_000;

/** Connects all or none. `optionsOf`: the special options of one client. */
export async function connectAll(
  count: number,
  endpoints: readonly string[],
  signal: AbortSignal,
  optionsOf: (index: number) => ConnectOptions = () => ({}),
): Promise<Client[]> {
  const settled = await Promise.allSettled(
    Array.from({ length: count }, (_, index) =>
      connect({ endpoints, name: `bench ${process.pid}/${index}`, signal, ...optionsOf(index) }),
    ),
  );
  const clients: Client[] = [];
  let failure: PromiseRejectedResult | undefined;
  for (const result of settled) {
    if (result.status === "fulfilled") clients.push(result.value);
    else failure ??= result;
  }
  if (failure === undefined) return clients;
  await closeAll(clients);
  throw failure.reason;
}

export async function closeAll(clients: readonly Client[]): Promise<void> {
  await drained(Promise.all(clients.map((client) => client.close())));
}

/** Waits for something that should end by itself, for a limited time. */
export async function drained(ending: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([
    ending,
    delay(DRAIN_MS_MAX, undefined, { signal: late.signal }).catch(() => undefined),
  ]);
  late.abort();
}

/** A prefix of keys that no other run uses: an interrupted run may have left locks. */
export function runPrefix(): string {
  return `bench/${Date.now().toString(36)}-${process.pid}`;
}
