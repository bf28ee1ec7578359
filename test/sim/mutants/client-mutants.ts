/** Bugs in the arithmetic by which clients trust what they hold. Only true time shows them. */
import type { Mutant } from "./mutant.js";

export const CLIENT_MUTANTS: readonly Mutant[] = [
  {
    name: "lease-trusted-too-long",
    rule: "a client gives up before the cluster can act on the end of a lease or a cap",
    scenario: "any plan",
    file: "src/client/session-lease/session-lease.ts",
    find: "return this.#newestMs + spanMs - marginMs(spanMs);",
    replace: "return this.#newestMs + spanMs + marginMs(spanMs);",
    seeds: [6_000_011],
  },
  {
    name: "announced-end-ignored",
    rule: "a client gives up before an announced end of its session",
    scenario: "any plan",
    file: "src/client/session-lease/session-lease.ts",
    find: "    this.#forcedEndAt = Math.min(this.#forcedEndAt, endsAt);\n",
    replace: "",
    seeds: [6_000_011],
  },
  {
    name: "stamp-of-another-answer",
    rule: "a deadline is counted from the stamp and the time of one and the same command",
    scenario: "any plan",
    file: "src/client/session-lease/session-lease.ts",
    find: "    this.#stamp = stamp;\n",
    replace: "",
    seeds: [6_000_011],
  },
];
