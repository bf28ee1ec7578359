/** The result of one check of a run, for machines and for the report. Types only. */
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
   * What went wrong, the first few of each kind. If the result is valid nevertheless, as for a
   * store that compares no tokens, these were expected, and are shown as such.
   */
  readonly anomalies: readonly Anomaly[];
  /** All of them. */
  readonly anomalyCounts: AnomalyCounts;
  /** Further remarks, such as why something was not decided. */
  readonly remarks: readonly string[];
  /** The single checks of which it consists. */
  readonly parts?: readonly CheckPart[];
  /** Its counts, if there are no parts. */
  readonly figures?: Readonly<Record<string, number>>;
  /** The complete answer of the checker. */
  readonly details?: unknown;
}

export interface CheckPart {
  readonly name: string;
  readonly valid: Validity;
  /** How many things were compared; 0: it has shown nothing. */
  readonly compared: number;
  /** Whether the history was made for it; if not, comparing nothing is expected. */
  readonly isAsked: boolean;
  readonly violations: number;
  readonly figures: Readonly<Record<string, number>>;
}
