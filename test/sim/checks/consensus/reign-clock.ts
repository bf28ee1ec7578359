/**
 * Cluster time while one node leads: it runs no faster than time itself, from entry to entry, whatever
 * the leader's process did in between. What passed while that stood still is lost, and is not made up
 * for afterwards, when somebody may have renewed a lease.
 */
import { decodeBatchHeader } from "../../../../src/protocol/index.js";
import type { Raft, Write } from "../../../../src/raft/index.js";
import { DRIFT_MAX } from "../../world/node/drifting-clock.js";
import type { Fail } from "../violation.js";

/** Stamps are whole milliseconds. */
const ROUNDED_MS = 1;

interface Stamped {
  readonly stamp: number;
  readonly atMs: number;
}

export class ReignClock {
  readonly #fail: Fail;
  /** What its leader stamped last, by term. */
  readonly #last = new Map<number, Stamped>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  onAppend({ entries }: Write, raft: Raft | undefined, atMs: number): void {
    if (raft?.role !== "leader") return;
    for (const { kind, term, index, data } of entries) {
      if (kind !== "command" || term !== raft.term) continue;
      const { stamp } = decodeBatchHeader(data);
      const last = this.#last.get(term);
      this.#last.set(term, { stamp, atMs });
      if (last === undefined) continue;
      const mostMs = (atMs - last.atMs) * (1 + DRIFT_MAX) + ROUNDED_MS;
      if (stamp - last.stamp <= mostMs) continue;
      const ran = `${stamp - last.stamp} ms up to entry ${index}, in ${atMs - last.atMs}`;
      this.#fail("time is not made up for", `the clock of term ${term} ran ${ran}`);
    }
  }
}
