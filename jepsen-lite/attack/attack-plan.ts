/** The input of an attack, its progress events, and the result that is judged. */
import type { HistoryFiles } from "../history/history-files.js";
import type { Nemesis } from "../nemeses/nemesis.js";
import type { PlannedFault } from "../nemeses/schedule.js";
import type { RunOptions } from "../run/run-options.js";
import type { SystemKind } from "../systems/system.js";
import type { Workload } from "../workloads/workload.js";
import type { Observer } from "./observer.js";

export type Phase =
  | "starting"
  | "attacking"
  | "healing"
  | "settling"
  | "reading"
  | "stopping"
  | "done";

export interface Progress {
  readonly seconds: number;
  readonly operations: number;
  /** Names of the active faults. */
  readonly faults: readonly string[];
}

export interface AttackPlan {
  readonly system: SystemKind;
  readonly options: RunOptions;
  readonly workloads: readonly Workload[];
  readonly nemeses: readonly Nemesis[];
  /** An existing, empty directory. */
  readonly directory: string;
  /** Aborted when the run must end early: within seconds, with the results so far. */
  readonly signal: AbortSignal;
  /** Aborted when it must end at once: `run` rejects and leaves no process. */
  readonly abandoned: AbortSignal;
  readonly onPhase: (phase: Phase, note: string) => void;
}

export interface AttackResult {
  readonly observer: Observer;
  readonly plan: readonly PlannedFault[];
  readonly histories: HistoryFiles;
  readonly wallStartMs: number;
  readonly loadStartMs: number;
  readonly loadEndMs: number;
  readonly endMs: number;
  /**
   * Whether there was a leader again in time after everything was healed; unknown: not waited for.
   */
  readonly hasRecovered: boolean | "unknown";
  /** What the cluster never did although a fault asked for it, in one sentence each. */
  readonly stuck: readonly string[];
  /** How long the machine stood still at most, as the harness itself noticed. */
  readonly longestStallMs: number;
  readonly clientKills: number;
  readonly deaths: readonly NodeDeath[];
  readonly wasInterrupted: boolean;
}

/** A node that ended although it was not stopped, with the end of its output. */
export interface NodeDeath {
  readonly node: number;
  readonly timeMs: number;
  readonly words: string;
}
