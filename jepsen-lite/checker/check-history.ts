/**
 * The only entry point of the checker: takes a history and a model, and returns a verdict with its
 * reasons. It is pure except for the clock that a time limit needs.
 */
import { checkAccess } from "./access/check-access.js";
import { Rights } from "./access/rights.js";
import type { AnomalyKind } from "./anomalies.js";
import { denialsFinding, deniedIn, disprovedIn, withUnknown } from "./denials.js";
import type { HistoryEvent } from "./input/history-event.js";
import { checkParts, type Linearization, type PartsVerdict } from "./linearizable/check-parts.js";
import type { Counterexample } from "./linearizable/counterexample.js";
import { checkEndings } from "./lock/check-endings.js";
import { checkExactlyOnce } from "./lock/check-exactly-once.js";
import { checkExclusion } from "./lock/check-exclusion.js";
import { checkHeirs } from "./lock/check-heirs.js";
import { checkLeases } from "./lock/check-leases.js";
import { checkOrder } from "./lock/check-order.js";
import { checkTokens, type TokensRise } from "./lock/check-tokens.js";
import { checkWakeUps } from "./lock/check-wake-ups.js";
import { checkWatches } from "./lock/check-watches.js";
import type { Finding } from "./lock/finding.js";
import { readLockHistory } from "./lock/lock-history.js";
import { lockModel, lockParts } from "./lock/lock-model.js";
import type { Model } from "./models/model.js";
import { type PairedHistory, pairOperations } from "./operations.js";
import { type Budget, DEFAULT_BUDGET, type Verdict, worstOf } from "./verdict.js";

export interface CheckOptions {
  /** For `lockModel` the checks of locks are made too. */
  readonly model: Model;
  /** For the lock model: "over-all-keys" by default, which is what Holdfast promises. */
  readonly tokensRise?: TokensRise;
  /** Missing values come from `DEFAULT_BUDGET`. */
  readonly budget?: Partial<Budget>;
  /** Also return the order of operations that explains each part. */
  readonly withLinearizations?: boolean;
  readonly onProgress?: (decided: number, parts: number) => void;
}

export interface HistoryCounts {
  readonly events: number;
  readonly operations: number;
  readonly ok: number;
  readonly fail: number;
  /** Operations of unknown outcome, including those still open at the end. */
  readonly info: number;
  /** Independent parts: keys, or keys that were acquired together. */
  readonly parts: number;
}

export interface CheckResult {
  readonly valid: Verdict;
  readonly model: string;
  readonly counts: HistoryCounts;
  /** The search for a linearization, and, for the lock model, every other check. */
  readonly checks: readonly Finding[];
  /** The earliest violation of linearizability. */
  readonly counterexample?: Counterexample;
  /** Other keys without a linearization, as far as they were searched. */
  readonly furtherCounterexamples?: readonly Counterexample[];
  /** Why a part is undecided, one text for each, at most 20. */
  readonly undecided?: readonly string[];
  readonly linearizations?: readonly Linearization[];
  /** How many candidates the search examined. */
  readonly steps: number;
}

const LISTED_MAX = 20;

/** @throws BadHistoryError if the lines are not a history of the model, with the line's number. */
export function checkHistory(events: readonly HistoryEvent[], options: CheckOptions): CheckResult {
  const { model } = options;
  const history = pairOperations(events, model.functions);
  const disproofs = model === lockModel ? disprovedIn(history) : [];
  const disproved = new Set(disproofs.map(({ operation }) => operation));
  const believed = judge(withUnknown(history, disproved), options);
  const denied = deniedIn(history);
  const unknown = new Set([...disproved, ...denied]);
  const doubted =
    denied.length > 0 && validityOf(believed) === false
      ? judge(withUnknown(history, unknown), options)
      : believed;
  // What it leaves unexplained, or undecided, is not the fault of a denial.
  const isExplained = validityOf(doubted) === true;
  const { searched, findings } = isExplained ? doubted : believed;
  const vanished = isExplained ? believed.findings.flatMap(({ violations }) => violations) : [];
  const checks = [...findings];
  if (model === lockModel || denied.length > 0) {
    checks.push(denialsFinding(history, disproofs, vanished));
  }
  return resultOf(model.name, countsOf(history, searched.parts), searched, checks, options);
}

interface Judgement {
  readonly searched: PartsVerdict;
  /** The search first. */
  readonly findings: readonly Finding[];
}

function judge(history: PairedHistory, options: CheckOptions): Judgement {
  const findings: Finding[] = [];
  const parts = (() => {
    const { model, tokensRise = "over-all-keys" } = options;
    if (model !== lockModel) return model.parts(history);
    const rights = Rights.in(history);
    const locks = readLockHistory(withoutForbidden(history, rights));
    findings.push(
      checkTokens(locks, tokensRise),
      checkExclusion(locks),
      checkOrder(locks),
      checkLeases(locks),
      checkExactlyOnce(locks),
      checkWakeUps(locks),
      checkWatches(locks),
      checkEndings(locks),
      checkHeirs(locks),
      checkAccess(history, rights),
    );
    return lockParts(locks, tokensRise);
  })();
  const { onProgress } = options;
  const searched = checkParts(parts, {
    budget: { ...DEFAULT_BUDGET, ...options.budget },
    withLinearizations: options.withLinearizations ?? false,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  return { searched, findings: [linearizableFinding(searched), ...findings] };
}

function validityOf({ findings }: Judgement): Verdict {
  return worstOf(findings.map(({ valid }) => valid));
}

/**
 * What the grants forbade all the time had no effect, as far as the checks of locks are concerned:
 * if it had one, they find an answer that nothing explains.
 */
function withoutForbidden(history: PairedHistory, rights: Rights): PairedHistory {
  const operations = history.operations.filter((operation) => {
    return operation.outcome !== "info" || rights.mayAllow(operation) !== false;
  });
  return { ...history, operations };
}

function resultOf(
  model: string,
  counts: HistoryCounts,
  searched: PartsVerdict,
  checks: readonly Finding[],
  options: CheckOptions,
): CheckResult {
  const [counterexample, ...further] = searched.counterexamples;
  const undecided = searched.undecided
    .slice(0, LISTED_MAX)
    .map(({ keys, reason }) => `${keys.length === 0 ? "the history" : keys.join(", ")}: ${reason}`);
  return {
    valid: worstOf(checks.map((check) => check.valid)),
    model,
    counts,
    checks,
    ...(counterexample === undefined ? {} : { counterexample }),
    ...(further.length === 0 ? {} : { furtherCounterexamples: further.slice(0, LISTED_MAX) }),
    ...(undecided.length === 0 ? {} : { undecided }),
    ...(options.withLinearizations ? { linearizations: searched.linearizations } : {}),
    steps: searched.steps,
  };
}

function linearizableFinding(searched: PartsVerdict): Finding {
  const found = searched.counterexamples.map(({ violation }) => violation);
  const anomalies: Partial<Record<AnomalyKind, number>> = {};
  for (const { kind } of found) anomalies[kind] = (anomalies[kind] ?? 0) + 1;
  return {
    check: "linearizable",
    valid: searched.valid,
    compared: searched.parts,
    violations: found.slice(0, LISTED_MAX),
    more: Math.max(0, found.length - LISTED_MAX),
    anomalies,
  };
}

function countsOf(history: PairedHistory, parts: number): HistoryCounts {
  const counts = { ok: 0, fail: 0, info: 0 };
  for (const { outcome } of history.operations) counts[outcome] += 1;
  const { length: events } = history.events;
  return { events, operations: history.operations.length, ...counts, parts };
}
