/** How each call of the application begins: not once its client is ending, nor with an aborted signal. */
import type { Deferred } from "./waiters.js";

/** The client of the call. */
export interface Beginning {
  readonly isEnding: boolean;
  /** Why nothing can be asked for any more. */
  endError(): Error;
  /** Reads the clock; ends what is over by then, and so may run listeners. */
  now(): number;
}

export function beginCall<T>(
  client: Beginning,
  signal: AbortSignal | undefined,
  begin: (nowMs: number, caller: Deferred<T>) => void,
): Promise<T> {
  // First, since it may run listeners that close the client or abort the signal.
  const nowMs = client.now();
  if (client.isEnding) return Promise.reject(client.endError());
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => begin(nowMs, { resolve, reject }));
}
