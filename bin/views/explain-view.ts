/**
 * What is between a request and its grant, for people: holders, earlier requests, and what keeps the
 * key closed. Names come from others, so they are never written to the terminal unescaped.
 */
import type { Blocker, ExplainView } from "../../src/index.js";
import { keyText, printable } from "../../src/text/index.js";
import { formatDuration } from "../text/durations.js";
import { sessionText, withIdentity } from "../text/session-names.js";

type ExplainedKey = ExplainView["keys"][number];

/** `titled` may set off the name of a key; it must add nothing that takes a column. */
export function explainLines(
  { request, keys }: ExplainView,
  titled: (key: string) => string = (key) => key,
): string[] {
  const lines: string[] = [];
  if (request !== null) {
    const who = sessionText(request.sessionName, request.session, request.identity);
    const ends = request.endsInMs === null ? "" : `, for ${formatDuration(request.endsInMs)} more`;
    lines.push(`${who} has waited for ${formatDuration(request.waitingMs)}${ends}`);
  }
  for (const key of keys) lines.push(...keyLines(key, request !== null, titled));
  return lines;
}

function keyLines(
  explained: ExplainedKey,
  isOfRequest: boolean,
  titled: (key: string) => string,
): string[] {
  const { key, mode, isEligible, aheadCount, blockers, closings } = explained;
  const title = `${titled(keyText(key))} (${mode})`;
  if (isEligible) {
    const what = isOfRequest
      ? "nothing is in the way here; the request waits for its other keys"
      : "free";
    return [`${title}: ${what}`];
  }
  const holders = blockers.filter(({ token }) => token !== 0);
  const waiters = blockers.filter(({ token }) => token === 0);
  return [
    `${title}: ${aheadText(aheadCount)}${expectationText(explained)}`,
    ...holders.map((holder) => {
      return `  held by ${whoText(holder)} (${holder.mode}, token ${holder.token})`;
    }),
    ...waiters.map((waiter) => {
      return `  ahead: ${whoText(waiter)} (${waiter.mode})`;
    }),
    ...closings.map(({ endsInMs, mode: was, token }) => {
      return `  closed for ${formatDuration(endsInMs)} more after token ${token} (${was})`;
    }),
  ];
}

/** Only the names of those in the way are reported, and most clients have none. */
function whoText({ sessionName, identity }: Blocker): string {
  return withIdentity(sessionName === "" ? "an unnamed client" : printable(sessionName), identity);
}

function aheadText(count: number): string {
  if (count === 0) return "no request ahead";
  return count === 1 ? "1 request ahead" : `${count} requests ahead`;
}

function expectationText({ expectedWaitMs }: ExplainedKey): string {
  return expectedWaitMs === null ? "" : `, expected wait about ${formatDuration(expectedWaitMs)}`;
}
