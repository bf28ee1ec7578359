/**
 * The answer to `explain` in plain English: why a request waits, or what a new request would have to
 * wait for. Says only what the answer says; an estimate is called one. Pure.
 */
import type { Blocker, ExplainedKey, ExplainView } from "../../../src/index.js";
import { durationText } from "../../parts/duration-text.js";
import { countText, listPhrase, type Phrase, whoPhrase } from "../../parts/phrase.js";

/** Blockers that a sentence names; the others are counted. */
const NAMED_MAX = 3;

/** A sentence for each key of the request. */
export function explainPhrases({ request, keys }: ExplainView): readonly Phrase[] {
  const isOfRequest = request !== null;
  return keys.map((each) => keyPhrase(each, isOfRequest, keys.length > 1));
}

function keyPhrase(explained: ExplainedKey, isOfRequest: boolean, isOneOfMany: boolean): Phrase {
  const where: Phrase = isOneOfMany ? [" for ", { key: explained.key }] : [];
  if (explained.isEligible) {
    return isOfRequest
      ? ["Nothing is in its way", ...where, ": it waits for its other keys."]
      : ["A new request", ...where, " would be granted at once."];
  }
  const verb = isOfRequest ? "Waits" : "A new request would wait";
  const reasons = reasonPhrases(explained);
  const because: Phrase = reasons.length === 0 ? [] : [" because ", ...listPhrase(reasons)];
  return [verb, ...where, ...because, ".", ...expectationPhrase(explained)];
}

function reasonPhrases({ blockers, closings, aheadCount }: ExplainedKey): readonly Phrase[] {
  const reasons: Phrase[] = [];
  const holders = blockers.filter(({ token }) => token !== 0);
  const waiters = blockers.filter(({ token }) => token === 0);
  if (holders.length > 0) {
    const [first] = holders;
    const mode = first !== undefined && holders.length === 1 ? ` (${first.mode})` : "";
    const verb = holders.length === 1 ? " holds it" : " hold it";
    reasons.push([...namesPhrase(holders), verb, mode]);
  }
  if (aheadCount > 0) {
    const names: Phrase =
      waiters.length > 0 && aheadCount <= NAMED_MAX ? [" (", ...namesPhrase(waiters), ")"] : [];
    const verb = aheadCount === 1 ? " is ahead" : " are ahead";
    reasons.push([`${countText(aheadCount, "request")}${verb}`, ...names]);
  }
  for (const { endsInMs, token } of closings) {
    reasons.push([`it stays closed for ${durationText(endsInMs)} more after token ${token}`]);
  }
  return reasons;
}

function namesPhrase(blockers: readonly Blocker[]): Phrase {
  const named = blockers.slice(0, NAMED_MAX).map(whoPhrase);
  const rest = blockers.length - named.length;
  return listPhrase(rest > 0 ? [...named, [countText(rest, "other")]] : named);
}

function expectationPhrase({ expectedWaitMs, blockers }: ExplainedKey): Phrase {
  if (expectedWaitMs === null) return [];
  if (expectedWaitMs === 0) {
    return blockers.some(({ token }) => token !== 0) ? [" It is held longer than usual."] : [];
  }
  return [` Usually this takes about ${durationText(expectedWaitMs)}.`];
}
