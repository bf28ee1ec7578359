/**
 * What one entry of the log costs the nodes in system calls, and how that is compared with the
 * baseline. At few workers these counts decide the speed, more than the work in JavaScript.
 *
 * Calls are those that read and write, of files and sockets, as the kernel counts them for each
 * process (`/proc/PID/io`): exact, and without a tracer, which would change the timing and with it
 * what is counted. It leaves out calls that wait (one for each turn of the loop) and those that
 * sync and wake up (a fixed number for each synced write). Writes to sockets are counted in the
 * nodes (`loop-counter.ts`).
 *
 * How many turns an entry takes, and how often the loop sleeps, depends on how processes are
 * scheduled. Such counts are shown with their scatter and are held only if the rounds of the
 * baseline agreed.
 */
import { hundredths, medianOf } from "../measures/statistics.js";
import { type Verdict, verdictLine } from "./gate-counts.js";

/** Phases of the gate's load: one worker, and 64. */
export const ENTRY_PHASES = ["alone", "spread"] as const;
export type EntryPhase = (typeof ENTRY_PHASES)[number];

export const ENTRY_COUNTS = {
  calls: "reading and writing calls per entry",
  socketWrites: "writes to sockets per entry",
  turns: "turns of the loops per entry",
  switches: "voluntary switches of the loops per entry",
} as const;
export type EntryCountName = keyof typeof ENTRY_COUNTS;
const NAMES = Object.keys(ENTRY_COUNTS) as readonly EntryCountName[];
/** They do not depend on scheduling, except by what travels together. */
const HELD: readonly EntryCountName[] = ["calls", "socketWrites"];

/** Of all nodes together, since their start. */
export type EntryCounters = Readonly<Record<EntryCountName | "entries", number>>;
/** One round. */
export type EntryCounts = Readonly<Record<EntryCountName, number>>;

/** Several rounds. */
export interface Rounds {
  readonly median: number;
  /** From the smallest to the largest, as a share of the median. */
  readonly scatter: number;
}
export type EntryRounds = Readonly<Record<EntryPhase, Readonly<Record<EntryCountName, Rounds>>>>;

/**
 * By how much a count may rise, as a share of its baseline. Other load on the machine makes followers
 * late, and entries then go to the next one at once, which is a message and a write more for each;
 * and it decides how many commands of 64 workers share an entry, and so how many sockets their
 * answers go to. On a machine with five times the load of its cores the counts of one worker rose by
 * 0.16, and by 0.40 with 64.
 */
const RISE: Readonly<Record<EntryPhase, number>> = { alone: 0.3, spread: 0.5 };
/** Rounds that differ by more than this do not agree. */
const SCATTER_MAX = 0.05;
/** A baseline takes this many: fewer could agree by chance. */
export const BASELINE_ROUNDS = 10;
export const USUAL_ROUNDS = 3;

/** Between two readings. */
export function entryCountsOf(before: EntryCounters, after: EntryCounters): EntryCounts {
  const entries = after.entries - before.entries;
  if (entries <= 0) throw new Error(`${entries} entries were counted`);
  const perEntry = (name: EntryCountName) => (after[name] - before[name]) / entries;
  return {
    calls: perEntry("calls"),
    socketWrites: perEntry("socketWrites"),
    turns: perEntry("turns"),
    switches: perEntry("switches"),
  };
}

export function roundsOf(counts: readonly EntryCounts[]): Readonly<Record<EntryCountName, Rounds>> {
  const rounds = (name: EntryCountName): Rounds => {
    const values = counts.map((each) => each[name]);
    const middle = medianOf(values);
    return {
      median: hundredths(middle),
      scatter: hundredths((Math.max(...values) - Math.min(...values)) / middle),
    };
  };
  return {
    calls: rounds("calls"),
    socketWrites: rounds("socketWrites"),
    turns: rounds("turns"),
    switches: rounds("switches"),
  };
}

export interface EntryVerdict extends Verdict {
  readonly phase: EntryPhase;
  readonly count: EntryCountName;
  readonly scatter: number;
}

export function compareEntries(baseline: EntryRounds, now: EntryRounds): EntryVerdict[] {
  return ENTRY_PHASES.flatMap((phase) =>
    NAMES.map((count): EntryVerdict => {
      const [was, is] = [baseline[phase][count], now[phase][count]];
      const rise = is.median / was.median - 1;
      const riseMax = riseMaxOf(phase, count, was);
      const isTooHigh = riseMax !== undefined && !(rise <= riseMax);
      const isMuchLower = riseMax !== undefined && rise < -riseMax / (1 + riseMax);
      const figures = { baseline: was.median, now: is.median, rise, riseMax };
      return { phase, count, scatter: is.scatter, ...figures, isTooHigh, isMuchLower };
    }),
  );
}

/** `undefined`: only shown. */
function riseMaxOf(
  phase: EntryPhase,
  count: EntryCountName,
  { scatter }: Rounds,
): number | undefined {
  return HELD.includes(count) || scatter <= SCATTER_MAX ? RISE[phase] : undefined;
}

/** For people: one line for each count, with the scatter of its rounds. */
export function entryText(verdicts: readonly EntryVerdict[]): string[] {
  return verdicts.map((verdict) => {
    const { phase, count, scatter } = verdict;
    const line = verdictLine(`${phase}: ${ENTRY_COUNTS[count]}`, verdict);
    return `${line}  scatter ${Math.round(100 * scatter)} %`;
  });
}
