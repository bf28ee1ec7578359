/**
 * The answer to `explain` in plain English: why a request waits, or what a new request would have to
 * wait for. Says only what the answer says; an estimate is called one. Pure.
 */
import type { Blocker, CycleMember, ExplainedKey, WaiterView } from "../protocol/index.js";
import { formatDuration } from "./durations.js";
import { cooldownText } from "./one-key.js";
import { countText, listPhrase, type Phrase } from "./phrase.js";
import { possiblePhrases } from "./wait-graph.js";
import { whoPhrase } from "./who.js";

/** Blockers that a sentence names; the others are counted. */
const NAMED_MAX = 3;

export interface Explained {
  /** `null`: a new one. */
  readonly request: WaiterView | null;
  readonly keys: readonly ExplainedKey[];
  /** The cycle of waits that the request may close; empty: none. */
  readonly possibleDeadlock: readonly CycleMember[];
}

/** "worker-3 has waited for 5s and gives up in 10s." */
export function waitPhrase(request: WaiterView): Phrase {
  const { waitingMs, endsInMs } = request;
  const ends = endsInMs === null ? "" : ` and gives up in ${formatDuration(endsInMs)}`;
  return [...whoPhrase(request), ` has waited for ${formatDuration(waitingMs)}${ends}.`];
}

/** What is between the request and its grant, for each of its keys. */
export function explainPhrases(explained: Explained): readonly Phrase[] {
  const { possibleDeadlock } = explained;
  const clauses = possiblePhrases(possibleDeadlock);
  const possible: readonly Phrase[] =
    clauses.length === 0
      ? []
      : [
          [
            "This may be a deadlock",
            ...clauses.flatMap((clause, at) => [at === 0 ? ": " : "; ", ...clause]),
            ".",
          ],
        ];
  return [...keyPhrases(explained), ...possible];
}

function keyPhrases({ request, keys }: Explained): readonly Phrase[] {
  return keys.map((explained): Phrase => {
    const { key, mode, isEligible } = explained;
    const where: Phrase = keys.length > 1 ? [" for ", { key }, ` (${mode})`] : [];
    if (isEligible) {
      return request === null
        ? ["A new request", ...where, " would be granted at once."]
        : ["Nothing is in its way", ...where, ": it waits for its other keys."];
    }
    const verb = request === null ? "A new request would wait" : "Waits";
    const reasons = reasonPhrases(explained);
    const because: Phrase = reasons.length === 0 ? [] : [" because ", ...listPhrase(reasons)];
    return [verb, ...where, ...because, ".", ...expectationPhrase(explained)];
  });
}

function reasonPhrases({ blockers, cooldowns, aheadCount }: ExplainedKey): readonly Phrase[] {
  const reasons: Phrase[] = [];
  const holders = blockers.filter(({ holder }) => holder === "session" || holder === "owner");
  const handedOver = blockers.filter(({ holder }) => holder === "bearer");
  // What is neither a hold nor of a session is a cooldown.
  const waiters = blockers.filter(({ holder, session }) => holder === null && session !== 0);
  if (holders.length > 0) {
    const verb = holders.length === 1 ? " holds it" : " hold it";
    reasons.push([...namesPhrase(holders), verb]);
  }
  if (handedOver.length > 0) reasons.push(["it was ", ...namesPhrase(handedOver)]);
  if (aheadCount > 0) {
    const names: Phrase =
      waiters.length > 0 && aheadCount <= NAMED_MAX ? [": ", ...namesPhrase(waiters)] : [];
    const verb = aheadCount === 1 ? " is ahead" : " are ahead";
    reasons.push([`${countText(aheadCount, "request")}${verb}`, ...names]);
  }
  for (const cooldown of cooldowns) reasons.push([`it is ${cooldownText(cooldown)}`]);
  return reasons;
}

/** "worker-3 (exclusive, token 7)", "worker-5 (shared)", "handed over by w-1 (shared, token 8)". */
function namesPhrase(blockers: readonly Blocker[]): Phrase {
  const named = blockers.slice(0, NAMED_MAX).map((blocker): Phrase => {
    const { mode, token } = blocker;
    return [...whoPhrase(blocker), token === 0 ? ` (${mode})` : ` (${mode}, token ${token})`];
  });
  const rest = blockers.length - named.length;
  return listPhrase(rest > 0 ? [...named, [countText(rest, "other")]] : named);
}

function expectationPhrase({ expectedWaitMs, blockers }: ExplainedKey): Phrase {
  if (expectedWaitMs === null) return [];
  if (expectedWaitMs === 0) {
    return blockers.some(({ token }) => token !== 0) ? [" It is held longer than usual."] : [];
  }
  return [` Usually this takes about ${formatDuration(expectedWaitMs)}.`];
}
