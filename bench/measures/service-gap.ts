/**
 * The figure of a failover: the longest time without service. Pure; all times are milliseconds of
 * one monotonic clock.
 */

/**
 * The longest period without a success that reaches beyond `faultMs`, in the time watched until
 * `untilMs`. The period at the fault counts from the last success before it (from the fault if
 * there was none), and a period that is not over at the end counts up to the end.
 *
 * @param successesMs ascending
 */
export function longestGapMs(
  successesMs: readonly number[],
  faultMs: number,
  untilMs: number,
): number {
  let lastMs = faultMs;
  let longestMs = 0;
  for (const successMs of successesMs) {
    if (successMs > untilMs) break;
    if (successMs > faultMs) longestMs = Math.max(longestMs, successMs - lastMs);
    lastMs = successMs;
  }
  return Math.max(longestMs, untilMs - lastMs);
}

/** Merges ascending lists into one. */
export function merged(lists: readonly (readonly number[])[]): number[] {
  return lists.flat().sort((a, b) => a - b);
}
