/**
 * The SDK's port to the world, for one process of an application: its clocks, timers that stand still
 * while the process does, and sockets that lead through the simulated network. Nothing here is real:
 * the same seed gives the same calls in the same order.
 */

import { createHash } from "node:crypto";
import type { RandomStream } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Platform, Timer, Transport, TransportEvents } from "../../../../src/client/index.js";
import type { ClientNetwork } from "../network/client-network.js";
import type { SocketEnding } from "../network/node-socket.js";
import type { SocketLine } from "../network/socket-line.js";

const URL_PATTERN = /^wss?:\/\/node-(\d+)\/v1$/;

/** What travels on one connection, before the SDK sees it and after it said it. */
export interface Ear {
  onSent(frame: Uint8Array): void;
  onHeard(frame: Uint8Array): void;
  onClosed(ending: SocketEnding): void;
}

export interface SdkSurroundings {
  readonly host: number;
  readonly life: ProcessLife;
  readonly clock: ProcessClock;
  /** Its system has a clock that counts sleep, as Linux has. */
  readonly countsSleep: boolean;
  readonly network: ClientNetwork;
  readonly random: RandomStream;
  /** The ear of a connection that begins. */
  readonly listen: (node: number) => Ear;
}

/** The resolution of the clock that counts sleep. */
export const SLEEP_CLOCK_MS = 10;

/** `isSecure`: tokens may be sent there. */
export function endpointOf(node: number, isSecure: boolean): string {
  return `${isSecure ? "wss" : "ws"}://node-${node}`;
}

export class SdkPlatform implements Platform {
  readonly #world: SdkSurroundings;
  readonly #lines = new Set<SocketLine>();
  readonly random: () => number;
  readonly sinceBootMs?: () => number;

  constructor(world: SdkSurroundings) {
    this.#world = world;
    this.random = world.random.next;
    if (world.countsSleep) this.sinceBootMs = () => inHundredths(world.clock.withSleepMs());
  }

  monotonicMs(): number {
    return this.#world.clock.nowMs();
  }

  wallMs(): number {
    return this.#world.clock.wallMs();
  }

  randomBytes(target: Uint8Array): void {
    for (let at = 0; at < target.length; at += 1) target[at] = this.#world.random.below(256);
  }

  async sha256(bytes: Uint8Array): Promise<Uint8Array> {
    return createHash("sha256").update(bytes).digest();
  }

  soon(task: () => void): void {
    const { life } = this.#world;
    life.timeline.after(0, () => life.deliver(task));
  }

  setTimer(delayMs: number, task: () => void): Timer {
    const { life, clock } = this.#world;
    const cancel = clock.timer(delayMs, (ready) => life.deliver(ready), task);
    return { cancel, setKeepsProcess: () => {} };
  }

  open(url: string, events: TransportEvents): Transport {
    const { host, life, network, listen } = this.#world;
    const node = Number(URL_PATTERN.exec(url)?.[1]);
    if (!(node >= 1)) throw new Error(`no node is at ${url}`);
    const ear = listen(node);
    let isClosed = false;
    const deliver = (task: () => void): void => {
      life.deliver(() => {
        if (!isClosed) task();
      });
    };
    const line = network.connectSocket(node, {
      host,
      onOpen: () => deliver(() => events.onOpen()),
      onFrame: (frame) => {
        deliver(() => {
          ear.onHeard(frame);
          events.onFrame(frame);
          // It was the caller's during the call only.
          frame.fill(0);
        });
      },
      onClosed: (ending) => {
        this.#lines.delete(line);
        deliver(() => {
          isClosed = true;
          ear.onClosed(ending);
          events.onClose(ending.code, ending.reason);
        });
      },
    });
    this.#lines.add(line);
    return {
      send: (frame) => {
        if (isClosed) return;
        ear.onSent(frame);
        line.send(frame);
      },
      close: () => {
        isClosed = true;
        this.#lines.delete(line);
        line.leave();
      },
      setKeepsProcess: () => {},
    };
  }

  /** All connections break, and what was under way on them is lost. */
  cut(): void {
    for (const line of [...this.#lines]) line.cut();
  }

  /** The process is gone: its system ends what it had open. */
  end(): void {
    for (const line of this.#lines) line.leave();
    this.#lines.clear();
  }
}

/** As `/proc/uptime` has it. */
function inHundredths(ms: number): number {
  return Math.floor(ms / SLEEP_CLOCK_MS) * SLEEP_CLOCK_MS;
}
