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
    seeds: [3],
  },
  {
    name: "clock-begins-anew",
    rule: "a new leader goes on from the last stamp in its log",
    file: "src/server/leadership.ts",
    find: "    this.#clock.start(base, nowMs);",
    replace: "    this.#clock.start(0, nowMs);",
    seeds: [2],
  },
  {
    name: "read-from-local-table",
    rule: "a read waits until its index is applied",
    file: "src/server/reads.ts",
    find: "      if (placed.index > index) still.push(placed);",
    replace: "      if (placed.index > index + 1_000) still.push(placed);",
    seeds: [41],
  },
];
