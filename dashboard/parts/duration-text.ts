/** Durations as people read them. Pure. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** "3.2 s", "4 min 10 s", "2 h 5 min", "3 d 4 h"; milliseconds below one second. */
export function durationText(ms: number): string {
  if (ms < 0) return "0 ms";
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND_MS) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return pair(ms, MINUTE_MS, "min", SECOND_MS, "s");
  if (ms < DAY_MS) return pair(ms, HOUR_MS, "h", MINUTE_MS, "min");
  return pair(ms, DAY_MS, "d", HOUR_MS, "h");
}

function pair(
  ms: number,
  large: number,
  largeWord: string,
  small: number,
  smallWord: string,
): string {
  const rest = Math.floor((ms % large) / small);
  const first = `${Math.floor(ms / large)} ${largeWord}`;
  return rest === 0 ? first : `${first} ${rest} ${smallWord}`;
}
