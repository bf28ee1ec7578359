/** A process of its own that runs plans one after the other, as it is told. */
import { planOf } from "../plan/plan-of.js";
import { runPlan } from "./run-plan.js";
import type { WorkerAnswer, WorkerTask } from "./worker-protocol.js";

const STORY_LINES = 120;

process.on("message", (task: WorkerTask) => {
  answer(task).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      throw error;
    },
  );
});

/** A run that failed is run once more for its story: the same plan gives the same run. */
async function answer({ seed, plan, tellsStory }: WorkerTask): Promise<WorkerAnswer> {
  const wanted = plan ?? planOf(seed);
  const result = await runPlan(wanted);
  if (result.failure === undefined || !tellsStory) return { result };
  return { result: await runPlan(wanted, { storyLines: STORY_LINES }) };
}
