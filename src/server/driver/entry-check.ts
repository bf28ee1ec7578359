/**
 * Checks, before the core takes another node's append, that its entries can be applied. Every start
 * reads the log again, so one entry that `apply` fails on would end this node for good, and one from
 * the end of time would bind every later leader. The bytes of commands are not decoded here. That
 * happens once, when they are applied, and a command that cannot be decoded has no effect on any
 * node (decision 32). This check must never refuse an entry that a leader of the same model
 * proposes. The core answers a refused append with the wish for a snapshot.
 */
import type { LockTable } from "../../lockfsm/index.js";
import { checkBatch, decodeBatchHeader, latestStampAfter } from "../../protocol/index.js";
import type { AppendReply, AppendRequest, Input, Raft } from "../../raft/index.js";
import type { NodeLogger } from "../ports.js";

/**
 * A stamp this far after the entry before is believed even beyond the bound: after a stamp at the
 * bound, a new leader stamps its first entries, without which no node could commit that one.
 */
const STEP_MS_MAX = 60_000;

export interface EntryCheckParts {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly applier: { readonly index: number };
  readonly logger: NodeLogger;
}

export class EntryCheck {
  readonly #parts: EntryCheckParts;
  /** The last refused message: one that is sent repeatedly is logged once. */
  #refused = "";
  #asked = "";

  constructor(parts: EntryCheckParts) {
    this.#parts = parts;
  }

  /** The append as the core gets it. */
  judged(message: AppendRequest): Input {
    // The core refuses an append that does not fit its log, and says where the logs may agree.
    if (!this.#fits(message) || this.#canApply(message)) return { type: "message", message };
    const { from: peer, term, prevLogIndex } = message;
    const refused = `${peer} ${term} ${prevLogIndex}`;
    if (refused !== this.#refused) {
      this.#parts.logger("error", "entries that cannot be applied", { peer, term, prevLogIndex });
    }
    this.#refused = refused;
    return { type: "unusable", message };
  }

  /** The core asks the sender of an append for a snapshot. */
  noteAsked({ to: peer, term, hintIndex }: AppendReply): void {
    const asked = `${peer} ${term} ${hintIndex}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    const fields = { peer, term, commitIndex: hintIndex };
    this.#parts.logger(
      "error",
      "a leader's log contradicts this node's: it needs a snapshot",
      fields,
    );
  }

  /** Whether the log has the entry before, or everything up to it is committed here. */
  #fits({ prevLogIndex, prevLogTerm }: AppendRequest): boolean {
    const { raft } = this.#parts;
    return prevLogIndex < raft.baseIndex || raft.matches(prevLogIndex, prevLogTerm);
  }

  /** Cluster time never falls from entry to entry, and goes on from the table's. */
  #canApply({ prevLogIndex, entries }: AppendRequest): boolean {
    const { applier, table } = this.#parts;
    const latest = latestStampAfter(table.stamp);
    let stamp = -1;
    for (const { kind, data, index } of entries) {
      if (kind !== "command") continue;
      const header = checkBatch(data);
      if (header === undefined) return false;
      if (stamp < 0) stamp = this.#stampBefore(prevLogIndex);
      // Every leader's log contains what was applied here.
      if (index > applier.index) stamp = Math.max(stamp, table.stamp);
      const isFar = header.stamp > latest && header.stamp > stamp + STEP_MS_MAX;
      if (header.stamp < stamp || isFar) return false;
      stamp = header.stamp;
    }
    return true;
  }

  /** The stamp of the last stamped entry up to there; 0 if none after the applied ones is known. */
  #stampBefore(prevLogIndex: number): number {
    const { raft, applier } = this.#parts;
    for (let at = prevLogIndex; at > Math.max(applier.index, raft.firstIndex - 1); at -= 1) {
      const entry = raft.entry(at);
      if (entry.kind === "command") return decodeBatchHeader(entry.data).stamp;
    }
    return 0;
  }
}
