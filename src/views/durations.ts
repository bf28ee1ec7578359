/** Durations as people read them, and can type them in as an option. Pure. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `0.4ms` of what is measured that finely; `0ms` … `999ms`, `3.2s`, `2m 05s`, `3h 07m`, `2d 04h`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds > 0 && milliseconds < 9.95 && !Number.isInteger(milliseconds)) {
    return `${milliseconds.toFixed(1).replace(/\.0$/, "")}ms`;
  }
  const wholeMs = Math.max(0, Math.round(milliseconds));
  if (wholeMs < SECOND_MS) return `${wholeMs}ms`;
  if (wholeMs < 59_950) {
    const tenths = Math.round(wholeMs / 100);
    return tenths % 10 === 0 ? `${tenths / 10}s` : `${(tenths / 10).toFixed(1)}s`;
  }
  const seconds = Math.round(wholeMs / SECOND_MS);
  if (seconds < 3_600) return twoParts(seconds, 60, "m", 1, "s");
  if (seconds < 86_400) return twoParts(seconds, 3_600, "h", 60, "m");
  return twoParts(seconds, 86_400, "d", 3_600, "h");
}

function twoParts(
  seconds: number,
  large: number,
  largeName: string,
  small: number,
  smallName: string,
): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${largeName} ${String(rest).padStart(2, "0")}${smallName}`;
}

/** The units in which a duration is written exactly, from large to small. */
const WRITTEN_MS: readonly (readonly [number, string])[] = [
  [DAY_MS, "d"],
  [HOUR_MS, "h"],
  [MINUTE_MS, "m"],
  [SECOND_MS, "s"],
];

/** Exactly, as a person would write it: 250ms, 7.1s, 1.5h. Whole milliseconds are read back. */
export function durationText(milliseconds: number): string {
  for (const [unitMs, unit] of WRITTEN_MS) {
    if (milliseconds >= unitMs && (milliseconds * 10) % unitMs === 0) {
      return `${milliseconds / unitMs}${unit}`;
    }
  }
  const wholeMs = Math.ceil(milliseconds);
  return wholeMs < SECOND_MS ? `${wholeMs}ms` : `${wholeMs / SECOND_MS}s`;
}

/** `12s ago`, `3m ago`, `5h ago`, `3d ago`: roughly, so that a sentence seldom changes. */
export function agoText(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)}s ago`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m ago`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)}h ago`;
  return `${Math.floor(ms / DAY_MS)}d ago`;
}
