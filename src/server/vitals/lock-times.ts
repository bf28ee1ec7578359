/**
 * How long requests waited in the table and how long holds lasted, in cluster time, as every node
 * finds it when it applies the log. Names of locks are not labels: the operator may name a few
 * prefixes, and everything else is `other`.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import type { TableChange } from "../../lockfsm/index.js";
import { CLAIM_MODES, type ClaimMode, END_REASON } from "../../protocol/index.js";
import { Histogram, RecentValues } from "./histogram.js";

/** What became of a request. */
const OUTCOMES = [
  "granted",
  "timeout",
  "cancelled",
  "deadlock",
  "sessionEnded",
  "refused",
] as const;
type Outcome = (typeof OUTCOMES)[number];
const REASONS = Object.keys(END_REASON);
/** The value of the label for keys that begin with none of the prefixes. */
export const OTHER_PREFIX = "other";
const WAIT_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 30, 60, 300];
const HOLD_SECONDS = [0.01, 0.1, 0.5, 1, 5, 30, 60, 600, 3_600];

const MODE_ROWS: Readonly<Record<ClaimMode, number>> = { exclusive: 0, shared: 1, permits: 2 };

export class LockTimes {
  readonly waits: Histogram;
  readonly holds: Histogram;
  readonly #prefixes: readonly string[];
  /** The waits of recent grants, with any prefix. */
  readonly #recentGrants: RecentValues;

  /** `prefixes` of keys, each a value of the label `prefix`. */
  constructor(prefixes: readonly string[]) {
    // The longest that fits counts.
    this.#prefixes = [...prefixes].sort((a, b) => b.length - a.length);
    const labels = [...this.#prefixes, OTHER_PREFIX].map((prefix) => `prefix="${escaped(prefix)}"`);
    const waitRows = labels.flatMap((label) =>
      CLAIM_MODES.flatMap((mode) =>
        OUTCOMES.map((outcome) => `mode="${mode}",outcome="${outcome}",${label}`),
      ),
    );
    this.waits = new Histogram({
      name: "acquire_wait_seconds",
      help: "How long requests waited in the queue of a key, by what became of them.",
      bounds: WAIT_SECONDS,
      rows: waitRows,
      shownEmpty: rowsWith(waitRows, 'mode="exclusive",outcome="granted"'),
    });
    const holdRows = labels.flatMap((label) =>
      REASONS.map((reason) => `reason="${reason}",${label}`),
    );
    this.holds = new Histogram({
      name: "hold_seconds",
      help: "How long keys were held, by why their holds ended.",
      bounds: HOLD_SECONDS,
      rows: holdRows,
      shownEmpty: rowsWith(holdRows, 'reason="released"'),
    });
    this.#recentGrants = new RecentValues(this.waits, [...rowsWith(waitRows, 'outcome="granted"')]);
  }

  /** A change of an entry with that stamp. */
  note(change: TableChange, stamp: number): void {
    const { type, requestedAt } = change;
    if (type === "ended") {
      const row = this.#prefixOf(change.key) * REASONS.length + change.reason;
      this.holds.observe(row, (stamp - change.grantedAt) / 1_000);
    } else if (requestedAt > 0) {
      const outcome = type === "left" ? outcomeOf(change.status) : "granted";
      const mode = this.#prefixOf(change.key) * CLAIM_MODES.length + MODE_ROWS[change.mode];
      const row = mode * OUTCOMES.length + OUTCOMES.indexOf(outcome);
      this.waits.observe(row, (stamp - requestedAt) / 1_000);
    }
  }

  /** Waits of grants since the last call, per bucket. */
  takeGrantWaits(): Float64Array {
    return this.#recentGrants.take();
  }

  /** The number of its prefix. */
  #prefixOf(key: string): number {
    const prefixes = this.#prefixes;
    for (let at = 0; at < prefixes.length; at += 1) {
      if (key.startsWith(prefixes[at] as string)) return at;
    }
    return prefixes.length;
  }
}

function outcomeOf(status: number): Outcome {
  switch (status) {
    case ERROR_NUMBERS.LOCK_TIMEOUT:
      return "timeout";
    case ERROR_NUMBERS.CANCELLED:
      return "cancelled";
    case ERROR_NUMBERS.DEADLOCK:
      return "deadlock";
    case ERROR_NUMBERS.SESSION_EXPIRED:
      return "sessionEnded";
    default:
      return "refused";
  }
}

function rowsWith(rows: readonly string[], part: string): ReadonlySet<number> {
  return new Set(rows.flatMap((labels, row) => (labels.includes(part) ? [row] : [])));
}

/** As the value of a label. */
function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
