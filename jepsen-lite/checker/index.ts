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
export { excerpt, readJsonLines } from "./input/json-lines.js";
export type { Linearization, UndecidedPart } from "./linearizable/check-parts.js";
export type { Counterexample, LastState, OperationView } from "./linearizable/counterexample.js";
export type { Action } from "./linearizable/problem.js";
export type { TokensRise } from "./lock/check-tokens.js";
export type { Finding } from "./lock/finding.js";
export { lockModel } from "./lock/lock-model.js";
export { badArgument, badResult, type Model, partsByKey } from "./models/model.js";
export { casRegisterModel, type FailedCas, registerModel } from "./models/register.js";
export type { Operation, PairedHistory } from "./operations.js";
export { type Budget, DEFAULT_BUDGET, type Verdict } from "./verdict.js";
export { verdictText } from "./verdict-text.js";
export type { Violation, ViolationStep } from "./violation.js";
