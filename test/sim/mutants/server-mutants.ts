/** Bugs of the driver: order of effects, the cluster clock, reads. */
import type { Mutant } from "./mutant.js";

export const SERVER_MUTANTS: readonly Mutant[] = [
  {
    name: "deferred-messages-leave-early",
    rule: "nothing of sendAfter leaves before its write is durable",
    file: "src/server/deferred-messages.ts",
    find: "      if (first.seq > durableSeq) return;\n",
    replace: "",
    seeds: [1],
  },
  {
    name: "clock-runs-fast",
    rule: "cluster time never runs faster than true time",
    file: "src/server/cluster-clock.ts",
    find: "      this.#stamp += wholeMs;",
    replace: "      this.#stamp += 2 * wholeMs;",
    seeds: [21],
  },
  {
    name: "clock-begins-anew",
    rule: "a new leader goes on from the last stamp in its log",
    file: "src/server/leadership.ts",
    find: "    this.#clock.start(base, nowMs);",
    replace: "    this.#clock.start(0, nowMs);",
    seeds: [1],
  },
  {
    name: "read-from-local-table",
    rule: "a read waits until its index is applied",
    file: "src/server/reads.ts",
    find: "      if (placed.index > index) still.push(placed);",
    replace: "      if (placed.index > index + 1_000) still.push(placed);",
    seeds: [59],
  },
  {
    name: "stamps-by-the-wall-clock",
    rule: "expiry never depends on a wall clock",
    file: "src/server/proposing.ts",
    find: "this.#leadership.countTime(nowMs);",
    replace: "this.#leadership.countTime(clock.wallMs());",
    seeds: [19],
  },
  {
    name: "stamps-in-the-log-forgotten",
    rule: "a new leader goes on from the last stamp in its log, committed or not",
    file: "src/server/leadership.ts",
    find: "lastStampBehind(raft, appliedIndex) ?? table.stamp",
    replace: "table.stamp",
    seeds: [1],
  },
  {
    name: "leader-ends-leases-by-itself",
    rule: "nothing ends but by an entry: who leads may be deposed and not know it",
    file: "src/server/proposing.ts",
    find: "    const stamp = this.#leadership.countTime(nowMs);\n",
    replace:
      "    const stamp = this.#leadership.countTime(nowMs);\n" +
      "    const { raft, table } = this.#rooms;\n" +
      "    const index = raft.appliedIndex + nowMs / 1e9;\n" +
      "    const nobody = { toSession: () => {}, attached: () => {} };\n" +
      "    const isDue = (table.nextDueAt ?? stamp + 1) <= stamp;\n" +
      "    if (isDue) table.apply({ index, stamp, wallMs: 0, commands: [] }, nobody);\n",
    seeds: [1],
  },
  {
    name: "watch-that-ended-has-work",
    rule: "a node turns for what is to be told, and for nobody who is gone",
    file: "src/server/watches.ts",
    find: "    this.#serveBehind(nowMs);\n",
    replace: "    if (this.#behind.size > 0) this.#serveBehind(nowMs);\n",
    seeds: [974_249],
  },
  {
    name: "known-peers-forgotten",
    rule: "a voter on another directory than before is refused by all who met it, over restarts",
    file: "src/net/known-peers.ts",
    find: "this.#peers = new Map(known);",
    replace: "this.#peers = new Map([...known].slice(0, 0));",
    seeds: [37],
  },
];
