/**
 * One plan from its first event to its verdict: safety while faults come and go; then a majority is
 * healed and must make progress in spite of what is left broken; then everything is healed and must
 * come to agree, serve every waiter, and still be on the disks when the power fails once more. In
 * some plans the cluster is lost when the first storm is over, and another one is restored, over
 * which a second storm comes (`restoration.ts`).
 */
import { Coverage } from "../checks/coverage.js";
import { RunChecks } from "../checks/run-checks.js";
import { Story } from "../checks/story.js";
import { Violation } from "../checks/violation.js";
import { Simulation } from "../engine/simulation.js";
import type { Fault } from "../plan/fault.js";
import type { SimPlan } from "../plan/plan.js";
import { FaultInjector } from "../world/fault-injector.js";
import { SimWorld } from "../world/sim-world.js";
import { Healing } from "./healing.js";
import { Restoration } from "./restoration.js";
import type { SeedFailure, SeedResult } from "./seed-result.js";
import { Silence } from "./silence.js";

export interface RunOptions {
  /** Lines of story to keep for a failure; 0 is quickest. */
  readonly storyLines?: number;
  /** Counts what states and events it comes to. */
  readonly counts?: boolean;
}

export async function runPlan(plan: SimPlan, options: RunOptions = {}): Promise<SeedResult> {
  const simulation = new Simulation();
  const story = new Story(simulation, options.storyLines ?? 0);
  const coverage = options.counts === true ? new Coverage() : undefined;
  const checks = new RunChecks(plan, simulation, story, coverage);
  const world = new SimWorld(plan, simulation, checks);
  checks.world = world;
  const injectorOf = (faults: readonly Fault[]): FaultInjector => {
    const injector = new FaultInjector(
      world,
      (text) => story.tell(() => `fault ${text}`),
      (fault) => checks.onFault(fault),
    );
    injector.plan(faults, simulation.nowMs);
    return injector;
  };
  const onUnhandled = (error: unknown): void => {
    simulation.fail(new Violation("no unhandled rejection", String(error)));
  };
  process.on("unhandledRejection", onUnhandled);
  let failure: SeedFailure | undefined;
  const injectors: FaultInjector[] = [];
  try {
    const { restore } = plan;
    const restoration = restore && new Restoration(plan, restore, world, checks, story);
    world.startAll();
    injectors.push(injectorOf(plan.faults));
    restoration?.begin();
    await simulation.run(plan.stormMs);
    if (restoration !== undefined) injectors.at(-1)?.end();
    const rest = await restoration?.run();
    if (restore !== undefined && rest !== undefined) {
      injectors.push(injectorOf(restore.faults));
      for (const one of [...world.clients, ...world.owners])
        one.allow(Math.ceil(restore.stormMs / one.plan.thinkMs));
      await simulation.run(simulation.nowMs + restore.stormMs);
    }
    injectors.at(-1)?.end();
    if (plan.silence !== undefined) {
      await new Silence(plan, plan.silence, world, checks, story).run();
    }
    await new Healing(rest ?? plan, world, checks, story).run();
  } catch (error) {
    failure = failureOf(error, story);
  } finally {
    process.off("unhandledRejection", onUnhandled);
  }
  return {
    seed: plan.seed,
    hash: simulation.hash.hex(),
    simulatedMs: simulation.nowMs,
    faultEpisodes: injectors.reduce((sum, { episodes }) => sum + episodes, 0),
    committedEntries: checks.clusters.committedCount,
    grants: checks.clusters.grantCount,
    elections: checks.clusters.leaderCount,
    quarantines: world.nodes.filter(({ state }) => state === "quarantined").length,
    overlapsWithoutDeadline: checks.exclusion.overlapsWithoutDeadline,
    overlapsWithoutFence: checks.exclusion.overlapsWithoutFence,
    refusedWrites: checks.resource.refused,
    outcomes: Object.fromEntries(checks.outcomes),
    coverage: coverage?.counts ?? {},
    failure,
  };
}

function failureOf(error: unknown, story: Story): SeedFailure {
  const rule = error instanceof Violation ? error.rule : "no exception";
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { rule, message, story: story.lines };
}
