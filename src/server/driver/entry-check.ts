/**
 * Checks, before the core takes another node's append, that its entries can be applied. Every start
 * reads the log again, so one entry that `apply` fails on would end this node for good. The bytes
 * of commands are not decoded here. That happens once, when they are applied, and a command that
 * cannot be decoded has no effect on any node (decision 32). This check must never refuse an entry
 * that a leader of the same model proposes.
 */
import type { LockTable } from "../../lockfsm/index.js";
import { checkBatch, decodeBatchHeader } from "../../protocol/index.js";
import type { AppendRequest, Message, Raft } from "../../raft/index.js";
import type { Logger } from "../ports.js";

/**
 * The largest distance of neighbouring stamps, in milliseconds: a cluster that was idle for 34
 * years.
 */
const STAMP_JUMP_MAX = 2 ** 40;

export interface EntryCheckParts {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly applier: { readonly index: number };
  readonly logger: Logger;
}

export class EntryCheck {
  readonly #parts: EntryCheckParts;
  /** The last refused message: one that is sent repeatedly is logged once. */
  #refused = "";

  constructor(parts: EntryCheckParts) {
    this.#parts = parts;
  }

  /** False for an append that the core must not get. */
  accepts(message: Message): boolean {
    if (message.type !== "append" || this.#canApply(message)) return true;
    const { from: peer, term, prevLogIndex } = message;
    const refused = `${peer} ${term} ${prevLogIndex}`;
    if (refused !== this.#refused) {
      this.#parts.logger("error", "entries that cannot be applied", { peer, term, prevLogIndex });
    }
    this.#refused = refused;
    return false;
  }

  /** Cluster time never falls from entry to entry, and never jumps far ahead. */
  #canApply({ prevLogIndex, prevLogTerm, entries }: AppendRequest): boolean {
    let stamp = -1;
    for (const { kind, data, index } of entries) {
      if (kind !== "command") continue;
      const header = checkBatch(data);
      if (header === undefined) return false;
      if (stamp < 0) stamp = this.#stampBefore(prevLogIndex, prevLogTerm);
      // Every leader's log contains what was applied here.
      if (index > this.#parts.applier.index) stamp = Math.max(stamp, this.#parts.table.stamp);
      if (header.stamp < stamp || header.stamp - stamp > STAMP_JUMP_MAX) return false;
      stamp = header.stamp;
    }
    return true;
  }

  /** The stamp of the last stamped entry up to there; 0 if none after the applied ones is known. */
  #stampBefore(prevLogIndex: number, prevLogTerm: number): number {
    const { raft, applier } = this.#parts;
    // The core refuses an append that does not fit, and answers it.
    if (!raft.matches(prevLogIndex, prevLogTerm)) return 0;
    for (let at = prevLogIndex; at > Math.max(applier.index, raft.firstIndex - 1); at -= 1) {
      const entry = raft.entry(at);
      if (entry.kind === "command") return decodeBatchHeader(entry.data).stamp;
    }
    return 0;
  }
}
