/**
 * A well-behaved client that works while a test attacks its cluster, and reports afterwards whether
 * it noticed anything.
 */
import { expect } from "vitest";
import { type Client, connect, type Lock } from "../../../src/index.js";
import type { ClusterProcess } from "./cluster-process.js";
import { until } from "./process-life.js";

const KEPT = "bystander/kept";
const WORK = "bystander/work";

export class Bystander implements AsyncDisposable {
  readonly #client: Client;
  readonly #kept: Lock;
  readonly #pids: readonly number[];
  readonly #cluster: ClusterProcess;
  readonly #errors: unknown[] = [];
  readonly #work: Promise<void>;
  #cycles = 0;
  #isWorking = true;

  private constructor(cluster: ClusterProcess, client: Client, kept: Lock) {
    this.#cluster = cluster;
    this.#pids = cluster.nodes.map(({ pid }) => pid);
    this.#client = client;
    this.#kept = kept;
    kept.signal.addEventListener("abort", () => this.#errors.push(kept.signal.reason));
    this.#work = this.#cycle();
  }

  static async start(cluster: ClusterProcess): Promise<Bystander> {
    const client = await connect({ endpoints: cluster.endpoints, name: "bystander" });
    return new Bystander(cluster, client, await client.acquire(KEPT));
  }

  /** Every node is the process it was, the work goes on without an error, the lock is held. */
  async expectUndisturbed(): Promise<void> {
    const seen = this.#cycles;
    await until("the bystander to work on", () => this.#cycles > seen + 1 || !this.#isWorking);
    expect(this.#errors).toEqual([]);
    expect(this.#cluster.nodes.map(({ pid }) => pid)).toEqual(this.#pids);
    expect(this.#kept.isHeld).toBe(true);
    const { holds } = await this.#client.inspect(KEPT);
    expect(holds.map(({ token }) => token)).toEqual([this.#kept.token]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isWorking = false;
    await this.#work;
    await this.#client.close();
  }

  async #cycle(): Promise<void> {
    let highest = 0;
    try {
      while (this.#isWorking) {
        await this.#client.using(WORK, (lock) => {
          expect(lock.token).toBeGreaterThan(highest);
          highest = lock.token;
        });
        this.#cycles += 1;
        // Leaves the processor to those who are tested.
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } catch (error) {
      this.#errors.push(error);
      this.#isWorking = false;
    }
  }
}
