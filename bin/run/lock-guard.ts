/**
 * Watches the lock while the command runs, and ends the command in time when the lock is being
 * lost: SIGTERM early enough for the whole grace period, SIGKILL before another task can hold the
 * lock. After that decision a late renewal changes nothing: the command has been asked to end.
 */
import type { Lock } from "../../src/index.js";
import type { CommandProcess } from "./command-process.js";
import { killStep } from "./kill-schedule.js";

/** The part of a lock that is watched. */
export type GuardedLock = Pick<Lock, "signal" | "isHeld" | "remainingMs" | "on">;

export interface LockGuardOptions {
  readonly lock: GuardedLock;
  readonly command: CommandProcess;
  readonly killGraceMs: number;
  /** Called once, when the command is asked to end; the lock is held for `remainingMs` more. */
  onLoss(remainingMs: number): void;
}

export class LockGuard {
  readonly #options: LockGuardOptions;
  readonly #onAbort = (): void => this.#look();
  readonly #forgetRevoke: () => void;
  #timer: NodeJS.Timeout | undefined;
  #hasTerminated = false;

  constructor(options: LockGuardOptions) {
    this.#options = options;
    options.lock.signal.addEventListener("abort", this.#onAbort, { once: true });
    // An operator's revoke moves the end before the next check.
    this.#forgetRevoke = options.lock.on("revoking", () => this.#look());
    this.#look();
  }

  /** Whether the command was asked to end because of the lock. */
  get hasTerminated(): boolean {
    return this.#hasTerminated;
  }

  /** Checks now: after this process was stopped for a while, before the command goes on. */
  check(): void {
    this.#look();
  }

  /** Call when the command has ended. After a loss this also ends processes that it left. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#options.lock.signal.removeEventListener("abort", this.#onAbort);
    this.#forgetRevoke();
    if (this.#hasTerminated) this.#options.command.kill();
  }

  #look(): void {
    const { lock, command, killGraceMs } = this.#options;
    const remainingMs = lock.isHeld ? lock.remainingMs : 0;
    if (this.#hasTerminated) {
      // The lock ended for good within the grace period, so the rest of the period is void.
      if (remainingMs <= 0) this.#kill();
      return;
    }
    const step = killStep(remainingMs, killGraceMs);
    clearTimeout(this.#timer);
    if (step.action === "wait") {
      this.#timer = setTimeout(() => this.#look(), step.forMs);
      return;
    }
    this.#hasTerminated = true;
    this.#options.onLoss(remainingMs);
    if (step.killAfterMs <= 0) {
      this.#kill();
      return;
    }
    command.terminate();
    this.#timer = setTimeout(() => this.#kill(), step.killAfterMs);
  }

  #kill(): void {
    clearTimeout(this.#timer);
    this.#options.command.kill();
  }
}
