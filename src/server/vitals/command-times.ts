/**
 * How long commands take at the node of their client, and entries at the leader. The clock is read
 * once for all commands that arrive between two turns, and once for all that a turn answers, so that
 * a thousand commands cost two readings.
 */
import { OP } from "../../protocol/index.js";
import type { Clock } from "../ports.js";
import { Histogram, RecentValues } from "./histogram.js";

const KINDS = ["acquire", "release", "keepalive", "session", "change", "order"] as const;
type Kind = (typeof KINDS)[number];
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
/** Entries whose commit is awaited and measured; further ones are not measured. */
const ENTRIES_MAX = 64;

const KIND_OF: Readonly<Record<number, Kind>> = {
  [OP.acquire]: "acquire",
  [OP.end]: "release",
  [OP.keepalive]: "keepalive",
  [OP.open]: "session",
  [OP.resume]: "session",
  [OP.recall]: "session",
  [OP.close]: "session",
  [OP.downgrade]: "change",
  [OP.upgrade]: "change",
  [OP.update]: "change",
  [OP.handOver]: "change",
  [OP.adopt]: "change",
};
/** The row of each operation; those that are not listed are orders. */
const ROWS = Uint8Array.from({ length: OP.inspect }, (_, op) =>
  KINDS.indexOf(KIND_OF[op] ?? "order"),
);

export class CommandTimes {
  readonly commands = new Histogram({
    name: "command_seconds",
    help: "From the arrival of a command at this node to its execution here.",
    bounds: SECONDS,
    rows: KINDS.map((kind) => `kind="${kind}"`),
  });
  readonly commits = new Histogram({
    name: "commit_seconds",
    help: "From the proposal of an entry by this node to its commit.",
    bounds: SECONDS,
    rows: [""],
  });
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #recentCommits = new RecentValues(this.commits, [0]);
  /** Microseconds in 32 bits, which wrap; 0: nothing has arrived since the last turn. */
  #arrivalUs = 0;
  #answerUs = 0;
  /** Proposed entries that are not committed, as a ring: their indexes, and when they were proposed. */
  readonly #indexes = new Float64Array(ENTRIES_MAX);
  readonly #proposedMs = new Float64Array(ENTRIES_MAX);
  #first = 0;
  #count = 0;

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
  }

  /** When what arrives now arrived: equal for everything that arrives between two turns. */
  get arrivalUs(): number {
    if (this.#arrivalUs === 0) this.#arrivalUs = microseconds(this.#clock.nowMs());
    return this.#arrivalUs;
  }

  /** What has arrived until now is of this turn. */
  beginTurn(): void {
    this.#arrivalUs = 0;
  }

  /** Everything up to `commitIndex` is committed, and is about to be applied and answered. */
  beginAnswers(commitIndex: number): void {
    const nowMs = this.#clock.nowMs();
    this.#answerUs = microseconds(nowMs);
    while (this.#count > 0 && (this.#indexes[this.#first] as number) <= commitIndex) {
      this.commits.observe(0, (nowMs - (this.#proposedMs[this.#first] as number)) / 1_000);
      this.#first = (this.#first + 1) % ENTRIES_MAX;
      this.#count -= 1;
    }
  }

  /** The table has executed a command that arrived then. */
  answered(op: number, arrivalUs: number): void {
    const tookUs = (this.#answerUs - arrivalUs) | 0;
    // One that took more than half an hour wraps.
    const us = tookUs < 0 ? 2 ** 31 : tookUs;
    this.commands.observe(ROWS[op] as number, us / 1e6);
  }

  proposed(index: number, nowMs: number): void {
    if (this.#count === ENTRIES_MAX) return;
    const at = (this.#first + this.#count) % ENTRIES_MAX;
    this.#indexes[at] = index;
    this.#proposedMs[at] = nowMs;
    this.#count += 1;
  }

  /** This node begins or ceases to lead: what it proposed may never commit. */
  forgetProposed(): void {
    this.#count = 0;
  }

  /** Commits since the last call, per bucket. */
  takeCommits(): Float64Array {
    return this.#recentCommits.take();
  }
}

function microseconds(ms: number): number {
  // Never 0, which has a meaning of its own.
  return (ms * 1_000) | 1;
}
