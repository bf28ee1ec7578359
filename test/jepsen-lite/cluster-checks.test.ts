/** Whether a run was one: what got nothing done, and what never happened, was not tested. */
import { expect, test } from "vitest";
import { Observer } from "../../jepsen-lite/attack/observer.js";
import type { HistoryEvent } from "../../jepsen-lite/history/history-event.js";
import { clusterChecks } from "../../jepsen-lite/verdict/cluster-checks.js";

type Observed = Parameters<typeof clusterChecks>[0];

function observed(succeeds: readonly string[], faults: readonly string[]): Observed {
  const observer = new Observer(1_000);
  for (const [process, workload] of succeeds.entries()) {
    const event = { process, workload, f: "acquire", key: "k", time: 1 } as const;
    const events: HistoryEvent[] = [
      { ...event, type: "invoke" },
      { ...event, type: "ok" },
    ];
    for (const each of events) observer.event(each);
  }
  for (const nemesis of faults) observer.faults.push({ nemesis, what: "", startMs: 0, endMs: 1 });
  return {
    observer,
    hasRecovered: true,
    stuck: [],
    longestStallMs: 0,
    deaths: [] as { node: number; timeMs: number; words: string }[],
  };
}

const workloads = [{ name: "mutex" }, { name: "queue" }];
const found = (run: Observed, nemeses: readonly string[]) =>
  Object.fromEntries(clusterChecks(run, { workloads, nemeses }).map((each) => [each.name, each]));

test("a run in which everything got something done and happened is valid", () => {
  const checks = found(observed(["mutex", "queue"], ["kill"]), ["kill"]);
  expect(Object.values(checks).map(({ valid }) => valid)).toEqual(Array(5).fill(true));
  expect(checks["faults"]?.summary).toBe("1 fault: kill 1");
});

test("a workload that got nothing done leaves the verdict open, by its name", () => {
  const { work } = found(observed(["mutex"], []), []);
  expect(work).toMatchObject({
    valid: "unknown",
    summary: "1 operations succeeded; none at all of queue",
  });
});

test("faults that were asked for and never happened are named; none at all leaves it open", () => {
  const some = found(observed(["mutex", "queue"], ["kill", "kill"]), ["kill", "slow"]);
  expect(some["faults"]).toMatchObject({
    valid: true,
    summary: "2 faults: kill 2; too short a run for slow",
  });
  expect(found(observed(["mutex", "queue"], []), ["kill"])["faults"]?.valid).toBe("unknown");
  expect(found(observed(["mutex", "queue"], []), [])["faults"]?.valid).toBe(true);
});

test("a cluster that did not come back, or lost a node by itself, is not valid", () => {
  const deaths = [{ node: 1, timeMs: 7_500, words: "first\nlast" }];
  const run = { ...observed(["mutex", "queue"], []), hasRecovered: false, deaths };
  const checks = found(run, []);
  expect(checks["recovery"]).toMatchObject({ valid: false, anomalyCounts: { "no recovery": 1 } });
  expect(checks["processes"]).toMatchObject({
    valid: false,
    anomalyCounts: { "node ended by itself": 1 },
    anomalies: [{ fromMs: 7_500, reasons: ["first", "last"] }],
  });
  expect(checks["processes"]?.anomalies[0]?.sentence).toContain("node 1 ended at 7.500 s");
});

test("a cluster that never does what a fault asks for is not valid, and says what that was", () => {
  const stuck = ["member 102 could not be promoted in 120 s"];
  const { recovery } = found({ ...observed(["mutex", "queue"], []), stuck }, []);
  expect(recovery).toMatchObject({
    valid: false,
    summary: stuck[0],
    anomalyCounts: { "no recovery": 1 },
  });
});

test("a machine that stood still is reported, and is not held against the cluster", () => {
  const { machine } = found({ ...observed(["mutex", "queue"], []), longestStallMs: 135_200 }, []);
  expect(machine).toMatchObject({ valid: true, summary: "it stood still, for up to 135.2 s" });
});

test("whether an interrupted run would have recovered is not known, and is not a violation", () => {
  const run = { ...observed(["mutex", "queue"], []), hasRecovered: "unknown" as const };
  expect(found(run, [])["recovery"]).toMatchObject({ valid: "unknown", anomalies: [] });
});
