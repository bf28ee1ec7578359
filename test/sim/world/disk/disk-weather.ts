/**
 * How the disk of one node behaves at the moment: how long an operation takes, whether it hangs,
 * which one fails and how. Faults set it; the disk asks.
 */

import type { FileOperation } from "../../../../lab/memory/memory-file-system.js";
import type { StoreAccess } from "../../../../lab/memory/memory-ordered-store.js";
import type { RandomStream } from "../../../../lab/random-stream.js";
import type { Simulation } from "../../engine/simulation.js";

export interface DiskTimes {
  readonly writeMs: number;
  /** Spread above `writeMs`; now and then `stragglerFactor` times as much. */
  readonly jitterMs: number;
  readonly stragglerFactor: number;
}

const STRAGGLER_CHANCE = 0.005;
const READ_MS = 0.05;
const SLOW_FACTOR_MAX = 50;
/** A disk that is never slower is written to at once, in no time. */
const QUICK_MS = 0.2;

type DiskError = "EIO" | "ENOSPC";
export type DiskTrouble = "stalled" | "slow" | "full";

export class DiskWeather {
  /** An error was given to the current process: it is expected to end. */
  hasFailed = false;
  #slowFactor = 1;
  /** Counted in operations from now on; the one that reaches 0 fails. */
  #writesToError = Number.POSITIVE_INFINITY;
  #readsToError = Number.POSITIVE_INFINITY;
  #hungUntilMs = 0;
  #isFull = false;
  /** What befalls the next write that is done at once; it may throw. */
  #atWriteNow: () => void = () => {};
  readonly #simulation: Simulation;
  readonly #random: RandomStream;
  readonly #times: DiskTimes;

  constructor(simulation: Simulation, random: RandomStream, times: DiskTimes) {
    this.#simulation = simulation;
    this.#random = random;
    this.#times = times;
  }

  /** Asked for when something is about to grow. */
  get slowFactor(): number {
    return this.#slowFactor;
  }

  /** Slownesses add up to a limit: what began under them is not to take forever. */
  set slowFactor(factor: number) {
    this.#slowFactor = Math.min(factor, SLOW_FACTOR_MAX);
  }

  /** Whether a write would be over at once. */
  get isQuick(): boolean {
    const { writeMs, jitterMs } = this.#times;
    const isFair = this.#slowFactor === 1 && this.#simulation.nowMs >= this.#hungUntilMs;
    const isSound = this.#writesToError === Number.POSITIVE_INFINITY && !this.#isFull;
    return writeMs + jitterMs <= QUICK_MS && isFair && isSound;
  }

  /** What is wrong with it now, by name. */
  get troubles(): readonly DiskTrouble[] {
    const troubles: DiskTrouble[] = [];
    if (this.#simulation.nowMs < this.#hungUntilMs) troubles.push("stalled");
    if (this.#slowFactor > 1) troubles.push("slow");
    if (this.#isFull) troubles.push("full");
    return troubles;
  }

  get capacityBytes(): number {
    if (!this.#isFull) return Number.POSITIVE_INFINITY;
    this.hasFailed = true;
    return 0;
  }

  /** Nothing may grow any more. */
  set isFull(isFull: boolean) {
    this.#isFull = isFull;
  }

  /** Nothing that begins before `untilMs` ends before it. */
  hang(untilMs: number): void {
    this.#hungUntilMs = Math.max(this.#hungUntilMs, untilMs);
  }

  failWriteAfter(operations: number): void {
    this.#writesToError = operations;
  }

  failReadAfter(operations: number): void {
    this.#readsToError = operations;
  }

  /** `befall` is called in the middle of the next write that is done at once. */
  hangWriteNow(befall: () => void): void {
    this.#atWriteNow = befall;
  }

  /** The next write that is done at once fails; `befall` is called before. */
  failWriteNow(befall: () => void): void {
    this.#atWriteNow = () => {
      befall();
      throw this.#error("EIO", "at once");
    };
  }

  /** A write is done at once: fails with `EIO` when that was ordered. */
  onWriteNow(): void {
    const befall = this.#atWriteNow;
    this.#atWriteNow = () => {};
    befall();
  }

  /** Everything that is not the contents is as it should be again. */
  heal(): void {
    this.#atWriteNow = () => {};
    this.#slowFactor = 1;
    this.#writesToError = Number.POSITIVE_INFINITY;
    this.#readsToError = Number.POSITIVE_INFINITY;
    this.#hungUntilMs = 0;
    this.#isFull = false;
  }

  /** Passes the time of an operation on files; fails with `EIO` when that was ordered. */
  onFile({ kind, path }: FileOperation): Promise<void> {
    return kind === "read" || kind === "list" ? this.#read(path) : this.#change(path);
  }

  async onStore({ kind }: StoreAccess): Promise<void> {
    if (kind !== "write") return this.#read("store");
    if (this.#isFull) throw this.#error("ENOSPC", "store");
    return this.#change("store");
  }

  async #change(path: string): Promise<void> {
    const { writeMs, jitterMs, stragglerFactor } = this.#times;
    const factor = this.#random.chance(STRAGGLER_CHANCE) ? stragglerFactor : 1;
    await this.#pass((writeMs + this.#random.next() * jitterMs * factor) * this.slowFactor);
    this.#writesToError -= 1;
    if (this.#writesToError < 0) {
      this.#writesToError = Number.POSITIVE_INFINITY;
      throw this.#error("EIO", path);
    }
  }

  async #read(path: string): Promise<void> {
    await this.#pass(READ_MS * this.slowFactor);
    this.#readsToError -= 1;
    if (this.#readsToError < 0) {
      this.#readsToError = Number.POSITIVE_INFINITY;
      throw this.#error("EIO", path);
    }
  }

  #error(code: DiskError, path: string): Error {
    this.hasFailed = true;
    return Object.assign(new Error(`${code}: ${path} (simulated)`), { code });
  }

  async #pass(delayMs: number): Promise<void> {
    await this.#simulation.sleep(delayMs);
    // What hangs when it is over goes on hanging.
    while (this.#simulation.nowMs < this.#hungUntilMs) {
      // Simulated time has steps of a microsecond: a shorter rest would never pass.
      await this.#simulation.sleep(Math.max(this.#hungUntilMs - this.#simulation.nowMs, 0.001));
    }
  }
}
