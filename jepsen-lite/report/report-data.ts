/** Everything that a report shows: plain data, already in milliseconds since the run began. */

import type { DrawnHold } from "../attack/hold-chart.js";
import type { SliceView } from "../attack/latency-series.js";
import type {
  DrawnFault,
  DrawnOperation,
  LaneChange,
  OperationCounts,
} from "../attack/observer.js";
import type { AnomalyCounts } from "../checker/index.js";
import type { ComparedSystem } from "../run/compared-system.js";
import type { CheckResult, Validity } from "../verdict/check-result.js";

export interface Figures {
  readonly operations: number;
  readonly ok: number;
  readonly fail: number;
  readonly info: number;
  readonly faults: number;
  readonly elections: number;
  readonly termMax: number;
  readonly sessionsLost: number;
  readonly holdsLost: number;
  readonly clientKills: number;
  readonly longestGapMs: number;
}

/** For one workload: its operations by name. */
export interface WorkloadCounts {
  readonly workload: string;
  readonly operations: Readonly<Record<string, OperationCounts>>;
}

/** How long each fault was active while each workload ran, in seconds. */
export interface Coverage {
  readonly nemesis: string;
  readonly times: number;
  readonly seconds: number;
  /** For a nemesis that damages files: how often each kind of file was hit; otherwise empty. */
  readonly files: Readonly<Record<string, number>>;
}

export interface ReportData {
  readonly system: string;
  /** Holdfast first; empty if no peers ran. */
  readonly comparison: readonly ComparedSystem[];
  readonly valid: Validity;
  readonly wasInterrupted: boolean;
  /** The command that repeats the run. */
  readonly command: string;
  readonly startedAt: string;
  readonly endMs: number;
  readonly loadStartMs: number;
  readonly loadEndMs: number;
  readonly figures: Figures;
  readonly configuration: readonly (readonly [string, string])[];
  readonly checks: readonly CheckResult[];
  readonly anomalies: AnomalyCounts;
  readonly counts: readonly WorkloadCounts[];
  readonly coverage: readonly Coverage[];
  readonly errors: readonly (readonly [string, number])[];
  readonly sliceMs: number;
  readonly slices: readonly SliceView[];
  readonly lanes: readonly LaneChange[];
  readonly nodes: readonly number[];
  readonly faults: readonly DrawnFault[];
  readonly keys: readonly string[];
  readonly holds: readonly DrawnHold[];
  readonly holdsOffered: number;
  readonly operations: readonly DrawnOperation[];
  readonly operationsOffered: number;
  /** The points of the latency plot. */
  readonly dots: readonly DrawnOperation[];
}
