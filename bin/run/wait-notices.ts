/**
 * Says during a wait what it waits for: on a terminal after a second, and everywhere after ten
 * seconds and after one, five and ten minutes, so that the log of a job says why it does nothing.
 * It only asks and writes: it must never end the wait, nor change how it ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { Client, KeyView } from "../../src/index.js";
import { askService } from "../cluster/cluster-outage.js";
import type { NodeAccess } from "../config/command-options.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import type { RequestPlan, RunPlan } from "./run-plan.js";
import { obstacleText } from "./wait-words.js";

const FIRST_MS = 1_000;
const LATER_MS = [10_000, 60_000, 300_000, 600_000];
/** How long the cluster has to say what is in the way. */
const ANSWER_MS_MAX = 1_000;

/** What a command waits for, and how it says so. */
export type WaitPlan = RequestPlan & Pick<RunPlan, "conflictExitCode" | "isQuiet">;

export interface WaitContext {
  readonly client: Client;
  readonly access: NodeAccess;
  readonly plan: WaitPlan;
}

/** What is in the way now, in words; "" if nothing is known to be. */
export async function obstacleOf({ client, access, plan }: WaitContext): Promise<string> {
  const views = await viewsOf(client, plan);
  const text = obstacleText(views, client.session, Date.now());
  if (views.some(({ holds, cooldowns }) => holds.length + cooldowns.length > 0)) return text;
  // Nobody holds it: then it may be the cluster that does not grant it.
  const { outage, refusal } = await askService(access);
  return outage ?? refusal ?? text;
}

/** Empty if the cluster does not answer in time. */
export async function viewsOf(
  client: Client,
  plan: { readonly items: readonly { readonly key: string }[] },
): Promise<readonly KeyView[]> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    return await Promise.all(plan.items.map(({ key }) => client.inspect(key, { signal })));
  } catch (error) {
    if (signal.aborted || error instanceof HoldfastError) return [];
    throw error;
  }
}

export async function tellWaits(context: WaitContext, over: AbortSignal): Promise<void> {
  let passedMs = 0;
  for (const atMs of [FIRST_MS, ...LATER_MS]) {
    try {
      await delay(atMs - passedMs, undefined, { signal: over, ref: false });
      passedMs = atMs;
      if (atMs === FIRST_MS && !process.stderr.isTTY) continue;
      await noteWait(context, over);
    } catch (error) {
      // A token that cannot be read or sent: the wait itself fails for that reason, and says so.
      const isExpected = error instanceof Failure || error instanceof HoldfastError;
      if (!over.aborted && !isExpected) throw error;
      if (over.aborted) return;
    }
  }
}

async function noteWait(context: WaitContext, over: AbortSignal): Promise<void> {
  const why = await obstacleOf(context);
  if (!over.aborted) note(`waiting for ${context.plan.name}${why === "" ? "" : `: ${why}`}`);
}
