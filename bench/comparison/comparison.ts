/**
 * Measures steps with all their systems, in turns, and collects the results. A system that is
 * missing or fails is named and left out; the others continue.
 */
import { LOAD_WORKLOADS, type Workload } from "../options/bench-numbers.js";
import type { Several, Step } from "../options/invocation.js";
import { OWN_SYSTEM, type SystemName } from "../options/system-names.js";
import type { PeerName } from "../peers/peer.js";
import { PEERS } from "../peers/peers.js";
import type { ThroughputResult } from "../workloads/throughput/throughput.js";
import { measureApart } from "./measured-process.js";
import type { SavedResults } from "./saved-results.js";

/** One system in one step: the median turn, and the rates of all turns. */
export interface MeasuredPeer extends ThroughputResult {
  readonly name: PeerName;
  readonly turns: readonly number[];
}

export interface LeftOut {
  readonly name: SystemName;
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
  const results = new Map<SystemName, object[]>();
  for (const name of step.systems) {
    const reason = reasonToLeaveOut(name, step);
    if (reason === undefined) results.set(name, []);
    else missing.push({ name, reason });
  }
  // Other workloads repeat their measurement themselves, in rounds and runs.
  const count = isLoad(step.options.workload) ? turns : 1;
  for (let turn = 1; turn <= count; turn += 1) {
    for (const [name, list] of [...results]) {
      const argv = name === OWN_SYSTEM ? step.argv : [...step.argv, `--system=${name}`];
      const id = `${argv.join(" ")} #${turn}`;
      let result = saved.get(id);
      if (result === undefined) {
        onNote(`${step.argv.join(" ")}: ${name}${count > 1 ? `, turn ${turn} of ${count}` : ""}`);
        try {
          result = await measureApart(argv, step.options, signal);
        } catch (error) {
          signal.throwIfAborted();
          const reason = error instanceof Error ? error.message : String(error);
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

function reasonToLeaveOut(name: SystemName, { options }: Step): string | undefined {
  if (name === OWN_SYSTEM) return undefined;
  const { missing, connectionsMax } = PEERS[name];
  if (connectionsMax !== undefined && "connections" in options) {
    const { count, reason } = connectionsMax;
    if (options.connections > count) return `not with more than ${count} connections: ${reason}`;
  }
  return missing();
}

function assembled(
  step: Step,
  results: ReadonlyMap<SystemName, readonly object[]>,
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
