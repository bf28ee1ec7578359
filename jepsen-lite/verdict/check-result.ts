/** What one check says of a run, for machines and for the report. Types only. */
import type { AnomalyCounts } from "../checker/index.js";
import type { Anomaly } from "./anomaly.js";

export type Validity = true | false | "unknown";

/** One question and its answer. */
export interface CheckResult {
  /** The history, or `cluster`. */
  readonly subject: string;
  readonly name: string;
  readonly valid: Validity;
  /** One line for people. */
  readonly summary: string;
  /**
   * What went wrong, the first few of each kind. Where the result is valid all the same, as of a
   * store that compares no tokens, they are what was to be expected, and shown as that.
   */
  readonly anomalies: readonly Anomaly[];
  /** All of them. */
  readonly anomalyCounts: AnomalyCounts;
  /** What else is to be known, such as why something was not decided. */
  readonly remarks: readonly string[];
  /** The single checks of which it consists. */
  readonly parts?: readonly CheckPart[];
  /** What was counted, where there are no parts. */
  readonly figures?: Readonly<Record<string, number>>;
  /** What the checker said, whole. */
  readonly details?: unknown;
}

export interface CheckPart {
  readonly name: string;
  readonly valid: Validity;
  /** How many things were compared; 0: nothing was shown by it. */
  readonly compared: number;
  /** Whether the history was made to give it something; if not, comparing nothing is expected. */
  readonly isAsked: boolean;
  readonly violations: number;
  readonly figures: Readonly<Record<string, number>>;
}
