/**
 * The report of a failure for a person: the rule, the command that repeats it, a small plan, the
 * last events.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import type { SimPlan } from "../plan/plan.js";
import { minimise } from "./minimise.js";
import type { SeedResult } from "./seed-result.js";
import type { WorkerPool } from "./worker-pool.js";

const DIRECTORY = "node_modules/.cache/holdfast-sim";
const TRIES_MAX = 300;
const STORY_LINES_SHOWN = 40;

export interface FailureReport {
  readonly seed: number;
  readonly rule: string;
  readonly message: string;
  /** Repeats it exactly. */
  readonly command: string;
  /** The smallest plan that was found to break the same rule. */
  readonly planFile: string;
  readonly lines: readonly string[];
}

export async function reportFailure(
  pool: WorkerPool,
  result: SeedResult,
  plan: SimPlan,
  minimises: boolean,
): Promise<FailureReport> {
  const { seed } = result;
  const rule = result.failure?.rule ?? "";
  const stillFails = async (candidate: SimPlan): Promise<boolean> => {
    const { failure } = await pool.run({ seed, plan: candidate, tellsStory: false });
    return failure?.rule === rule;
  };
  const least = minimises ? await minimise(plan, stillFails, TRIES_MAX) : plan;
  mkdirSync(DIRECTORY, { recursive: true });
  const planFile = `${DIRECTORY}/seed-${seed}.json`;
  writeFileSync(planFile, `${JSON.stringify(least, undefined, 2)}\n`);
  const told = await pool.run({ seed, plan: least, tellsStory: true });
  const failure = told.failure ?? result.failure;
  const message = failure?.message ?? "";
  const command = `npm run sim -- --seed ${seed} --seeds 1`;
  const size = `${least.faults.length} faults, ${least.clients.length} clients`;
  const lines = [
    "",
    `seed ${seed} breaks "${rule}"`,
    `  repeat it:  ${command}`,
    `  smaller:    npm run sim -- --plan ${planFile}   (${size})`,
    ...(failure?.story ?? []).slice(-STORY_LINES_SHOWN).map((line) => `  | ${line}`),
    `  ${message.split("\n").slice(0, 6).join("\n  ")}`,
  ];
  return { seed, rule, message, command, planFile, lines };
}
