/** Wall-clock times for people: local, to the millisecond, and sortable. Machines use `--json`. */

/** `2026-11-20 19:37:59.120`. */
export function formatWallTime(wallMs: number): string {
  const at = new Date(wallMs);
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day} ${formatTimeOfDay(wallMs)}`;
}

/** `11-20 19:37:59`, with the year if that is not the year of `nowMs`. */
export function formatRecentTime(wallMs: number, nowMs: number): string {
  const time = formatWallTime(wallMs).replace(/\.\d+$/, "");
  const year = `${new Date(nowMs).getFullYear()}-`;
  return time.startsWith(year) ? time.slice(year.length) : time;
}

/** `never` for 0; else to the second, with `EXPIRED` before a time that is over. */
export function expiryText(expiresWallMs: number, nowMs: number): string {
  if (expiresWallMs === 0) return "never";
  const time = formatWallTime(expiresWallMs).replace(/\.\d+$/, "");
  return expiresWallMs <= nowMs ? `EXPIRED ${time}` : time;
}

/** `19:37:59.120`. */
export function formatTimeOfDay(wallMs: number): string {
  const at = new Date(wallMs);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  return `${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
