/**
 * An application that uses the SDK, over all its processes: one is killed and the next one begins with
 * nothing, or hands what it holds over to the next one, or by mistake to two; a supervisor starts it again,
 * now and then with what it was started with before. What a process does is `sdk-process.ts`'s.
 */

import type { RandomStream } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { HandedOver } from "../../../../src/client/index.js";
import type { ClientPlan } from "../../plan/client-plan.js";
import type { ClientEnding, Question } from "../../plan/fault.js";
import { driftingClock } from "../../world/node/drifting-clock.js";
import { SLEEP_CLOCK_MS } from "../../world/node/sdk-platform.js";
import type { HeldBelief } from "../belief.js";
import type { ClientSurroundings } from "../sim-client.js";
import type { WorldClient } from "../world-client.js";
import { type HeardByAll, SdkEars } from "./sdk-ear.js";
import { SdkProcess } from "./sdk-process.js";

/** The share of killed processes whose successor is started with the same holds to adopt. */
const SAME_FILE_SHARE = 0.5;
/** Of two processes that stand side by side each is stopped with that probability, or the first one is. */
const STOPPED_SHARE = 0.5;
/** Of two that adopt the same: one stands still soon after it has asked for a hold, */
const STOPPED_HEIR_SHARE = 0.5;
/** so soon, */
const STOPS_AFTER_MS = { least: 0, most: 10 } as const;
/** and for so long. */
const STOPPED_MS = { least: 20, most: 200 } as const;

export class SdkClient implements WorldClient {
  readonly host: number;
  readonly plan: ClientPlan;
  readonly #world: ClientSurroundings;
  readonly #clock: ProcessClock;
  readonly #random: RandomStream;
  readonly #heardByAll: HeardByAll = { answeredCount: 0 };
  #processes: readonly SdkProcess[] = [];
  /** Handed over by the process before, */
  #left: HandedOver | undefined;
  /** or by the one before that. */
  #lastLeft: HandedOver | undefined;
  /** How many processes go on with it. */
  #heirs = 1;
  #lives = 0;
  #actionsLeft: number;
  #onGrant: () => void = () => {};
  #onAttached: () => void = () => {};
  readonly #onAsking = new Map<Question, () => void>();
  /** Why no process runs: planned to begin later, or faults that ended it. */
  #heldDown = 1;
  isDraining = false;

  constructor(plan: ClientPlan, world: ClientSurroundings) {
    this.host = plan.host;
    this.plan = plan;
    this.#world = world;
    this.#clock = driftingClock(world.simulation, world.streams.of(`clock ${plan.host}`));
    this.#random = world.streams.of(`sdk ${plan.host}`);
    this.#actionsLeft = plan.actions;
  }

  get session(): number {
    return this.#processes[0]?.session ?? 0;
  }

  get answeredCount(): number {
    return this.#heardByAll.answeredCount;
  }

  get isIdle(): boolean {
    return this.#processes.every(({ isIdle }) => isIdle);
  }

  get isAsking(): boolean {
    const all = this.#processes;
    return all.length === 0 || all.some(({ session, calls }) => session === 0 || calls.isAsking);
  }

  get isWaiting(): boolean {
    return this.#processes.some(({ calls }) => calls.waits.length > 0);
  }

  get business(): string {
    return this.#processes.map(({ business }) => business).join(" and ") || "no process";
  }

  get trusted(): readonly HeldBelief[] {
    return this.#processes.flatMap(({ holds }) => holds.trusted);
  }

  start(): void {
    this.#world.simulation.after(this.plan.startMs, () => this.begin());
  }

  /** Its processes end. Undone by `begin`, once for each end. `gathers`: before one hands over too little. */
  end(how: ClientEnding, gathers = true): void {
    this.#heldDown += 1;
    const [first] = this.#processes;
    if (first === undefined) return;
    this.#note(`ends: ${how}`);
    // A process that stands still cannot hand anything over.
    const isLeft = how !== "kill" && !first.isPaused;
    for (const process of this.#processes) {
      if (isLeft && process === first) this.#leave(process, how, gathers);
      else this.#kill(process);
    }
  }

  #leave(process: SdkProcess, how: ClientEnding, gathers: boolean): void {
    process.handOver(gathers, (left) => {
      // Killed meanwhile.
      if (!this.#processes.includes(process)) return;
      this.#kill(process);
      this.#left = left;
      this.#heirs = how === "twins" ? 2 : 1;
      this.#begin();
    });
  }

  #kill(process: SdkProcess): void {
    process.kill();
    this.#processes = this.#processes.filter((other) => other !== process);
  }

  begin(): void {
    this.#heldDown -= 1;
    this.#begin();
  }

  #begin(): void {
    if (this.#heldDown > 0 || this.#processes.length > 0) return;
    const isAgain = this.#lastLeft !== undefined && this.#random.chance(SAME_FILE_SHARE);
    const left = this.#left ?? (isAgain ? this.#lastLeft : undefined);
    this.#left = undefined;
    this.#lastLeft = left;
    const heirs = left === undefined ? 1 : this.#heirs;
    this.#heirs = 1;
    this.#processes = Array.from({ length: heirs }, () => this.#processOf(left));
  }

  #processOf(left: HandedOver | undefined): SdkProcess {
    this.#lives += 1;
    const { streams, watch } = this.#world;
    const name = `${this.host}.${this.#lives}`;
    this.#note(`begins as ${name}`);
    const process: SdkProcess = new SdkProcess(
      {
        ...this.#world,
        client: this,
        plan: this.plan,
        clock: this.#clock,
        ears: new SdkEars(this, watch, this.#heardByAll, this.#clock, {
          onAttached: () => this.#tellAttached(),
          onAsking: (question) => {
            this.#tellAsking(question);
            if (question === "adopt") this.#stopHeir(process);
          },
        }),
        random: this.#random,
        platformRandom: streams.of(`platform ${this.host} life ${this.#lives}`),
        name,
        mayAct: () => this.#mayAct(),
        onGrant: () => this.#tellGrant(),
      },
      left,
    );
    return process;
  }

  /** Another one may have asked for the same. */
  #stopHeir(heir: SdkProcess): void {
    if (this.#processes.length < 2 || !this.#random.chance(STOPPED_HEIR_SHARE)) return;
    const { simulation } = this.#world;
    simulation.after(this.#random.integer(STOPS_AFTER_MS.least, STOPS_AFTER_MS.most), () => {
      heir.pause();
      const forMs = this.#random.integer(STOPPED_MS.least, STOPPED_MS.most);
      simulation.after(forMs, () => heir.resume());
    });
  }

  pause(): void {
    const [first, ...others] = this.#processes;
    const stopped = others.filter(() => this.#random.chance(STOPPED_SHARE));
    const isFirst = stopped.length === 0 || this.#random.chance(STOPPED_SHARE);
    for (const process of stopped) process.pause();
    if (isFirst) first?.pause();
  }

  resume(): void {
    for (const process of this.#processes) process.resume();
  }

  /** Its machine is suspended. Returns what wakes it up; `undefined`: it stands still already. */
  suspend(): (() => void) | undefined {
    if (this.#clock.isAsleep || this.#processes.some(({ isPaused }) => isPaused)) return undefined;
    for (const process of this.#processes) process.pause();
    this.#clock.sleep();
    return () => {
      this.#clock.wake();
      for (const process of this.#processes) process.resume(2 * SLEEP_CLOCK_MS);
    };
  }

  jumpWall(byMs: number): void {
    this.#clock.jumpWall(byMs);
  }

  atNextGrant(task: () => void): void {
    this.#onGrant = task;
  }

  atNextAttach(task: () => void): void {
    this.#onAttached = task;
  }

  /** When it next asks that. */
  atNextAsking(question: Question, task: () => void): void {
    this.#onAsking.set(question, task);
  }

  /** It finds its way by itself. */
  prefer(): void {}

  reconnect(): void {
    for (const process of this.#processes) process.reconnect();
  }

  allow(actions: number): void {
    this.#actionsLeft = actions;
  }

  #mayAct(): boolean {
    if (this.#actionsLeft <= 0) return false;
    this.#actionsLeft -= 1;
    return true;
  }

  #tellGrant(): void {
    const task = this.#onGrant;
    this.#onGrant = () => {};
    task();
  }

  #tellAttached(): void {
    const task = this.#onAttached;
    this.#onAttached = () => {};
    task();
  }

  #tellAsking(question: Question): void {
    const task = this.#onAsking.get(question);
    this.#onAsking.delete(question);
    task?.();
  }

  #note(text: string): void {
    this.#world.watch.onNote(this, text);
  }
}
