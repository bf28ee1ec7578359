/**
 * A client that keeps one lock and acquires and releases another one repeatedly, while a test
 * operates the cluster. None of its commands may fail, each token must be larger than the one
 * before, and it must not lose the lock that it keeps.
 */
import { expect } from "vitest";
import { type Client, connect, type Lock } from "../../../src/index.js";
import { until } from "./process-life.js";

const TTL_MS = 8_000;
/** The number of keys that all workers share. */
const KEYS = 2;
const ROUNDS = 10;

export class SteadyWorker implements AsyncDisposable {
  readonly #client: Client;
  readonly #number: number;
  readonly #kept: Lock;
  readonly #stopped: Promise<void>;
  #isStopping = false;
  #rounds = 0;
  #lastToken = 0;

  private constructor(client: Client, number: number, kept: Lock) {
    this.#client = client;
    this.#number = number;
    this.#kept = kept;
    this.#stopped = this.#work();
    // Reported by `stop`.
    this.#stopped.catch(() => undefined);
  }

  static async on(endpoints: readonly string[], number = 1): Promise<SteadyWorker> {
    const client = await connect({ endpoints, name: `worker-${number}`, ttlMs: TTL_MS });
    return new SteadyWorker(client, number, await client.acquire(`kept-${number}`));
  }

  /** Resolves after `ROUNDS` more rounds; rejects if a command failed. */
  async goesOn(): Promise<void> {
    const enough = this.#rounds + ROUNDS;
    await Promise.race([
      until(`worker ${this.#number} to go on`, () => this.#rounds >= enough),
      this.#stopped.then(() => Promise.reject(new Error("the worker stopped"))),
    ]);
    expect(this.#kept.signal.aborted).toBe(false);
  }

  /** Rejects with the first failure. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#stopped;
    expect(this.#kept.signal.aborted).toBe(false);
    expect(await this.#kept.release()).toEqual({ released: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await this.#client.close();
    await this.#stopped.catch(() => undefined);
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      const lock = await this.#client.acquire(`work-${this.#number % KEYS}`);
      expect(lock.token).toBeGreaterThan(this.#lastToken);
      this.#lastToken = lock.token;
      expect(await lock.release()).toEqual({ released: true });
      this.#rounds += 1;
    }
  }
}
