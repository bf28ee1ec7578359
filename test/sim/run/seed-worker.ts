/** A worker process that runs the plans it receives, one after the other. */
import { planOf } from "../plan/plan-of.js";
import { runPlan } from "./run-plan.js";
import type { SeedResult } from "./seed-result.js";
import type { WorkerAnswer, WorkerTask } from "./worker-protocol.js";

const STORY_LINES = 120;

function say(answer: WorkerAnswer): void {
  process.send?.(answer);
}

process.on("message", (task: WorkerTask) => {
  run(task).then(
    (result) => say({ kind: "result", result }),
    (error: unknown) => {
      throw error;
    },
  );
});

/** A run that failed is run once more for its story: the same plan gives the same run. */
async function run({ seed, plan, tellsStory, counts = false }: WorkerTask): Promise<SeedResult> {
  const wanted = plan ?? planOf(seed);
  const result = await runPlan(wanted, { counts });
  if (result.failure === undefined || !tellsStory) return result;
  return runPlan(wanted, { storyLines: STORY_LINES });
}

say({ kind: "ready" });
