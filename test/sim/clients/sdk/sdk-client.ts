/**
 * An application that uses the SDK, over all its processes: one is killed and the next one begins with
 * nothing, or leaves its session to the next one; a supervisor starts it again. What a process does is
 * `sdk-process.ts`'s.
 */
import type { ExportedSession } from "../../../../src/client/index.js";
import type { RandomStream } from "../../engine/random-stream.js";
import type { ClientEnding } from "../../plan/fault.js";
import type { ClientPlan } from "../../plan/plan.js";
import { ProcessClock } from "../../world/process-clock.js";
import type { ClientSurroundings } from "../sim-client.js";
import type { WorldClient } from "../world-client.js";
import { SdkEars } from "./sdk-ear.js";
import { SdkProcess } from "./sdk-process.js";

export class SdkClient implements WorldClient {
  readonly host: number;
  readonly plan: ClientPlan;
  readonly #world: ClientSurroundings;
  readonly #clock: ProcessClock;
  readonly #random: RandomStream;
  readonly #ears: SdkEars;
  #process: SdkProcess | undefined;
  /** Left by the process before. */
  #exported: ExportedSession | undefined;
  #lives = 0;
  #actionsLeft: number;
  #onGrant: () => void = () => {};
  /** Why no process runs: planned to begin later, or faults that ended it. */
  #heldDown = 1;
  isDraining = false;

  constructor(plan: ClientPlan, world: ClientSurroundings) {
    this.host = plan.host;
    this.plan = plan;
    this.#world = world;
    this.#clock = new ProcessClock(world.simulation, world.streams.of(`clock ${plan.host}`));
    this.#random = world.streams.of(`sdk ${plan.host}`);
    this.#ears = new SdkEars(this, world.watch);
    this.#actionsLeft = plan.actions;
  }

  get session(): number {
    return this.#process?.session ?? 0;
  }

  get answeredCount(): number {
    return this.#ears.answeredCount;
  }

  get isIdle(): boolean {
    return this.#process === undefined || this.#process.isIdle;
  }

  get business(): string {
    return this.#process?.business ?? "no process";
  }

  get trustsLease(): boolean {
    return this.#process?.trustsLease === true;
  }

  trusts(token: number): boolean {
    return this.#process?.trusts(token) === true;
  }

  start(): void {
    this.#world.simulation.after(this.plan.startMs, () => this.begin());
  }

  /** Its process ends. Undone by `begin`, once for each end. */
  end(how: ClientEnding): void {
    this.#heldDown += 1;
    const process = this.#process;
    if (process === undefined) return;
    this.#note(`ends: ${how}`);
    // A process that stands still cannot leave anything to anybody.
    if (how === "export" && !process.isPaused) {
      process.export((exported) => {
        this.#exported = exported;
      });
    }
    process.kill();
    this.#process = undefined;
  }

  begin(): void {
    this.#heldDown -= 1;
    if (this.#heldDown > 0 || this.#process !== undefined) return;
    this.#lives += 1;
    const exported = this.#exported;
    this.#exported = undefined;
    const { streams } = this.#world;
    this.#process = new SdkProcess(
      {
        ...this.#world,
        client: this,
        plan: this.plan,
        clock: this.#clock,
        ears: this.#ears,
        random: this.#random,
        platformRandom: streams.of(`platform ${this.host} life ${this.#lives}`),
        name: `${this.host}.${this.#lives}`,
        mayAct: () => this.#mayAct(),
        onGrant: () => this.#tellGrant(),
      },
      exported,
    );
    this.#note(`begins as ${this.host}.${this.#lives}`);
  }

  pause(): void {
    this.#process?.pause();
  }

  resume(): void {
    this.#process?.resume();
  }

  atNextGrant(task: () => void): void {
    this.#onGrant = task;
  }

  /** It finds its way by itself. */
  prefer(): void {}

  reconnect(): void {
    this.#process?.reconnect();
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

  #note(text: string): void {
    this.#world.watch.onNote(this, text);
  }
}
