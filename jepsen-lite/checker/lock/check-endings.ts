/**
 * Holds that others end. If a client was told that its hold is revoked or stolen, somebody must
 * have asked for that; and one that ended by its own maximum duration must have had one, and have
 * lasted for it, less the margin with which a client gives it up.
 */
import { isJudged, problemOfEnding } from "../../../lab/laws/endings.js";
import { nameOf } from "../event-text.js";
import { type Finding, FindingBuilder, keysOf, linesOf, ofKeys } from "./finding.js";
import type { LockHistory } from "./lock-history.js";
import { endersIn, endsAskedFor, firstGrantOf, type Loss, lossesIn } from "./losses.js";

/**
 * A client gives a hold up a tenth of its length, at least 250 ms, before the table may end it. Its clock
 * may run faster than the history's by as much again. It counts from before it asked for what was
 * answered last, so the time that an answer took is lost as well.
 */
const EARLY_SHARE = 0.2;
const EARLY_MS_MIN = 400;
const MS_IN_NS = 1_000_000;

export function checkEndings(history: LockHistory): Finding {
  const builder = new FindingBuilder("endings");
  const enders = endersIn(history);
  for (const loss of lossesIn(history)) {
    if (!isJudged(loss.reason)) continue;
    builder.compared += 1;
    const { maxHoldMs, operation } = firstGrantOf(loss.grant).call;
    const fromNs = operation.invocation.timeNs;
    const toNs = loss.note.event.timeNs;
    const isTimed = fromNs !== undefined && toNs !== undefined;
    const problem = problemOfEnding(loss.reason, {
      isAskedFor: () => endsAskedFor(loss, enders).some(({ outcome }) => outcome !== "fail"),
      maxHoldMs,
      heldMs: isTimed ? Math.round((toNs - fromNs) / MS_IN_NS) : undefined,
      earlyMs: isTimed
        ? Math.max((maxHoldMs ?? 0) * EARLY_SHARE, EARLY_MS_MIN) +
          slowestAnswerMs(history, operation.process, fromNs, toNs)
        : 0,
    });
    if (problem !== undefined) report(loss, problem, builder);
  }
  return builder.finding();
}

/** The longest time that an answer to the client took in that span. */
function slowestAnswerMs(
  { calls }: LockHistory,
  process: string,
  fromNs: number,
  toNs: number,
): number {
  let slowestNs = 0;
  for (const { operation } of calls) {
    const askedNs = operation.invocation.timeNs;
    const answeredNs = operation.completion?.timeNs;
    if (operation.process !== process || askedNs === undefined || answeredNs === undefined)
      continue;
    if (askedNs >= fromNs && askedNs <= toNs) slowestNs = Math.max(slowestNs, answeredNs - askedNs);
  }
  return slowestNs / MS_IN_NS;
}

function report({ grant, note }: Loss, what: string, builder: FindingBuilder): void {
  const keys = keysOf(grant);
  builder.violation(
    "lease ended early",
    `${nameOf(note.event)} was told that token ${grant.token}${ofKeys(keys)} ${what}`,
    { keys, events: [...linesOf(firstGrantOf(grant).call, grant.call), note.event] },
  );
}
