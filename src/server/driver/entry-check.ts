/**
 * Whether the entries of another node's append can be applied, looked at before the core takes them:
 * what is in a log is met again at every start, so one entry that `apply` cannot stand would end
 * this node for good. Bytes of commands are not decoded here; that is done once, when they are
 * applied, and one that cannot be decoded has no effect on any node (decision 32). It must never
 * refuse what a leader of the same model proposes.
 */
import type { LockTable } from "../../lockfsm/index.js";
import { checkBatch, decodeBatchHeader } from "../../protocol/index.js";
import type { AppendRequest, Message, Raft } from "../../raft/index.js";
import type { Logger } from "../ports.js";

/** How far stamps of neighbouring entries may lie apart, in milliseconds: a cluster idle for 34 years. */
const STAMP_JUMP_MAX = 2 ** 40;

export interface EntryCheckParts {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly applier: { readonly index: number };
  readonly logger: Logger;
}

export class EntryCheck {
  readonly #parts: EntryCheckParts;
  /** Of the last message that was refused: a sender that says it again is named once. */
  #refused = "";

  constructor(parts: EntryCheckParts) {
    this.#parts = parts;
  }

  /** False for an append that the core must not see. */
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

  /** Cluster time never falls from entry to entry, and never runs away. */
  #canApply({ prevLogIndex, prevLogTerm, entries }: AppendRequest): boolean {
    let stamp = -1;
    for (const { kind, data, index } of entries) {
      if (kind !== "command") continue;
      const header = checkBatch(data);
      if (header === undefined) return false;
      if (stamp < 0) stamp = this.#stampBefore(prevLogIndex, prevLogTerm);
      // What was applied is part of every leader's log.
      if (index > this.#parts.applier.index) stamp = Math.max(stamp, this.#parts.table.stamp);
      if (header.stamp < stamp || header.stamp - stamp > STAMP_JUMP_MAX) return false;
      stamp = header.stamp;
    }
    return true;
  }

  /** Of the last stamped entry up to there; 0 when none that is not applied is known. */
  #stampBefore(prevLogIndex: number, prevLogTerm: number): number {
    const { raft, applier } = this.#parts;
    // An append that does not fit is refused by the core, and says so.
    if (!raft.matches(prevLogIndex, prevLogTerm)) return 0;
    for (let at = prevLogIndex; at > Math.max(applier.index, raft.firstIndex - 1); at -= 1) {
      const entry = raft.entry(at);
      if (entry.kind === "command") return decodeBatchHeader(entry.data).stamp;
    }
    return 0;
  }
}
