/**
 * A time limit for one task. `AbortSignal.any` with `AbortSignal.timeout` is not reliable in Node.js 20:
 * only the combined signal refers to the timeout, and only weakly, so the timeout can be collected
 * before it fires (nodejs/node#57736). Nothing here may leave a timer or a listener when the task is
 * over.
 */

class TooLate extends DOMException {
  constructor(ms: number) {
    super(`not done in ${ms} ms`, "TimeoutError");
  }
}

/**
 * Runs `task` with a signal that is aborted with `signal`, and after `ms` milliseconds with a
 * `TimeoutError`. Settles as the task does, which must heed its signal.
 */
export async function within<Value>(
  ms: number,
  signal: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ending = new AbortController();
  const onAbort = (): void => ending.abort(signal?.reason);
  const timer = setTimeout(() => ending.abort(new TooLate(ms)), ms);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    return await task(ending.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Whether the signal of a task was aborted because its time was over, not by its caller. */
export function isLate({ reason }: AbortSignal): boolean {
  return reason instanceof TooLate;
}
