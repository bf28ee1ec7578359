/**
 * Index and term of an entry determine it and all entries before it (Raft paper, 5.3), from the
 * moment at which it was sent or is durable on any node.
 */
import type { Entry } from "../../../../src/raft/index.js";
import type { Fail } from "../violation.js";
import { isSameEntry } from "./logical-log.js";

interface SeenEntry {
  readonly entry: Entry;
  readonly previousTerm: number | undefined;
}

export class LogMatching {
  readonly #fail: Fail;
  /** By term and index. */
  readonly #seen = new Map<number, SeenEntry>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** Entries of node `id`. `termBefore`: of the one before; unknown where a snapshot has it. */
  check(id: number, entries: readonly Entry[], termBefore: number | undefined): void {
    let previousTerm = termBefore;
    for (const entry of entries) {
      const key = entry.term * 2 ** 32 + entry.index;
      const seen = this.#seen.get(key);
      const isOther =
        seen !== undefined &&
        (!isSameEntry(seen.entry, entry) ||
          (seen.previousTerm ?? previousTerm) !== (previousTerm ?? seen.previousTerm));
      if (isOther) {
        this.#fail("log matching", `two entries ${entry.index} of term ${entry.term}, at ${id}`);
      }
      if (entry.term < (previousTerm ?? 0)) {
        this.#fail("log terms", `term falls to ${entry.term} at ${entry.index} of ${id}`);
      }
      if (seen === undefined) this.#seen.set(key, { entry, previousTerm });
      previousTerm = entry.term;
    }
  }
}
