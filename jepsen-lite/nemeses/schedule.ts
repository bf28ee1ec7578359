/**
 * When each fault happens: a plan of plain data that depends on the seed alone. Each fault draws
 * from a stream of its own, so that leaving one out does not change the others.
 */
import { seededStream } from "../harness/seeded-stream.js";

export const SCHEDULES = ["each", "pairs", "all", "none"] as const;
/** `each`: one fault at a time. `pairs`: two at a time. `all`: every nemesis at its own pace. */
export type Schedule = (typeof SCHEDULES)[number];

export interface PlannedFault {
  readonly index: number;
  readonly nemesis: string;
  readonly startMs: number;
  readonly endMs: number;
}

const FAULT_MS = [1_500, 5_000] as const;
const QUIET_MS = [800, 3_000] as const;
/**
 * With everything at once, each nemesis rests longer the more of them there are, so that two or
 * three faults are active at a time and some work gets done.
 */
const ALL_QUIET_MS_MIN = 3_000;
const ALL_QUIET_MS_EACH = 2_000;
/** Faults end this long before the load does. */
const LAST_MS = 500;

export function planFaults(
  schedule: Schedule,
  nemeses: readonly string[],
  durationMs: number,
  seed: number,
): PlannedFault[] {
  if (schedule === "none" || nemeses.length === 0) return [];
  const planned =
    schedule === "all"
      ? allAtOnce(nemeses, durationMs, seed)
      : inTurn(schedule, nemeses, durationMs, seed);
  return planned
    .filter(({ endMs }) => endMs <= durationMs - LAST_MS)
    .sort((one, other) => one.startMs - other.startMs)
    .map((fault, index) => ({ ...fault, index }));
}

type Slot = Omit<PlannedFault, "index">;

function inTurn(
  schedule: "each" | "pairs",
  nemeses: readonly string[],
  durationMs: number,
  seed: number,
): Slot[] {
  const random = seededStream(seed, `schedule ${schedule}`);
  const groups = schedule === "each" ? nemeses.map((name) => [name]) : pairsOf(nemeses);
  const slots: Slot[] = [];
  let timeMs = random.integer(...QUIET_MS);
  while (timeMs < durationMs) {
    // Every group once, in a new order each time.
    for (const group of random.sample(groups, groups.length)) {
      const endMs = timeMs + random.integer(...FAULT_MS);
      for (const nemesis of group) slots.push({ nemesis, startMs: timeMs, endMs });
      timeMs = endMs + random.integer(...QUIET_MS);
    }
  }
  return slots;
}

function allAtOnce(nemeses: readonly string[], durationMs: number, seed: number): Slot[] {
  const quietMs = [
    ALL_QUIET_MS_MIN,
    ALL_QUIET_MS_MIN + ALL_QUIET_MS_EACH * nemeses.length,
  ] as const;
  return nemeses.flatMap((nemesis) => {
    const random = seededStream(seed, `schedule all ${nemesis}`);
    const slots: Slot[] = [];
    let timeMs = random.integer(0, quietMs[1]);
    while (timeMs < durationMs) {
      const endMs = timeMs + random.integer(...FAULT_MS);
      slots.push({ nemesis, startMs: timeMs, endMs });
      timeMs = endMs + random.integer(...quietMs);
    }
    return slots;
  });
}

function pairsOf(nemeses: readonly string[]): string[][] {
  const pairs = nemeses.flatMap((one, index) =>
    nemeses.slice(index + 1).map((other) => [one, other]),
  );
  return pairs.length > 0 ? pairs : [[...nemeses]];
}
