/**
 * What follows from commitment on this node: committed entries are applied a slice at a time, and
 * whoever waits for that is told. While the table is being replaced by a snapshot nothing is applied,
 * and nothing that clients of this node were waiting for can be answered any more.
 */
import type { Configuration, InstalledSnapshot } from "../../raft/index.js";
import type { Attachments } from "../commands/attachments.js";
import type { EntryCache } from "../commands/entry-cache.js";
import type { Proposing } from "../commands/proposing.js";
import type { Operations, OperationsHost } from "../members/operations.js";
import type { Logger } from "../ports.js";
import type { TransitionLog } from "../reads/transition-log.js";
import type { Snapshots } from "../snapshots/snapshots.js";
import type { Applier } from "./applier.js";
import type { Members } from "./members.js";

const CLOSE_REASON = "this node takes over a snapshot";

export interface ApplyingParts {
  readonly applier: Applier;
  readonly attachments: Attachments;
  readonly cache: EntryCache;
  readonly members: Members;
  readonly operations: Operations;
  readonly proposing: Proposing;
  readonly snapshots: Snapshots;
  readonly transitions: TransitionLog;
  readonly logger: Logger;
}

export class Applying {
  readonly #parts: ApplyingParts;
  readonly #host: OperationsHost;
  #restoring: InstalledSnapshot | undefined;

  constructor(parts: ApplyingParts, host: OperationsHost) {
    this.#parts = parts;
    this.#host = host;
  }

  /** Whether entries up to `commitIndex` could be applied at once. */
  isBehind(commitIndex: number): boolean {
    return this.#restoring === undefined && this.#parts.applier.index < commitIndex;
  }

  /** What clients were told, or are kept for, may have had its effect in what is skipped. */
  restore(snapshot: InstalledSnapshot): void {
    const { logger, cache, snapshots, attachments } = this.#parts;
    const { index, term } = snapshot;
    logger("info", "taking over a snapshot", { index, term });
    this.#restoring = snapshot;
    cache.clear();
    snapshots.restore(snapshot);
    attachments.closeAll(CLOSE_REASON);
  }

  /** Applies a slice of what is committed. */
  apply(commitIndex: number): void {
    if (this.#restoring !== undefined && !this.#endRestore(this.#restoring)) return;
    const { applier, snapshots } = this.#parts;
    const before = { index: applier.index, configuration: applier.configuration };
    const bytes = applier.applySlice(commitIndex);
    if (applier.index === before.index) return;
    this.#host.step({ type: "applied", index: applier.index });
    snapshots.onApplied(applier.index, bytes, applier.configuration);
    this.#tell(before.configuration);
  }

  /** Whether the table holds the snapshot by now. */
  #endRestore(snapshot: InstalledSnapshot): boolean {
    const { snapshots, applier, transitions, logger } = this.#parts;
    const { index } = snapshot;
    if (snapshots.takeRestored() !== index) return false;
    this.#restoring = undefined;
    logger("info", "snapshot taken over", { index });
    const before = applier.configuration;
    applier.jumpTo(snapshot);
    transitions.restart(index);
    this.#host.step({ type: "applied", index });
    this.#tell(before);
    return true;
  }

  #tell(configurationBefore: Configuration): void {
    const { applier, proposing, members, operations } = this.#parts;
    const { index, configuration } = applier;
    proposing.onApplied(index);
    members.onIndex(index);
    if (configuration === configurationBefore) return;
    members.onApplied(configuration);
    operations.onApplied(this.#host);
    members.tell(members.others, applier);
  }
}
