/**
 * Redlock, after the description at redis.io: the same SET at five independent nodes at once; the
 * lock is acquired when a majority has agreed in time. If not, the keys are deleted everywhere and
 * it is tried again after a random pause. A holder has a majority, so it does not wait for the
 * slower nodes.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { GiveBack, PeerClient } from "../peer.js";
import type { PeerLoad } from "../peer-load.js";
import { LocalTurns } from "../wake-ups.js";
import { connectKeys, type RedisKeys } from "./redis-locks.js";

/** Long enough for another request to get through, short enough not to leave the lock unused. */
const PAUSE_MS_MAX = 10;

class RedlockLocks implements PeerClient {
  readonly #nodes: readonly RedisKeys[];
  readonly #isShared: boolean;
  readonly #turns = new LocalTurns();

  constructor(nodes: readonly RedisKeys[], isShared: boolean) {
    this.#nodes = nodes;
    this.#isShared = isShared;
  }

  async acquire(key: string): Promise<GiveBack> {
    if (this.#isShared) await this.#turns.take(key);
    const pass = () => {
      if (this.#isShared) this.#turns.pass(key);
    };
    try {
      for (;;) {
        const value = this.#nodes[0]?.draw() ?? "";
        if (await this.#majorityOf((node) => node.set(key, value))) {
          return () => this.#majorityOf((node) => node.delete(key, value)).finally(pass);
        }
        await Promise.allSettled(this.#nodes.map((node) => node.delete(key, value)));
        if (!this.#isShared) throw new Error(`${key} has another holder`);
        await delay(Math.random() * PAUSE_MS_MAX);
      }
    } catch (error) {
      pass();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) node.close();
  }

  /** Resolves as soon as the answers so far decide it. */
  #majorityOf(ask: (node: RedisKeys) => Promise<boolean>): Promise<boolean> {
    const majority = (this.#nodes.length >> 1) + 1;
    return new Promise((resolve) => {
      let agreed = 0;
      let refused = 0;
      const count = (isAgreed: boolean): void => {
        if (isAgreed) agreed += 1;
        else refused += 1;
        if (agreed === majority) resolve(true);
        if (refused === majority) resolve(false);
      };
      for (const node of this.#nodes) ask(node).then(count, () => count(false));
    });
  }
}

export function connectRedlock(ports: readonly number[], load: PeerLoad): Promise<PeerClient[]> {
  return Promise.all(
    Array.from({ length: load.connections }, async () => {
      // Releases are not announced: the algorithm does not include that.
      const nodes = ports.map((port) => connectKeys(port, { ...load, isShared: false }));
      return new RedlockLocks(await Promise.all(nodes), load.isShared);
    }),
  );
}
