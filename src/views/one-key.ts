/** One key: who holds it, who waits for it in order, and what keeps it closed. Pure. */
import type { CooldownView, HoldView, WaiterView } from "../protocol/index.js";
import type { Columns } from "./column.js";
import { formatDuration } from "./durations.js";
import { countText, NOTHING, type Phrase, remarksPhrase, type Shown } from "./phrase.js";
import { whoPhrase } from "./who.js";

export const HOLD_COLUMNS = {
  who: { id: "who", title: "Held by", cell: (hold) => whoPhrase(hold) },
  mode: { id: "mode", title: "Mode", cell: modeText },
  session: {
    id: "session",
    title: "Session",
    isNumeric: true,
    cell: (hold) => (isOfSession(hold) ? String(hold.session) : NOTHING),
  },
  for: { id: "for", title: "For", isNumeric: true, cell: ({ heldMs }) => formatDuration(heldMs) },
  lease: { id: "lease", title: "Lease left", isNumeric: true, cell: leaseText },
  token: { id: "token", title: "Token", isNumeric: true, cell: ({ token }) => String(token) },
  remarks: { id: "remarks", title: "Remarks", cell: (hold) => remarksPhrase(holdRemarks(hold)) },
} satisfies Columns<HoldView>;

export const WAITER_COLUMNS = {
  place: { id: "place", title: "#", isNumeric: true, cell: (_, index) => String(index + 1) },
  who: { id: "who", title: "Waiting", cell: (waiter) => whoPhrase(waiter) },
  mode: { id: "mode", title: "Mode", cell: modeText },
  request: { id: "request", title: "Request", isNumeric: true, cell: requestText },
  for: {
    id: "for",
    title: "For",
    isNumeric: true,
    cell: ({ waitingMs }) => formatDuration(waitingMs),
  },
  remarks: { id: "remarks", title: "Remarks", cell: waiterRemarks },
} satisfies Columns<WaiterView>;

export function isOfSession({ holder }: Pick<HoldView, "holder">): boolean {
  return holder === "session";
}

/** `exclusive`, `shared`, or how many permits. */
export function modeText({ mode, permits }: Pick<HoldView, "mode" | "permits">): string {
  return mode === "permits" ? countText(permits, "permit") : mode;
}

/** How long the hold lasts if nobody renews it. Only a lease can be without end. */
export function leaseText({ leaseMs, ttlMs }: Pick<HoldView, "leaseMs" | "ttlMs">): string {
  return ttlMs === 0 ? "no end" : formatDuration(leaseMs);
}

/** The argument of `explain --request`. */
function requestText({ session, sequence }: Pick<WaiterView, "session" | "sequence">): string {
  return `${session}/${sequence}`;
}

export function limitText(limit: number): string {
  return `a semaphore of ${countText(limit, "permit")}`;
}

export function cooldownText(cooldown: CooldownView): string {
  const { token, endsInMs } = cooldown;
  return `cooling down for ${formatDuration(endsInMs)} more after token ${token} (${modeText(cooldown)})`;
}

/** Where the lists of a key were cut short. */
export function totalText({ holds, waiters }: { holds: number; waiters: number }): string {
  return `in total: ${countText(holds, "hold")}, ${countText(waiters, "waiting request")}`;
}

function holdRemarks(hold: HoldView): readonly Phrase[] {
  const { slots, endsInMs, isRevoked, value, leaseOwner, leaseMs } = hold;
  const remarks: Phrase[] = [];
  if (slots.length > 0) {
    remarks.push([`${slots.length === 1 ? "slot" : "slots"} ${slots.join(" ")}`]);
  }
  if (isRevoked) remarks.push(["being revoked"]);
  // The end of a lease itself is shown as what is left of it.
  const isOwnEnd = leaseOwner !== "" && endsInMs === leaseMs;
  if (endsInMs !== null && !isOwnEnd) remarks.push([`ends in ${formatDuration(endsInMs)}`]);
  if (value !== "") remarks.push(['value "', { other: value }, '"']);
  return remarks;
}

function waiterRemarks({ isUpgrade, isEligible, priority, endsInMs }: WaiterView): Shown {
  const remarks: string[] = [];
  if (isUpgrade) remarks.push("an upgrade");
  if (isEligible) remarks.push("waits for its other keys");
  if (priority > 0) remarks.push(`priority ${priority}`);
  if (endsInMs !== null) remarks.push(`gives up in ${formatDuration(endsInMs)}`);
  return remarks.join(", ");
}
