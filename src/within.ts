/**
 * A time limit for one task. `AbortSignal.any` with `AbortSignal.timeout` is none in Node.js 20: nothing
 * refers to the timeout but the combined signal, which does so weakly, so that it can be collected
 * before it fires, and then never does (nodejs/node#57736).
 */

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
  const onLate = (): void => ending.abort(new DOMException(`not done in ${ms} ms`, "TimeoutError"));
  const timer = setTimeout(onLate, ms);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    return await task(ending.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Whether that signal of a task is aborted because its time is over. */
export function isLate({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
