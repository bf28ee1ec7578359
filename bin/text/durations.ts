/**
 * Durations as people write them: `250ms`, `5s`, `1.5m`, `1h`, `30d`, and sums of them as this
 * program prints: `1h30m`, `2m 05s`. A unit is required, because some tools take a bare number as
 * seconds and others as milliseconds.
 */
export { durationText, formatDuration } from "../../src/views/index.js";

const UNITS_MS: Readonly<Record<string, number>> = Object.freeze({
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
});

/** The longest duration of an option that is sent to the cluster: about 49 days. */
export const DURATION_MS_MAX = 2 ** 32 - 1;

/** The message for a text that is not a duration: people also write 5, 30m1h, 5 s and -1s. */
export const DURATION_PROBLEM =
  "a duration needs a unit, and the largest unit comes first: 250ms, 5s, 1.5m, 1h30m";

/** One number with its unit, and the blank before the next one. */
const PART = /^(\d+)(\.\d+)?(ms|s|m|h|d)(?: (?=\d))?/;

/**
 * Whole milliseconds, or `undefined` if `text` is not a duration within the limit. In a sum each
 * unit is smaller than the previous one, and only the last number may have a fraction.
 */
export function parseDuration(text: string, limitMs = DURATION_MS_MAX): number | undefined {
  let rest = text.trim();
  let exactMs = 0;
  let lastUnitMs = Number.POSITIVE_INFINITY;
  do {
    const [part = "", whole = "", fraction = "", unit = ""] = PART.exec(rest) ?? [];
    const unitMs = UNITS_MS[unit];
    if (unitMs === undefined || unitMs >= lastUnitMs) return undefined;
    rest = rest.slice(part.length);
    if (fraction !== "" && rest !== "") return undefined;
    exactMs += Number(whole + fraction) * unitMs;
    lastUnitMs = unitMs;
  } while (rest !== "");
  // 0.1 s is 100.00000000000001 ms in binary; only a real fraction of a millisecond is refused.
  const wholeMs = Math.round(exactMs);
  if (Math.abs(exactMs - wholeMs) > 1e-6 || wholeMs > limitMs) return undefined;
  return wholeMs;
}
