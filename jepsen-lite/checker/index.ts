/** The public interface of the checker. */
export { ANOMALIES, type AnomalyCounts, type AnomalyKind } from "./anomalies.js";
export {
  type CheckOptions,
  type CheckResult,
  checkHistory,
  type HistoryCounts,
} from "./check-history.js";
export {
  BadHistoryError,
  type EventType,
  type HistoryEvent,
  toEvent,
} from "./input/history-event.js";
export { withIndependentKeys } from "./input/independent-keys.js";
export {
  type HistoryNotation,
  type ReadHistory,
  readHistory,
  readHistoryFile,
} from "./input/read-history.js";
export type { Linearization, UndecidedPart } from "./linearizable/check-parts.js";
export type { Counterexample, LastState, OperationView } from "./linearizable/counterexample.js";
export type { TokensRise } from "./lock/check-tokens.js";
export type { Finding } from "./lock/finding.js";
export type { FailedCas } from "./models/model.js";
export { MODEL_NAMES } from "./models/models.js";
export { type Budget, DEFAULT_BUDGET, type Verdict } from "./verdict.js";
export { verdictText } from "./verdict-text.js";
export type { Violation, ViolationStep } from "./violation.js";
