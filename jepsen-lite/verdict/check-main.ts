/**
 * The process that compares one history with its model. The plan is its only argument, as JSON; the answer
 * goes to stdout as JSON, and why there is none to stderr, in one line.
 */
import { readFileSync } from "node:fs";
import {
  casRegisterModel,
  checkHistory,
  DEFAULT_BUDGET,
  lockModel,
  type Model,
  readJsonLines,
  registerModel,
  type TokensRise,
} from "../checker/index.js";
import type { HistoryModel } from "../workloads/workload.js";

export interface CheckPlan {
  readonly model: HistoryModel;
  readonly file: string;
  readonly tokensRise: TokensRise;
  /** For the search. */
  readonly timeMs: number;
}

const MODELS: Readonly<Record<HistoryModel, Model>> = {
  lock: lockModel,
  register: registerModel(),
  "cas-register": casRegisterModel(),
};

function answer({ model, file, tokensRise, timeMs }: CheckPlan): string {
  // It may be the word of somebody's own workload.
  if (!Object.hasOwn(MODELS, model)) throw new RangeError(`there is no model ${model}`);
  const events = readJsonLines(readFileSync(file));
  const budget = { ...DEFAULT_BUDGET, timeMs };
  return JSON.stringify(checkHistory(events, { model: MODELS[model], tokensRise, budget }));
}

try {
  process.stdout.write(`${answer(JSON.parse(process.argv[2] ?? "") as CheckPlan)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
