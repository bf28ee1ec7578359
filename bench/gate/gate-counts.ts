/**
 * What the gate counts, how it is computed from the counters of the nodes, and by how much each
 * count may rise before it is a regression. Counts do not depend on the speed of the machine,
 * except for what happens by the clock: heartbeats, keepalives, and what arrives together.
 */
export const PHASES = ["alone", "batches", "spread"] as const;
export type Phase = (typeof PHASES)[number];

export const COUNTS = {
  entriesPer1000: "log entries per 1,000 commands",
  syncsPer1000: "synced writes of all logs per 1,000 commands",
  logBytes: "bytes written to all logs per command",
  clientFramesPer1000: "messages to and from clients per 1,000 commands",
  clientBytes: "bytes to and from clients per command",
  peerFramesPer1000: "messages between nodes per 1,000 commands",
  peerBytes: "bytes between nodes per command",
  heapBytes: "heap bytes allocated by all nodes per command",
} as const;
export type CountName = keyof typeof COUNTS;
const COUNT_NAMES = Object.keys(COUNTS) as readonly CountName[];

export type Counts = Readonly<Record<CountName, number>>;
export type CountsByPhase = Readonly<Record<Phase, Counts>>;

/** Counts of all nodes together, since their start. */
export interface Counters {
  readonly commands: number;
  readonly entries: number;
  readonly syncs: number;
  readonly logBytes: number;
  readonly clientFrames: number;
  readonly clientBytes: number;
  readonly peerFrames: number;
  readonly peerBytes: number;
  readonly heapBytes: number;
}

/** By how much a count may rise, as a share of its baseline. */
const RISE = 0.1;
/** V8 decides which functions are compiled, and when. */
const HEAP_RISE = 0.25;
/**
 * While one command waits for the disk, heartbeats go on: the slower the disk, the more of them.
 * And other load on the machine makes followers late, whose entries then go to the next follower at
 * once; if all were late, synced writes would rise by 0.4, and messages between nodes by 0.9.
 */
const CLOCK_RISE = 0.3;
const BY_THE_CLOCK: readonly CountName[] = ["syncsPer1000", "peerFramesPer1000", "peerBytes"];
/**
 * How many of the commands of many clients share an entry depends on other load on the machine.
 * These counts only show whether commands still share entries.
 */
const CHANCE_RISE = 1;
const BY_CHANCE: readonly CountName[] = ["entriesPer1000", "syncsPer1000", "peerFramesPer1000"];

/** One count next to its baseline. */
export interface Verdict {
  readonly baseline: number;
  readonly now: number;
  /** Share of the baseline. */
  readonly rise: number;
  /** `undefined`: any rise passes. */
  readonly riseMax: number | undefined;
  readonly isTooHigh: boolean;
  /** Lower by enough that the baseline should be updated. */
  readonly isMuchLower: boolean;
}

export interface Comparison extends Verdict {
  readonly phase: Phase;
  readonly count: CountName;
}

/**
 * One command at a time waits for the disk, and what happens by the clock outweighs it on the heap.
 */
function isStable(phase: Phase, count: CountName): boolean {
  return phase !== "alone" || count !== "heapBytes";
}

/** The counts between two readings. */
export function countsOf(before: Counters, after: Counters): Counts {
  const commands = after.commands - before.commands;
  if (commands <= 0) throw new Error(`${commands} commands were counted`);
  const perCommand = (name: keyof Counters) => (after[name] - before[name]) / commands;
  return {
    entriesPer1000: tenth(1_000 * perCommand("entries")),
    syncsPer1000: tenth(1_000 * perCommand("syncs")),
    logBytes: tenth(perCommand("logBytes")),
    clientFramesPer1000: tenth(1_000 * perCommand("clientFrames")),
    clientBytes: tenth(perCommand("clientBytes")),
    peerFramesPer1000: tenth(1_000 * perCommand("peerFrames")),
    peerBytes: tenth(perCommand("peerBytes")),
    heapBytes: Math.round(perCommand("heapBytes")),
  };
}

export function compareCounts(baseline: CountsByPhase, now: CountsByPhase): Comparison[] {
  return PHASES.flatMap((phase) =>
    COUNT_NAMES.filter((count) => isStable(phase, count)).map((count) => {
      const [was, is] = [baseline[phase][count], now[phase][count]];
      const rise = is / was - 1;
      const riseMax = riseMaxOf(phase, count);
      const isTooHigh = !(rise <= riseMax);
      const isMuchLower = rise < -riseMax / (1 + riseMax);
      return { phase, count, baseline: was, now: is, rise, riseMax, isTooHigh, isMuchLower };
    }),
  );
}

function riseMaxOf(phase: Phase, count: CountName): number {
  if (phase === "spread" && BY_CHANCE.includes(count)) return CHANCE_RISE;
  if (phase !== "spread" && BY_THE_CLOCK.includes(count)) return CLOCK_RISE;
  return count === "heapBytes" ? HEAP_RISE : RISE;
}

/** For people: one line per count, with a mark if it is wrong. */
export function comparisonText(comparisons: readonly Comparison[]): string[] {
  return comparisons.map((comparison) => {
    return verdictLine(`${comparison.phase}: ${COUNTS[comparison.count]}`, comparison);
  });
}

export function verdictLine(
  name: string,
  { baseline, now, rise, riseMax, ...is }: Verdict,
): string {
  const change = `${rise >= 0 ? "+" : ""}${(100 * rise).toFixed(1)} %`;
  const limit = riseMax === undefined ? "only shown" : `at most +${Math.round(100 * riseMax)} %`;
  const mark = is.isTooHigh ? "TOO HIGH" : is.isMuchLower ? "much lower" : "";
  const figures = [`${baseline}`.padStart(10), `${now}`.padStart(10), change.padStart(9)];
  return [name.padEnd(60), ...figures, limit.padStart(14), mark].join("  ").trimEnd();
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}
