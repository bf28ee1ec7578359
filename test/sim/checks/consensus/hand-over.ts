/**
 * Whether a core is transferring leadership, judged by its inputs and effects: from a request
 * that it did not refuse to the end that it reported.
 */
import type { Effects, Input } from "../../../../src/raft/index.js";

export class HandOver {
  /** Under way, or asked for in this turn. */
  readonly #transfers = new Set<number>();
  /** Proposals of this turn, each with the transfers that were asked for before it. */
  readonly #proposed = new Map<number, readonly number[]>();

  onInput(input: Input): void {
    if (input.type === "transferLeadership") this.#transfers.add(input.id);
    else if (input.type === "propose") this.#proposed.set(input.id, [...this.#transfers]);
  }

  /** Returns the proposals that were accepted during a transfer. */
  onTake({ accepted, refused, transferEnded }: Effects): number[] {
    for (const { id } of refused) this.#transfers.delete(id);
    // The effects do not say where in the turn it ended.
    if (transferEnded !== undefined) this.#transfers.delete(transferEnded.id);
    const early = accepted.filter(({ id }) => {
      return this.#proposed.get(id)?.some((transfer) => this.#transfers.has(transfer)) === true;
    });
    this.#proposed.clear();
    return early.map(({ id }) => id);
  }
}
