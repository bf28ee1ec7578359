/** Times of the day as text, in the zone of the viewer. */

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The time of the day in the viewer's zone, with the date if it is not today's. */
export function timeText(wallMs: number): string {
  const at = new Date(wallMs);
  const isToday = at.toDateString() === new Date().toDateString();
  return (isToday ? CLOCK : DATE).format(at);
}

/** `wallMs`: milliseconds since 1970. */
export function Time({ wallMs }: { readonly wallMs: number }) {
  const exact = new Date(wallMs).toISOString();
  return (
    <time dateTime={exact} title={exact} class="number">
      {timeText(wallMs)}
    </time>
  );
}
