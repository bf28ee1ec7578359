/**
 * How a hold goes from one process to another: one hands it over, the other takes it up. The workloads
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
  /**
   * Gives up the lock of a client that has no other, and ends the client. Resolves to what another
   * process needs to go on with it; rejects if it was lost before, or if the outcome is unknown.
   */
  handOver(client: Client, lock: Lock): Promise<string>;
  /**
   * Goes on with the hold, as another process would. Rejects if it has ended, if somebody else has
   * gone on with it, or if the outcome is unknown.
   */
  takeUp(task: Task, handed: string): Promise<TakenUp>;
}

export interface TakenUp {
  /** The caller closes it. */
  readonly client: Client;
  readonly lock: Lock;
}

/** Longer than most faults: what ends before anybody comes shows nothing. */
const TICKET_TTL_MS = 5_000;

/** The lock is made a ticket, which one other session can claim. */
export const byTicket: HandOver = {
  async handOver(client, lock) {
    const ticket = await lock.detach({ ticketTtlMs: TICKET_TTL_MS });
    await client.close();
    return JSON.stringify(ticket);
  },
  async takeUp(task, handed) {
    const client = await reached(task, {});
    try {
      return { client, lock: await client.claim(JSON.parse(handed) as Ticket) };
    } catch (error) {
      await client.close();
      throw error;
    }
  },
};

/** The session is exported with all that it has, and one other process can resume it. */
export const byExport: HandOver = {
  handOver: async (client) => JSON.stringify(await client.export()),
  async takeUp(task, handed) {
    const client = await resumed(task, JSON.parse(handed) as ExportedSession);
    const lock = client.resumed?.locks[0];
    if (lock?.isHeld === true) return { client, lock };
    await client.close();
    throw new HoldfastError("LOCK_LOST", "it ended before it was taken up, or after");
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
