/**
 * The workers: closed loops that acquire and release, each beginning its next cycle when the last
 * one is durable. A slow service is asked less often, so the times show the service at its limit,
 * and not what independent users would wait for: `open-loop.ts` measures that.
 */
import type { Client } from "../../src/index.js";
import { clientOf, LoadLoop, type LoopOptions } from "./load-loop.js";

export class ClosedLoop<Service = Client> extends LoadLoop<Service> {
  readonly #workers: readonly Promise<void>[];

  constructor(options: LoopOptions<Service>) {
    super(options);
    this.#workers = Array.from({ length: options.workers }, (_, worker) =>
      this.#work(clientOf(options.clients, worker), worker),
    );
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.#workers);
    await this.released();
  }

  async #work(client: Service, worker: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) await this.cycle(client, worker, performance.now());
  }
}
