/**
 * One client's machine in the simulated world: clocks that drift, a process that can be stopped, a
 * machine that can be put to sleep, and sockets that lead to a `TableServer`. A second
 * implementation of the SDK's platform port.
 */
import { AsyncResource } from "node:async_hooks";
import { createHash } from "node:crypto";
import { ProcessClock } from "../../../lab/simulated/process-clock.js";
import type { Platform, Timer, Transport, TransportEvents } from "../../../src/client/index.js";
import { createTaskContext } from "../../../src/client/transport/node-task-context.js";
import { NODE_TRACING } from "../../../src/client/transport/node-tracing.js";
import type { TaskContext } from "../../../src/client/transport/platform.js";
import type { ServerConnection } from "./server-connection.js";
import type { SimulatedWorld } from "./simulated-world.js";
import type { TableServer } from "./table-server.js";

const WALL_START_MS = 1_700_000_000_000;

export class SimulatedPlatform implements Platform {
  readonly tracing = NODE_TRACING;
  /** What the people who run the program were warned of. */
  readonly warnings: string[] = [];
  readonly #world: SimulatedWorld;
  readonly #server: TableServer;
  readonly #clock: ProcessClock;
  /** What waits for the process to go on, while it is stopped. */
  #held: (() => void)[] | undefined;
  /** Timers that came while the monotonic clock stood still and the process did not. */
  #stalled: (() => void)[] = [];
  /** Told to go on, but none of its code has looked at the clock yet. */
  #isWaking = false;
  #carry: <Given extends unknown[]>(task: (...given: Given) => void) => typeof task = (task) =>
    task;
  /** How often the clock that counts sleep was read. */
  sleepClockReads = 0;
  /** The one connection that counts. */
  connection: ServerConnection | undefined;
  keepsProcess = false;
  /** Frames that this client sent, over all of its connections. */
  framesSent = 0;

  readonly sinceBootMs?: () => number;

  /**
   * `rate`: how fast the monotonic clock runs; 1 is true time. `countsSleep`: whether it has a
   * clock for that, in steps of ten as on Linux.
   */
  constructor(world: SimulatedWorld, server: TableServer, rate = 1, countsSleep = false) {
    this.#world = world;
    this.#server = server;
    this.#clock = new ProcessClock(world, { zeroMs: 0, rate, wallMs: WALL_START_MS });
    if (!countsSleep) return;
    this.sinceBootMs = () => {
      this.sleepClockReads += 1;
      return Math.floor(this.#clock.withSleepMs() / 10) * 10;
    };
  }

  warn(text: string): void {
    this.warnings.push(text);
  }

  /** Whether its own code could not have run yet, whatever happened meanwhile. */
  get isStopped(): boolean {
    return this.#held !== undefined || this.#isWaking;
  }

  /** SIGSTOP. With `isAsleep` the monotonic clock stands still too, as in a suspended machine. */
  stop(isAsleep = false): void {
    this.#held ??= [];
    if (isAsleep) this.#clock.sleep();
  }

  /** SIGCONT: what came meanwhile is worked off, timers and messages in the order they were due. */
  goOn(): void {
    const held = [...this.#stalled, ...(this.#held ?? [])];
    this.#stalled = [];
    this.#held = undefined;
    this.#clock.wake();
    this.#isWaking = held.length > 0;
    for (const task of held) this.#world.after(0, () => this.#whenRunning(task));
  }

  /** What the application on this machine does: nothing while it is stopped. */
  call(task: () => void): void {
    this.#whenRunning(task);
  }

  /** The monotonic clock stands still from now on, and timers with it; the process runs. */
  stallMonotonicClock(): void {
    this.#clock.sleep();
  }

  jumpWallClock(byMs: number): void {
    this.#clock.jumpWall(byMs);
  }

  monotonicMs(): number {
    this.#isWaking = false;
    return this.#clock.nowMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  readonly random = (): number => this.#world.random();

  randomBytes(target: Uint8Array): void {
    for (let i = 0; i < target.length; i++) target[i] = Math.floor(this.#world.random() * 256);
  }

  async sha256(bytes: Uint8Array): Promise<Uint8Array> {
    return createHash("sha256").update(bytes).digest();
  }

  soon(task: () => void): void {
    const carried = this.#carry(task);
    this.#world.after(0, () => this.#whenRunning(carried));
  }

  setTimer(delayMs: number, task: () => void): Timer {
    const deliver = (ready: () => void): void => {
      if (this.#clock.isAsleep && this.#held === undefined) this.#stalled.push(ready);
      else this.#whenRunning(ready);
    };
    return {
      cancel: this.#clock.timer(delayMs, deliver, this.#carry(task)),
      setKeepsProcess: (keeps) => {
        this.keepsProcess = keeps;
      },
    };
  }

  async loadTaskContext<Task>(): Promise<TaskContext<Task>> {
    // As timers and sockets of Node do: what they call belongs to the task that made them.
    this.#carry = (task) => AsyncResource.bind(task);
    return createTaskContext<Task>();
  }

  open(url: string, events: TransportEvents): Transport {
    const call = this.#carry((task: () => void) => this.#whenRunning(task));
    const connection = this.#server.connect(url, {
      onProgress: () => call(() => events.onProgress()),
      onOpen: () => call(() => events.onOpen()),
      onFrame: (frame) => call(() => events.onFrame(frame)),
      onClose: (code, reason) => call(() => events.onClose(code, reason)),
    });
    this.connection = connection;
    return {
      // A copy, since the caller may use its buffer again at once.
      send: (frame) => {
        this.framesSent += 1;
        connection.toServer(frame.slice());
      },
      close: (code) => connection.closedByClient(code),
      setKeepsProcess: () => undefined,
    };
  }

  #whenRunning(task: () => void): void {
    if (this.#held !== undefined) {
      this.#held.push(task);
      return;
    }
    task();
  }
}
