/**
 * Cluster time while one node leads: it runs no faster than time itself, from what its log says as it
 * begins to its first entry and from entry to entry, whatever the leader's process did before and in
 * between. What passed while that stood still, or while nobody led, is lost, and is not made up for
 * afterwards, when somebody may have renewed a lease.
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
  /** What its leader stamped last, or found in its log, by term. */
  readonly #last = new Map<number, Stamped>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** `stampBefore`: the time of the cluster in the log of that node, before the entry of an index. */
  onAppend(
    { entries }: Write,
    raft: Raft | undefined,
    atMs: number,
    stampBefore: (index: number) => number,
  ): void {
    const [first] = entries;
    if (raft?.role !== "leader" || first === undefined) return;
    // Its first write holds the entry that opens its term.
    if (!this.#last.has(raft.term)) {
      this.#last.set(raft.term, { stamp: stampBefore(first.index), atMs });
    }
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
