/**
 * What is said about a wait for a lock: who holds it and since when, who waits ahead, and for how long
 * a key stays closed. Names come from others, so each is made safe to show. Pure.
 */
import type { Blocker, KeyView } from "../../src/index.js";
import { keyText } from "../../src/text/index.js";
import { isAnonymous, phraseText, whoPhrase } from "../../src/views/index.js";
import { formatDuration } from "../text/durations.js";
import { formatTimeOfDay } from "../text/wall-time.js";

const NAMES_MAX = 3;

/** What the refusal of a request that did not want to wait says of those in its way. */
export interface Refused {
  readonly blockedBy?: string;
  readonly blockers?: readonly Blocker[];
  readonly isSameOwner?: boolean;
}

/** `views`: of the keys, read after the refusal; empty if nothing was heard. */
export function refusedText(name: string, refused: Refused, views: readonly KeyView[]): string {
  const { blockedBy, blockers = [], isSameOwner } = refused;
  if (isSameOwner === true) {
    return `${name}: this owner has a lease there, or waits for one, by another request`;
  }
  const keys = new Set(blockers.map(({ key }) => key));
  const key = keys.size === 0 ? name : [...keys].map(keyText).join(", ");
  if (blockedBy === "cooldown") return `${key} is ${closedText(views)}`;
  const isBearer = ({ holder }: Blocker): boolean => holder === "bearer";
  const isWaiter = ({ holder }: Blocker): boolean => holder === null;
  const handedOver = namesOf(blockers.filter(isBearer));
  const holders = namesOf(blockers.filter((one) => !isBearer(one) && !isWaiter(one)));
  const waiters = namesOf(blockers.filter(isWaiter));
  const waits = waiters === "" ? "another" : waiters;
  if (blockedBy === "waiters") return `${key} is waited for by ${waits}`;
  const byHolders = holders === "" && handedOver === "" ? "another" : holders;
  const parts = [byHolders === "" ? "" : `held by ${byHolders}`, handedOver];
  const held = `${key} is ${parts.filter((part) => part !== "").join(", ")}`;
  return waiters === ""
    ? held
    : `${held}; ${waiters} ${waiters.includes(", ") ? "wait" : "waits"} for it`;
}

/** What a request waits for that is, or was, in the queues of these keys; "" if nothing is in its way. */
export function obstacleText(views: readonly KeyView[], session: number, nowMs: number): string {
  const places = views.flatMap((view) => placeText(view, session, views.length > 1));
  const holds = views.flatMap((view) => view.holds);
  const textsOf = (isBearer: boolean): readonly string[] =>
    holds
      .filter(({ holder }) => (holder === "bearer") === isBearer)
      .map((hold) => holdText(hold, nowMs));
  const [holders, handedOver] = [textsOf(false), textsOf(true)];
  const closed = views.some((view) => view.holds.length === 0 && view.cooldowns.length > 0);
  const parts = [
    places.join(", "),
    holders.length > 0 ? `held by ${fewOf(holders)}` : "",
    // "handed over by A": nobody has it until it is adopted.
    fewOf(handedOver),
    closed ? closedText(views) : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** `-n` and the like need no more than who it is; a wait also how long that lasts. */
function holdText(hold: KeyView["holds"][number], nowMs: number): string {
  const { heldMs } = hold;
  const since = formatTimeOfDay(nowMs - heldMs).replace(/\.\d+$/, "");
  return `${phraseText(whoPhrase(hold))} since ${since} (${formatDuration(heldMs)})`;
}

function placeText(view: KeyView, session: number, hasSeveral: boolean): string[] {
  const at = view.waiters.findIndex((waiter) => waiter.session === session);
  if (at < 0) return [];
  const count = view.truncated?.waiters ?? view.waiters.length;
  return [`place ${at + 1} of ${count}${hasSeveral ? ` for ${keyText(view.key)}` : ""}`];
}

function closedText(views: readonly KeyView[]): string {
  const cooldowns = views.flatMap((view) => view.cooldowns);
  const leftMs = Math.max(0, ...cooldowns.map(({ endsInMs }) => endsInMs));
  const more = leftMs === 0 ? "" : ` for ${formatDuration(leftMs)} more`;
  const isOld = cooldowns.length > 0 && cooldowns.every(({ identity }) => identity === "");
  const why = isOld
    ? "its holder before the cluster was restored may still rely on it"
    : "--min-hold or --lock-delay of its last holder";
  return `cooling down${more} (${why})`;
}

/** Leaves out cooldowns, and sessions of `anonymous` without a name. */
function namesOf(blockers: readonly Blocker[]): string {
  const named = blockers.filter((blocker) => {
    const { sessionName, identity, holder } = blocker;
    if (holder === "owner" || holder === "bearer") return true;
    return sessionName !== "" || (identity !== "" && !isAnonymous(blocker));
  });
  const names = named.map((blocker) => phraseText(whoPhrase(blocker)));
  return [...new Set(names)].join(", ");
}

function fewOf(names: readonly string[]): string {
  const all = [...new Set(names)];
  const rest = all.length - NAMES_MAX;
  return all.slice(0, NAMES_MAX).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
