/**
 * The results of a run for machines (`results.json`) and for the report, made of what it observed.
 */
import { availableParallelism } from "node:os";
import type { AttackResult } from "../attack/attack-plan.js";
import type { DrawnFault, DrawnOperation, Observer } from "../attack/observer.js";
import type { AnomalyCounts } from "../checker/index.js";
import type { Nemesis } from "../nemeses/nemesis.js";
import type { Coverage, Figures, ReportData, WorkloadCounts } from "../report/report-data.js";
import type { SystemKind, SystemName } from "../systems/system.js";
import { sumOf } from "../verdict/anomaly.js";
import type { CheckResult, Validity } from "../verdict/check-result.js";
import { type Verdict, worst } from "../verdict/verdict.js";
import type { Workload } from "../workloads/workload.js";
import type { ComparedSystem } from "./compared-system.js";
import type { RunOptions } from "./run-options.js";

export interface Results {
  /** The system under attack, as a name and as a line. */
  readonly system: SystemName;
  readonly about: string;
  readonly valid: Validity;
  readonly wasInterrupted: boolean;
  readonly command: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly options: RunOptions;
  readonly figures: Figures;
  readonly checks: readonly CheckResult[];
  /** How often each violation was seen; what may happen without fencing is not included. */
  readonly anomalies: AnomalyCounts;
  readonly counts: readonly WorkloadCounts[];
  readonly coverage: readonly Coverage[];
  readonly errors: Readonly<Record<string, number>>;
  /** Holdfast first, then the peers in the same run; empty without peers. */
  readonly comparison: readonly ComparedSystem[];
}

export interface Outcome {
  readonly results: Results;
  readonly report: ReportData;
}

export interface OutcomeParts {
  readonly system: SystemKind;
  readonly options: RunOptions;
  readonly workloads: readonly Workload[];
  readonly nemeses: readonly Nemesis[];
  readonly result: AttackResult;
  readonly verdict: Verdict;
  readonly wasInterrupted: boolean;
}

export function outcomeOf(parts: OutcomeParts): Outcome {
  const { system, options, result, verdict } = parts;
  const { observer } = result;
  const shared = {
    system: system.name,
    about: system.about,
    comparison: [],
    valid: verdict.valid,
    wasInterrupted: parts.wasInterrupted,
    command: commandOf(parts),
    startedAt: new Date(result.wallStartMs).toISOString(),
    figures: figuresOf(result),
    checks: verdict.checks,
    anomalies: sumOf(brokenOf(verdict.checks).map(({ anomalyCounts }) => anomalyCounts)),
    counts: countsOf(observer),
    coverage: coverageOf(observer),
  };
  const seconds = Math.round(result.endMs / 100) / 10;
  const errors = Object.fromEntries(observer.errors);
  return {
    results: { ...shared, seconds, options, errors },
    report: {
      ...shared,
      errors: [...observer.errors].sort(([, one], [, other]) => other - one),
      endMs: result.endMs,
      loadStartMs: result.loadStartMs,
      loadEndMs: result.loadEndMs,
      configuration: configurationOf(parts),
      sliceMs: observer.series.sliceMs,
      slices: observer.series.view(),
      lanes: observer.lanes,
      nodes: Array.from({ length: options.nodes }, (_, index) => index + 1),
      faults: observer.faults.toSorted((one, other) => one.startMs - other.startMs),
      keys: observer.holds.keys,
      holds: observer.holds.view(result.endMs),
      holdsOffered: observer.holds.offered,
      operations: observer.operations.items,
      dots: dotsOf(observer),
      operationsOffered: observer.operations.offered,
    },
  };
}

function brokenOf(checks: readonly CheckResult[]): CheckResult[] {
  return checks.filter(({ valid }) => valid === false);
}

/** Adds a comparison with others. A single system is not a comparison. */
export function withComparison(
  { results, report }: Outcome,
  systems: readonly ComparedSystem[],
): Outcome {
  const comparison = systems.length > 1 ? systems : [];
  return { results: { ...results, comparison }, report: { ...report, comparison } };
}

/** Adds the verdicts on Holdfast by other protocols, each with a report of its own. */
export function withOwnPeers({ results, report }: Outcome, own: readonly Outcome[]): Outcome {
  const added = own.map(({ results: { system, valid, checks } }): CheckResult => {
    const anomalyCounts = sumOf(brokenOf(checks).map((check) => check.anomalyCounts));
    const summary = `${system}/report.html: ${SUMMARIES[String(valid)]}`;
    const shared = { name: "own report", valid, summary, anomalies: [], remarks: [] };
    return { subject: system, anomalyCounts, ...shared };
  });
  const checks = [...results.checks, ...added];
  const valid = worst(checks.map((check) => check.valid));
  const anomalies = sumOf(brokenOf(checks).map(({ anomalyCounts }) => anomalyCounts));
  const changed = { valid, checks, anomalies };
  return { results: { ...results, ...changed }, report: { ...report, ...changed } };
}

const SUMMARIES: Readonly<Record<string, string>> = {
  true: "valid",
  false: "not valid",
  unknown: "not everything could be decided",
};

/**
 * Contains everything that determines the run, including defaults, so that a later version repeats
 * it.
 */
function commandOf({ options, workloads, nemeses }: OutcomeParts): string {
  const words = [
    "npm run jepsen --",
    `--workload ${namesOf(workloads, options.workloadModules)}`,
    `--nemesis ${namesOf(nemeses, options.nemesisModules) || "none"}`,
    `--schedule ${options.schedule}`,
    `--time ${options.seconds}`,
    `--seed ${options.seed}`,
    `--nodes ${options.nodes}`,
    `--clients ${options.clients}`,
    `--workers ${options.workers}`,
    `--keys ${options.keys}`,
    `--ttl ${options.ttlMs}`,
    ...(options.isFenced ? [] : ["--unfenced"]),
    ...(options.isStrict ? ["--strict"] : []),
    ...(options.peers.length === 0 ? [] : [`--peers ${options.peers.join(",")}`]),
    ...(options.usesNamespaces ? ["--netns"] : []),
  ];
  return words.join(" ");
}

/** Those from files are last, in the order of the files. */
function namesOf(all: readonly { readonly name: string }[], files: readonly string[]): string {
  const builtIn = all.slice(0, all.length - files.length).map(({ name }) => name);
  return [...builtIn, ...files].join(",");
}

function figuresOf(result: AttackResult): Figures {
  const { observer } = result;
  const total = { ok: 0, fail: 0, info: 0 };
  for (const byOperation of observer.counts.values()) {
    for (const { ok, fail, info } of byOperation.values()) {
      total.ok += ok;
      total.fail += fail;
      total.info += info;
    }
  }
  return {
    operations: total.ok + total.fail + total.info,
    ...total,
    faults: observer.faults.length,
    elections: observer.elections,
    termMax: observer.termMax,
    sessionsLost: observer.sessionsLost,
    holdsLost: observer.holdsLost,
    clientKills: result.clientKills,
    longestGapMs: Math.round(observer.longestGapMs),
  };
}

function countsOf(observer: Observer): WorkloadCounts[] {
  return [...observer.counts]
    .map(([workload, operations]) => ({ workload, operations: Object.fromEntries(operations) }))
    .sort((one, other) => one.workload.localeCompare(other.workload));
}

function coverageOf({ faults }: Observer): Coverage[] {
  const nemeses = new Set(faults.map(({ nemesis }) => nemesis));
  return [...nemeses].sort().map((nemesis) => {
    const own = faults.filter((fault) => fault.nemesis === nemesis);
    const milliseconds = own.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
    const seconds = Math.round(milliseconds / 100) / 10;
    return { nemesis, times: own.length, seconds, files: filesOf(own) };
  });
}

/** For the scatter plot: everything that is drawn anyway, and an even sample of the rest. */
function dotsOf({ operations, evenly }: Observer): DrawnOperation[] {
  return [...new Set([...operations.items, ...evenly.items])];
}

/** How often each kind of file was hit, including those that were never hit. */
function filesOf(faults: readonly DrawnFault[]): Record<string, number> {
  const times = new Map<string, number>();
  for (const { file } of faults) {
    for (const kind of file?.kinds ?? []) times.set(kind, times.get(kind) ?? 0);
    if (file !== undefined) times.set(file.kind, (times.get(file.kind) ?? 0) + 1);
  }
  return Object.fromEntries([...times].sort(([one], [other]) => one.localeCompare(other)));
}

function configurationOf({ system, options, workloads, nemeses, result }: OutcomeParts) {
  const list = (all: readonly { readonly name: string }[]) =>
    all.map(({ name }) => name).join(", ") || "none";
  return [
    ["under attack", `${system.name}: ${system.about}`],
    ["workloads", list(workloads)],
    ["nemeses", list(nemeses)],
    ["schedule", options.schedule],
    ["load and faults", `${options.seconds} s`],
    ["seed", String(options.seed)],
    ["nodes", `${options.nodes}, ${options.usesNamespaces ? "network namespaces" : "proxies"}`],
    ["clients", `${options.clients} processes, ${options.workers} workers for each workload`],
    ["keys", `${options.keys} of each workload`],
    ["lease", `${options.ttlMs} ms`],
    [
      "access",
      workloads.some(({ identities }) => identities !== undefined)
        ? "closed: each client shows a token"
        : "open",
    ],
    ["guarded store", options.isFenced ? "compares tokens" : "compares no tokens"],
    ["planned faults", String(result.plan.length)],
    ["machine", `${process.platform} ${process.arch}, ${availableParallelism()} cores`],
    ["Node.js", process.version],
  ] as const;
}
