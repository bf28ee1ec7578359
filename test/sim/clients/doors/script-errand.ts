/**
 * One errand of an owner that locks by scripts: a lock of one holder, how often it is held by the answers that
 * came, and by how much that can be wrong because answers did not come. A call without an answer has had its
 * effect, will have it at any time, or never has it; and never twice.
 */
import type { LeaseBelief } from "../leases/lease-belief.js";
import type { ScriptLock } from "./script-locks.js";

export class ScriptErrand {
  readonly lock: ScriptLock;
  /** It began while the cluster was calm, in that term; 0: it did not. */
  readonly calmTerm: number;
  /** How often it is held, if what was not answered had no effect. */
  count = 0;
  /** Takes and releases that were not answered. */
  doubtfulTakes = 0;
  doubtfulReleases = 0;
  /** Something was not answered, be it an extension. */
  hasUnanswered = false;
  /** What it counts on: one for each part of the lock. */
  beliefs: readonly LeaseBelief[] = [];
  attemptsLeft: number;
  /** Calls without an answer so far. */
  asking = 0;
  isReturning = false;

  constructor(lock: ScriptLock, calmTerm: number, attemptsLeft: number) {
    this.lock = lock;
    this.calmTerm = calmTerm;
    this.attemptsLeft = attemptsLeft;
  }

  get isTrusted(): boolean {
    return this.beliefs.length > 0 && this.beliefs.every(({ isTrusted }) => isTrusted);
  }

  /** Whether something was asked that may still have its effect. */
  get isInDoubt(): boolean {
    return this.doubtfulTakes + this.doubtfulReleases > 0;
  }

  /** How often it is surely held, as long as its time is not over. */
  get sureCount(): number {
    return this.count - this.doubtfulReleases;
  }

  /** What is wrong with an answer that says that it is held so often. */
  problemOfCount(told: number): string | undefined {
    const most = this.count + this.doubtfulTakes;
    if (told >= this.sureCount && told <= most) return undefined;
    return `is held ${told} times, and was taken ${this.sureCount} to ${most} times more than released`;
  }

  giveUp(how: "released" | "lapsed"): void {
    for (const belief of this.beliefs) belief.givenUp ??= how;
  }
}
