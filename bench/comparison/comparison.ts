/**
 * Measures steps with all their systems, in turns, and collects the results. A system that is
 * missing or fails is named and left out; the others continue.
 */
import { LOAD_WORKLOADS, type Workload } from "../options/bench-numbers.js";
import type { Run, RunName, Several, Step } from "../options/invocation.js";
import { isPeer, OWN_SYSTEM } from "../options/system-names.js";
import { PEERS } from "../peers/peers.js";
import { nodeBinary } from "../programs/node-binary.js";
import type { ThroughputResult } from "../workloads/throughput/throughput.js";
import { measureApart } from "./measured-process.js";
import type { SavedResults } from "./saved-results.js";

/** One row of a step besides this system: the median turn, and the rates of all turns. */
export interface MeasuredPeer extends ThroughputResult {
  readonly name: RunName;
  readonly turns: readonly number[];
}

export interface LeftOut {
  readonly name: RunName;
  readonly reason: string;
}

export interface MeasuredStep {
  readonly step: Step;
  /** The result of this system, as for a single measurement; `undefined` if it failed. */
  readonly own: object | undefined;
  /** For loads: cycles per second of each turn. */
  readonly turns: readonly number[];
  readonly peers: readonly MeasuredPeer[];
  /** Not on this machine, or not suitable for this number of connections. */
  readonly missing: readonly LeftOut[];
  readonly failed: readonly LeftOut[];
}

/** `onNote` is called with a line for people before each measurement and after a failed one. */
export async function measureSteps(
  { steps, turns }: Pick<Several, "steps" | "turns">,
  saved: SavedResults,
  signal: AbortSignal,
  onNote: (line: string) => void,
): Promise<MeasuredStep[]> {
  const measured: MeasuredStep[] = [];
  for (const [index, step] of steps.entries()) {
    const place = `${index + 1}/${steps.length}`;
    measured.push(
      await measureStep(step, turns, saved, signal, (text) => onNote(`${place} ${text}`)),
    );
  }
  return measured;
}

async function measureStep(
  step: Step,
  turns: number,
  saved: SavedResults,
  signal: AbortSignal,
  onNote: (text: string) => void,
): Promise<MeasuredStep> {
  const missing: LeftOut[] = [];
  const failed: LeftOut[] = [];
  const results = new Map<RunName, object[]>();
  const runtimes = new Map<RunName, string>();
  for (const run of step.runs) {
    const { name } = run;
    const reason = reasonToLeaveOut(run);
    if (reason !== undefined) {
      missing.push({ name, reason });
      continue;
    }
    try {
      // Before the measurements, whose time is limited.
      runtimes.set(name, await prepared(run, signal, onNote));
      results.set(name, []);
    } catch (error) {
      failed.push({ name, reason: failureOf(error, signal) });
    }
  }
  // Other workloads repeat their measurement themselves, in rounds and runs.
  const count = isLoad(step.options.workload) ? turns : 1;
  for (let turn = 1; turn <= count; turn += 1) {
    for (const { name, node, argv } of step.runs) {
      const [list, runtime] = [results.get(name), runtimes.get(name)];
      if (list === undefined || runtime === undefined) continue;
      const id = `${[...argv, ...(node === undefined ? [] : [`--node=${node}`])].join(" ")} #${turn}`;
      let result = saved.get(id);
      if (result === undefined) {
        onNote(`${step.argv.join(" ")}: ${name}${count > 1 ? `, turn ${turn} of ${count}` : ""}`);
        try {
          result = await measureApart(argv, step.options, runtime, signal);
        } catch (error) {
          const reason = failureOf(error, signal);
          onNote(`${name} FAILED: ${reason}`);
          failed.push({ name, reason });
          results.delete(name);
          continue;
        }
        saved.add(id, result);
      }
      list.push(result);
    }
  }
  return assembled(step, results, missing, failed);
}

function failureOf(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  return error instanceof Error ? error.message : String(error);
}

/** Resolves with the Node.js that measures it, when all is built and fetched that it needs. */
async function prepared(
  { system, node }: Run,
  signal: AbortSignal,
  onNote: (text: string) => void,
): Promise<string> {
  if (isPeer(system)) await PEERS[system].prepare?.({ signal, onNote });
  return node === undefined ? process.execPath : await nodeBinary(node, { signal, onNote });
}

function reasonToLeaveOut({ system, options }: Run): string | undefined {
  if (!isPeer(system)) return undefined;
  const { missing, connectionsMax, closedLoopsOnly } = PEERS[system];
  if (connectionsMax !== undefined && "connections" in options) {
    const { count, reason } = connectionsMax;
    if (options.connections > count) return `not with more than ${count} connections: ${reason}`;
  }
  if (closedLoopsOnly !== undefined && "rate" in options && options.rate > 0) {
    return `not with --rate: ${closedLoopsOnly}`;
  }
  return missing();
}

function assembled(
  step: Step,
  results: ReadonlyMap<RunName, readonly object[]>,
  missing: readonly LeftOut[],
  failed: readonly LeftOut[],
): MeasuredStep {
  const peers: MeasuredPeer[] = [];
  for (const [name, list] of results) {
    if (name === OWN_SYSTEM) continue;
    const loads = list as readonly ThroughputResult[];
    const middle = middleOf(loads);
    if (middle !== undefined) peers.push({ name, ...middle, turns: loads.map(rateOf) });
  }
  const ownResults = results.get(OWN_SYSTEM) ?? [];
  if (!isLoad(step.options.workload)) {
    return { step, own: ownResults[0], turns: [], peers, missing, failed };
  }
  const loads = ownResults as readonly ThroughputResult[];
  return { step, own: middleOf(loads), turns: loads.map(rateOf), peers, missing, failed };
}

/** The median by cycles per second; of an even number, the slower of the two in the middle. */
export function middleOf(loads: readonly ThroughputResult[]): ThroughputResult | undefined {
  const sorted = [...loads].sort((a, b) => rateOf(a) - rateOf(b));
  return sorted[(sorted.length - 1) >> 1];
}

function rateOf({ cyclesPerSecond }: ThroughputResult): number {
  return cyclesPerSecond;
}

export function isLoad(workload: Workload): boolean {
  return (LOAD_WORKLOADS as readonly Workload[]).includes(workload);
}

/** The JSON of one step: this system, and its peers. A contract. */
export function stepObject({ own, turns, peers, missing, failed, step }: MeasuredStep): object {
  const options = own ?? { workload: step.options.workload };
  return { ...options, ...(turns.length > 0 && { turns }), peers, missing, failed };
}

/** The number of violations in all systems. */
export function violationsIn(steps: readonly MeasuredStep[]): number {
  let total = 0;
  for (const { own, peers } of steps) {
    for (const result of [own, ...peers]) {
      total += (result as { fencingViolations?: number } | undefined)?.fencingViolations ?? 0;
    }
  }
  return total;
}
