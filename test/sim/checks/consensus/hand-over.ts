/**
 * Whether a core is transferring leadership, judged by its inputs and effects: from a request
 * that it did not refuse to the end that it reported, which comes within an election timeout.
 */
import type { Effects, Input } from "../../../../src/raft/index.js";

/** What a core did that it must not do during a transfer, or because of one. */
export interface HandOverFaults {
  /** Proposals that were accepted during a transfer. */
  readonly accepted: readonly number[];
  /** Proposals that were refused for a transfer, of which there was none. */
  readonly refused: readonly number[];
  /** Transfers that should have been given up. */
  readonly overdue: readonly number[];
}

export class HandOver {
  readonly #electionTimeoutMs: number;
  /** Under way, or requested in this turn: when each was requested. */
  readonly #transfers = new Map<number, number>();
  /** Proposals of this turn, each with the transfers that were requested before it. */
  readonly #proposed = new Map<number, readonly number[]>();

  constructor(electionTimeoutMs: number) {
    this.#electionTimeoutMs = electionTimeoutMs;
  }

  onInput(input: Input, nowMs: number): void {
    if (input.type === "transferLeadership") this.#transfers.set(input.id, nowMs);
    else if (input.type === "propose") this.#proposed.set(input.id, [...this.#transfers.keys()]);
  }

  onTake({ accepted, refused, transferEnded }: Effects, nowMs: number): HandOverFaults {
    const idle = refused.filter(({ id, reason }) => {
      return reason === "transferring" && this.#proposed.get(id)?.length === 0;
    });
    for (const { id } of refused) this.#transfers.delete(id);
    // The effects do not say when in the turn it ended.
    if (transferEnded !== undefined) this.#transfers.delete(transferEnded.id);
    const early = accepted.filter(({ id }) => {
      return this.#proposed.get(id)?.some((transfer) => this.#transfers.has(transfer)) === true;
    });
    this.#proposed.clear();
    const overdue = [...this.#transfers].filter(([, sinceMs]) => {
      return nowMs >= sinceMs + this.#electionTimeoutMs;
    });
    return {
      accepted: early.map(({ id }) => id),
      refused: idle.map(({ id }) => id),
      overdue: overdue.map(([id]) => id),
    };
  }
}
