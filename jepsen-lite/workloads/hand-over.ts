/**
 * How holds go from one process to another: one hands them over, the other takes them up. The workloads
 * of heirs, and the cuts at this moment, know only this; what is called on the way stands here alone.
 */
import {
  type Client,
  type ConnectOptions,
  type ExportedSession,
  HoldfastError,
  type Lock,
  type Ticket,
} from "../sdk.js";
import type { Task } from "./workload.js";

export interface HandOver {
  /** Whether all locks of a client go to one heir, or each lock by itself. */
  readonly isOfAll: boolean;
  /**
   * Gives up these locks of a client: all of them, or one. Resolves to what another process needs to go
   * on with them; rejects if they were lost before, or if the outcome is unknown.
   */
  handOver(client: Client, locks: readonly Lock[]): Promise<string>;
  /**
   * Goes on with them, as another process would. Rejects if they have ended, if somebody else has gone
   * on with them, or if the outcome is unknown.
   */
  takeUp(task: Task, handed: string): Promise<TakenUp>;
}

export interface TakenUp {
  /** The caller closes it. */
  readonly client: Client;
  /** Those that are held. What became of the others is not known. */
  readonly locks: readonly Lock[];
}

/** Longer than most faults: what ends before anybody comes shows nothing. */
const TICKET_TTL_MS = 5_000;

/** Each lock is made a ticket, which one other session can claim. */
export const byTicket: HandOver = {
  isOfAll: false,
  async handOver(_client, [lock]) {
    if (lock === undefined) throw new RangeError("a ticket needs a lock");
    return JSON.stringify(await lock.detach({ ticketTtlMs: TICKET_TTL_MS }));
  },
  async takeUp(task, handed) {
    const client = await reached(task, {});
    try {
      return { client, locks: [await client.claim(JSON.parse(handed) as Ticket)] };
    } catch (error) {
      await client.close();
      throw error;
    }
  },
};

/** The session is exported with all that it has, and one other process can resume it. */
export const byExport: HandOver = {
  isOfAll: true,
  handOver: async (client) => JSON.stringify(await client.export()),
  async takeUp(task, handed) {
    const client = await resumed(task, JSON.parse(handed) as ExportedSession);
    const locks = client.resumed?.locks.filter(({ isHeld }) => isHeld) ?? [];
    if (locks.length > 0) return { client, locks };
    await client.close();
    throw new HoldfastError("LOCK_LOST", "all ended before they were taken up, or after");
  },
};

async function resumed(task: Task, resume: ExportedSession): Promise<Client> {
  try {
    return await task.connect({ resume });
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "TAKEN_OVER") throw error;
    // The answer of the cluster to a client that asks for a session.
    throw certainlyNot(error);
  }
}

/** Without a session nothing was asked for. */
async function reached(task: Task, options: ConnectOptions): Promise<Client> {
  try {
    return await task.connect(options);
  } catch (error) {
    throw error instanceof HoldfastError ? certainlyNot(error) : error;
  }
}

function certainlyNot({ code, message }: HoldfastError): HoldfastError {
  return new HoldfastError(code, message, { details: { indeterminate: false } });
}
