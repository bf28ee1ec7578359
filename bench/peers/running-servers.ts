/** The servers of one peer: started together, and always ended together. */
import { setTimeout as delay } from "node:timers/promises";
import { type PeerCommand, PeerProcess } from "./peer-process.js";

const ANSWER_MS_MAX = 60_000;
const ASK_AGAIN_MS = 50;

export class RunningServers {
  readonly processes: readonly PeerProcess[];
  readonly death: Promise<never>;

  private constructor(processes: readonly PeerProcess[]) {
    this.processes = processes;
    this.death = Promise.race(processes.map((each) => each.death));
    this.death.catch(() => undefined);
  }

  /**
   * Resolves when `areReady` resolves to true for them; rejects, with all of them ended, if one
   * cannot be started, if one ends, or if that takes too long.
   *
   * @param areReady may reject while they are not ready
   */
  static async start(
    servers: Readonly<Record<string, PeerCommand>>,
    areReady: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<RunningServers> {
    const starting = Object.entries(servers).map(([name, each]) => PeerProcess.start(name, each));
    const settled = await Promise.allSettled(starting);
    const running = new RunningServers(
      settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
    );
    try {
      for (const each of settled) if (each.status === "rejected") throw each.reason;
      await Promise.race([running.#until(areReady, signal), running.death]);
      return running;
    } catch (error) {
      await running.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((each) => each.stop()));
  }

  async #until(areReady: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const deadlineMs = performance.now() + ANSWER_MS_MAX;
    let reason: unknown;
    for (;;) {
      signal.throwIfAborted();
      const isReady = await areReady().catch((error: unknown) => {
        reason = error;
        return false;
      });
      if (isReady) return;
      if (performance.now() > deadlineMs) {
        const names = this.processes.map(({ name }) => name).join(", ");
        throw new Error(`${names}: no answer in ${ANSWER_MS_MAX / 1_000} s`, { cause: reason });
      }
      await delay(ASK_AGAIN_MS, undefined, { signal });
    }
  }
}
