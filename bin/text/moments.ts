/** Moments as people name them: how long ago, or a date with or without a time. */
import { parseDuration } from "./durations.js";

/** The message for a text that is not a moment. */
export const MOMENT_PROBLEM =
  "a moment is a duration before now (2h) or a date: 2026-11-20, 2026-11-20T19:30, 2026-11-20T19:30Z";

const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;

/** Milliseconds since 1970; `undefined` for other texts. A date without a zone is local. */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const agoMs = parseDuration(text, nowMs);
  if (agoMs !== undefined) return nowMs - agoMs;
  if (!DATE.test(text)) return undefined;
  const isDay = text.length === "2026-11-20".length;
  const at = Date.parse(isDay ? `${text}T00:00` : text.replace(" ", "T"));
  return Number.isNaN(at) || at < 0 ? undefined : at;
}
