/**
 * A start on a full disk. Opening the data directory takes space (the store begins a new journal, a
 * new log its first segment), so it fails. Instead of ending and being started again and again, the
 * node waits, shows on its pages that it waits, and continues by itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../errors/index.js";
import type { TransportTls } from "../../net/index.js";
import type { ResolvedOptions } from "./resolve-options.js";
import { StandbyPages } from "./standby-pages.js";

/** Between two tries; each try that gets far enough counts as an opening of the directory. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
const TELL_MS = 60_000;

const METRICS =
  "# HELP holdfast_waiting_for_room Whether this node cannot start because its disk is full.\n" +
  "# TYPE holdfast_waiting_for_room gauge\nholdfast_waiting_for_room 1\n";

/**
 * Opens the data, again and again while that fails with `DISK_FULL`, and resolves to what `begin`
 * returns for them. The pages can be read meanwhile; `begin` finds the address free. Rejects with
 * any other failure of the two, and with the reason of the options' signal when that is aborted.
 */
export async function whenDiskHasSpace<Data, Result>(
  options: ResolvedOptions,
  clusterId: string,
  tls: TransportTls | undefined,
  open: () => Promise<Data>,
  begin: (data: Data) => Promise<Result>,
): Promise<Result> {
  const wait = new DiskSpaceWait(options, clusterId, tls);
  try {
    for (;;) {
      try {
        const data = await open();
        await wait.end();
        return await begin(data);
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.code !== "DISK_FULL") throw error;
        await wait.pause(error);
      }
    }
  } finally {
    await wait.end();
  }
}

class DiskSpaceWait {
  readonly #options: ResolvedOptions;
  readonly #clusterId: string;
  readonly #tls: TransportTls | undefined;
  #pages: StandbyPages | undefined;
  #retryMs = RETRY_MS_MIN;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: ResolvedOptions, clusterId: string, tls: TransportTls | undefined) {
    this.#options = options;
    this.#clusterId = clusterId;
    this.#tls = tls;
  }

  /** Resolves when it is time to try again. */
  async pause({ message }: HoldfastError): Promise<void> {
    const { dataDirectory, log, signal } = this.#options;
    if (performance.now() - this.#toldMs >= TELL_MS) {
      log("error", "waiting for room on the disk", { dataDirectory, error: message });
      this.#toldMs = performance.now();
    }
    await this.#show();
    await delay(this.#retryMs, undefined, signal === undefined ? {} : { signal });
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
  }

  async end(): Promise<void> {
    await this.#pages?.close();
    this.#pages = undefined;
  }

  async #show(): Promise<void> {
    if (this.#pages !== undefined) return;
    const pages = new StandbyPages(this.#options, this.#clusterId, this.#tls, {
      role: "starting",
      why: "waiting for room on the disk",
      closeReason: "this node waits for room on its disk",
      details: { isDiskFull: true },
      metrics: METRICS,
    });
    await pages.start();
    this.#pages = pages;
  }
}
