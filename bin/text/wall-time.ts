/** Wall-clock times for people: local, to the millisecond, and sortable. Machines use `--json`. */

/** `2026-11-20 19:37:59.120`. */
export function formatWallTime(wallMs: number): string {
  const at = new Date(wallMs);
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day} ${formatTimeOfDay(wallMs)}`;
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
