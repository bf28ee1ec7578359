/**
 * What histories cannot say of a run: whether the cluster came back, whether a node ended by itself,
 * and whether the run was one at all: each workload got something done, and faults happened.
 */
import type { AttackResult } from "./attack.js";
import type { CheckResult, Validity } from "./verdict.js";

type Observed = Pick<AttackResult, "observer" | "hasRecovered" | "deaths">;
interface Asked {
  readonly workloads: readonly { readonly name: string }[];
  readonly nemeses: readonly string[];
}

export function clusterChecks(result: Observed, asked: Asked): CheckResult[] {
  const { hasRecovered, deaths } = result;
  const recovery = hasRecovered
    ? "after healing every node followed one leader"
    : "after healing there was no leader that every node followed";
  const ended = deaths.length === 0 ? "no node ended by itself" : `${deaths.length} nodes ended`;
  return [
    clusterCheck("recovery", hasRecovered, recovery),
    {
      ...clusterCheck("processes", deaths.length === 0, ended),
      story: deaths.map((text) => ({ text })),
    },
    workCheck(result, asked),
    faultsCheck(result, asked),
  ];
}

/** A workload that got nothing done was not tested. */
function workCheck({ observer }: Observed, { workloads }: Asked): CheckResult {
  const successes = (name: string) => {
    const counts = observer.counts.get(name)?.values() ?? [];
    return [...counts].reduce((sum, { ok }) => sum + ok, 0);
  };
  const idle = workloads.map(({ name }) => name).filter((name) => successes(name) === 0);
  const total = [...observer.counts.keys()].reduce((sum, name) => sum + successes(name), 0);
  const text = `${total} operations succeeded`;
  if (idle.length === 0) return clusterCheck("work", true, text);
  return clusterCheck("work", "unknown", `${text}; none at all of ${idle.join(", ")}`);
}

/** What was asked for and never happened has tested nothing, and is not passed over. */
function faultsCheck({ observer }: Observed, { nemeses }: Asked): CheckResult {
  const done = new Set(observer.faults.map(({ nemesis }) => nemesis));
  const absent = nemeses.filter((name) => !done.has(name));
  const count = observer.faults.length;
  if (nemeses.length === 0) return clusterCheck("faults", true, "none were asked for");
  if (count === 0) {
    const why = "the run was too short for any of the faults that were asked for";
    return clusterCheck("faults", "unknown", why);
  }
  const text = `${count} ${count === 1 ? "fault" : "faults"}`;
  const rest = absent.length === 0 ? "" : `; too short a run for ${absent.join(", ")}`;
  return clusterCheck("faults", true, text + rest);
}

function clusterCheck(name: string, valid: Validity, summary: string): CheckResult {
  return { subject: "cluster", name, valid, summary, story: [] };
}
