/**
 * Checks of a run that histories cannot show: whether the cluster recovered, whether a node ended
 * by itself, and whether the run tested anything: each workload got something done, and faults
 * happened.
 */

import type { AttackResult } from "../attack/attack-plan.js";
import { type Anomaly, sumOf } from "./anomaly.js";
import type { CheckResult, Validity } from "./check-result.js";

type Observed = Pick<
  AttackResult,
  "observer" | "hasRecovered" | "stuck" | "longestStallMs" | "deaths"
>;
interface Asked {
  readonly workloads: readonly { readonly name: string }[];
  readonly nemeses: readonly string[];
}

export function clusterChecks(result: Observed, asked: Asked): CheckResult[] {
  return [
    recoveryCheck(result),
    machineCheck(result),
    processesCheck(result),
    workCheck(result, asked),
    faultsCheck(result, asked),
  ];
}

/** `hasRecovered` means nothing after an interruption: it was not awaited. */
function recoveryCheck({ hasRecovered, stuck }: Observed): CheckResult {
  if (stuck.length > 0) return failed("recovery", stuck.join("; "), stuck.map(unrecovered));
  if (hasRecovered === "unknown") {
    return clusterCheck("recovery", "unknown", "not waited for: the run was interrupted");
  }
  if (hasRecovered) {
    return clusterCheck("recovery", true, "after all faults, all nodes followed one leader");
  }
  const sentence = "after all faults were over there was no leader that every node followed";
  return failed("recovery", sentence, [unrecovered(sentence)]);
}

function unrecovered(sentence: string): Anomaly {
  return { kind: "no recovery", sentence, keys: [], steps: [], reasons: [] };
}

/** Where the machine stood still, what depends on time is not judged. */
function machineCheck({ longestStallMs }: Observed): CheckResult {
  if (longestStallMs === 0) return clusterCheck("machine", true, "it never stood still");
  const seconds = (longestStallMs / 1_000).toFixed(1);
  return clusterCheck("machine", true, `it stood still, for up to ${seconds} s`);
}

function processesCheck({ deaths }: Observed): CheckResult {
  if (deaths.length === 0) return clusterCheck("processes", true, "no node ended by itself");
  const anomalies = deaths.map(({ node, timeMs, words }): Anomaly => {
    const sentence = `node ${node} ended at ${(timeMs / 1_000).toFixed(3)} s, but was not stopped`;
    const reasons = words.split("\n").filter((line) => line !== "");
    return { kind: "node ended by itself", sentence, keys: [], fromMs: timeMs, steps: [], reasons };
  });
  return failed("processes", `a node ended by itself ${deaths.length} times`, anomalies);
}

function failed(name: string, summary: string, anomalies: readonly Anomaly[]): CheckResult {
  const anomalyCounts = sumOf(anomalies.map(({ kind }) => ({ [kind]: 1 })));
  return { ...clusterCheck(name, false, summary), anomalies, anomalyCounts };
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

/** A requested fault that never happened has tested nothing, and is reported. */
function faultsCheck({ observer }: Observed, { nemeses }: Asked): CheckResult {
  const done = new Set(observer.faults.map(({ nemesis }) => nemesis));
  const absent = nemeses.filter((name) => !done.has(name));
  const count = observer.faults.length;
  if (nemeses.length === 0) return clusterCheck("faults", true, "none were requested");
  if (count === 0) {
    const why = "the run was too short for any of the requested faults";
    return clusterCheck("faults", "unknown", why);
  }
  const kinds = [...done].sort().map((name) => {
    return `${name} ${observer.faults.filter(({ nemesis }) => nemesis === name).length}`;
  });
  const text = `${count} ${count === 1 ? "fault" : "faults"}: ${kinds.join(", ")}`;
  const rest = absent.length === 0 ? "" : `; too short a run for ${absent.join(", ")}`;
  return clusterCheck("faults", true, text + rest);
}

function clusterCheck(name: string, valid: Validity, summary: string): CheckResult {
  return {
    subject: "cluster",
    name,
    valid,
    summary,
    anomalies: [],
    anomalyCounts: {},
    remarks: [],
  };
}
