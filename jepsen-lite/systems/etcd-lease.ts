/** A lease of etcd, and the renewals that keep it alive while a request waits or holds. */
import type { Etcd3 } from "etcd3";
import { deadline } from "./etcd-connection.js";

/** Tries of one renewal. */
const RENEWALS_MAX = 3;

export interface Lease {
  readonly id: string;
  readonly ttlMs: number;
  /**
   * On the clock of `performance.now()`: counted from before the request or the renewal was sent.
   */
  untilMs: number;
}

/** Renews a lease three times in its length, until it is stopped or the lease is gone. */
export class LeaseKeeper {
  readonly #etcd: Etcd3;
  readonly #lease: Lease;
  readonly #timer: NodeJS.Timeout;
  onRenewal: () => void = () => undefined;

  constructor(etcd: Etcd3, lease: Lease) {
    this.#etcd = etcd;
    this.#lease = lease;
    this.#timer = setInterval(() => void this.#renew(), lease.ttlMs / 3);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** If a member does not answer, asks another one. */
  async #renew(): Promise<void> {
    for (let tries = 0; tries < RENEWALS_MAX; tries += 1) {
      const askedMs = performance.now();
      const isRenewed = await this.#ask().catch(() => undefined);
      if (isRenewed === undefined) continue;
      if (!isRenewed) return;
      this.#lease.untilMs = Math.max(this.#lease.untilMs, askedMs + this.#lease.ttlMs);
      this.onRenewal();
      return;
    }
  }

  /** False: the lease is gone. */
  async #ask(): Promise<boolean> {
    const stream = await this.#etcd.leaseClient.leaseKeepAlive({ deadline: deadline() });
    return new Promise((resolve, reject) => {
      stream.on("data", ({ TTL }) => {
        resolve(Number(TTL) > 0);
        stream.end();
      });
      stream.on("error", reject);
      stream.on("end", () => reject(new Error("the stream ended without an answer")));
      stream.write({ ID: this.#lease.id });
    });
  }
}
