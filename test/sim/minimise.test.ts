/** To what a failing plan is reduced. */
import { describe, expect, test } from "vitest";
import type { SimPlan } from "./plan/plan.js";
import { planOf } from "./plan/plan-of.js";
import { minimise } from "./run/minimise.js";

function planWithFaults(count: number): SimPlan {
  const faults = Array.from({ length: count }, (_, at) => ({
    kind: "jumpWall" as const,
    atMs: at,
    node: 1,
    byMs: at,
  }));
  return { ...planOf(1), faults };
}

const has = (plan: SimPlan, ...times: number[]): boolean =>
  times.every((atMs) => plan.faults.some((fault) => fault.atMs === atMs));

describe("a minimised plan", () => {
  test("has only the faults, clients and actions that the failure needs", async () => {
    const plan = planWithFaults(20);
    const host = plan.clients.at(-1)?.host ?? 0;
    const fails = async (candidate: SimPlan): Promise<boolean> =>
      has(candidate, 3, 17) &&
      candidate.clients.some((client) => client.host === host && client.actions >= 5);
    const least = await minimise(plan, fails, 1_000);
    expect(least.faults.map(({ atMs }) => atMs)).toEqual([3, 17]);
    expect(least.clients.map((client) => client.host)).toEqual([host]);
    expect(least.clients[0]?.actions).toBeLessThan(10);
  });

  test("still fails when there were not enough tries to make it the least", async () => {
    const fails = async (candidate: SimPlan): Promise<boolean> => has(candidate, 3, 17);
    const least = await minimise(planWithFaults(20), fails, 3);
    expect(await fails(least)).toBe(true);
  });

  test("is the plan itself when nothing can go", async () => {
    const plan = { ...planWithFaults(2), clients: [] };
    const fails = async (candidate: SimPlan): Promise<boolean> => has(candidate, 0, 1);
    expect(await minimise(plan, fails, 100)).toEqual(plan);
  });
});
