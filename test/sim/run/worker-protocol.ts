/** The messages between the pool and its workers. Types only. */
import type { Mutant } from "../mutants/mutant.js";
import type { SimPlan } from "../plan/plan.js";
import type { SeedResult } from "./seed-result.js";

export interface WorkerTask {
  readonly seed: number;
  /** Instead of the plan of the seed. */
  readonly plan?: SimPlan;
  readonly tellsStory: boolean;
  /** Counts what states and events it comes to. */
  readonly counts?: boolean;
  /** The bug to run it with, for workers that seed one. */
  readonly mutant?: Mutant;
}

export type WorkerAnswer =
  /** Its sources are loaded; told once. */
  | { readonly kind: "ready" }
  | { readonly kind: "result"; readonly result: SeedResult }
  /** The sources with the bug of this task cannot be loaded. */
  | { readonly kind: "unloadable"; readonly message: string };
