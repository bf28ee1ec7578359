/**
 * How holds go from one process to another: one hands them over, the other takes them up. The workloads
 * of heirs, and the cuts at this moment, know only this; what is called on the way stands here alone.
 */
import { type Client, type HandedOver, HoldfastError, type Lock } from "../../sdk.js";
import type { Worker } from "../workload.js";

export interface HandOver {
  /** Whether all locks of a client go to one heir, or each lock by itself. */
  readonly isOfAll: boolean;
  /**
   * Gives up these locks of a client: all of them, or one. Resolves to what another process needs to go
   * on with them, whether or not the answer was lost; rejects if they were lost before.
   */
  handOver(client: Client, locks: readonly Lock[]): Promise<string>;
  /**
   * Goes on with them, as another process would. Rejects if they have ended, if somebody else has gone
   * on with them, or if the outcome is unknown.
   */
  takeUp(worker: Worker, handed: string): Promise<TakenUp>;
}

export interface TakenUp {
  /** The caller closes it. */
  readonly client: Client;
  /** Those that are held. What became of the others is not known. */
  readonly locks: readonly Lock[];
}

/** Longer than most faults: what ends before anybody comes shows nothing. */
const TTL_MS = 5_000;

/** Each lock is handed over by itself. */
export const byLock: HandOver = {
  isOfAll: false,
  async handOver(_client, [lock]) {
    if (lock === undefined) throw new RangeError("a hand-over needs a lock");
    return JSON.stringify(await lock.handOver({ ttlMs: TTL_MS }));
  },
  takeUp,
};

/** The client hands over everything that it has, and ends. */
export const byClient: HandOver = {
  isOfAll: true,
  handOver: async (client) => JSON.stringify(await client.handOver({ ttlMs: TTL_MS })),
  takeUp,
};

async function takeUp(worker: Worker, handed: string): Promise<TakenUp> {
  const client = await reached(worker);
  try {
    const { locks, gone } = await client.adopt(JSON.parse(handed) as HandedOver);
    if (locks.length > 0) return { client, locks };
    const details = { indeterminate: false, reason: gone[0]?.reason };
    throw new HoldfastError("NOT_HELD", "nothing was left to adopt", { details });
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Without a session nothing was asked for. */
async function reached(worker: Worker): Promise<Client> {
  try {
    return await worker.connect({});
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { code, message } = error;
    throw new HoldfastError(code, message, { details: { indeterminate: false } });
  }
}
