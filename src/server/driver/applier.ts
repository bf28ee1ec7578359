/**
 * Feeds committed entries to the lock table, a bounded slice at a time, and notifies the parts that
 * wait for them. It never skips an entry, except those whose effects a snapshot brought, and never
 * uses a clock. While a snapshot replaces the table, nothing is applied, and no earlier command or
 * read of this node's clients can be answered any more.
 */
import { assert } from "../../errors/index.js";
import {
  type LockTable,
  NOBODY,
  type TableCommand,
  type TableCounts,
} from "../../lockfsm/index.js";
import {
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeCommands,
  isAttachCommand,
} from "../../protocol/index.js";
import {
  type Configuration,
  decodeConfiguration,
  type InstalledSnapshot,
  type Raft,
} from "../../raft/index.js";
import { type Attachments, CLOSE_REASON_ATTACHED_ELSEWHERE } from "../commands/attachments.js";
import type { EntryCache } from "../commands/entry-cache.js";
import type { Proposer } from "../commands/proposer.js";
import type { Operations, OperationsHost } from "../members/operations.js";
import type { NodeLogger } from "../ports.js";
import type { ActionLog } from "../reads/action-log.js";
import type { ChangeLog } from "../reads/change-log.js";
import type { NamedSnapshots, SnapshotTurn } from "../snapshots/ports.js";
import type { CatchUp } from "../vitals/catch-up.js";
import { membersAction } from "./audited.js";
import type { AppliedPosition, Members } from "./members.js";

const CLOSE_REASON = "this node takes over a snapshot";

export interface ApplierParts {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly attachments: Attachments;
  readonly cache: EntryCache;
  readonly members: Members;
  readonly operations: Operations;
  readonly proposer: Proposer;
  /** Records what the table reports of each entry. */
  readonly changeLog: ChangeLog;
  /** `undefined` if the node keeps no audit. */
  readonly actions: ActionLog | undefined;
  readonly catchUp: CatchUp;
  readonly logger: NodeLogger;
}

export class Applier {
  readonly #parts: ApplierParts;
  readonly #host: OperationsHost;
  readonly #sliceEntriesMax: number;
  readonly #sliceBytesMax: number;
  #index: number;
  #configuration: Configuration;
  #commandCount = 0;
  #restoring: InstalledSnapshot | undefined;

  /** `from`: the entry whose effects the table already holds. */
  constructor(
    parts: ApplierParts,
    host: OperationsHost,
    from: AppliedPosition,
    limits: { readonly sliceEntriesMax: number; readonly sliceBytesMax: number },
  ) {
    this.#parts = parts;
    this.#host = host;
    this.#index = from.index;
    this.#configuration = from.configuration;
    this.#sliceEntriesMax = limits.sliceEntriesMax;
    this.#sliceBytesMax = limits.sliceBytesMax;
  }

  /** The last applied index. */
  get index(): number {
    return this.#index;
  }

  /** In force at the last applied entry. */
  get configuration(): Configuration {
    return this.#configuration;
  }

  /** Commands applied since the node has caught up. */
  get commandCount(): number {
    return this.#commandCount;
  }

  /** Whether an entry up to `commitIndex` can be applied now. */
  isBehind(commitIndex: number): boolean {
    return this.#restoring === undefined && this.#index < commitIndex;
  }

  /** The skipped entries may contain the effects of anything that clients wait for. */
  restore(snapshot: InstalledSnapshot, named: NamedSnapshots): void {
    const { logger, cache, attachments } = this.#parts;
    const { index, term } = snapshot;
    logger("info", "taking over a snapshot", { index, term });
    this.#restoring = snapshot;
    cache.clear();
    named.restore(snapshot);
    attachments.closeAll(CLOSE_REASON);
  }

  /** Applies a slice of the committed entries. */
  apply(commitIndex: number, snapshots: SnapshotTurn): void {
    if (this.#restoring !== undefined && !this.#endRestore(this.#restoring, snapshots)) return;
    const indexBefore = this.#index;
    const configurationBefore = this.#configuration;
    const bytes = this.#applySlice(commitIndex);
    if (this.#index === indexBefore) return;
    this.#host.step({ type: "applied", index: this.#index });
    snapshots.onApplied(this.#index, bytes, this.#configuration);
    this.#tell(configurationBefore);
  }

  /** Whether the table holds the snapshot now. */
  #endRestore(snapshot: InstalledSnapshot, snapshots: SnapshotTurn): boolean {
    const { changeLog, logger } = this.#parts;
    const { index } = snapshot;
    if (snapshots.takeRestored() !== index) return false;
    this.#restoring = undefined;
    logger("info", "snapshot taken over", { index });
    const before = this.#configuration;
    this.#jumpTo(snapshot);
    changeLog.restart(index);
    this.#host.step({ type: "applied", index });
    this.#tell(before);
    return true;
  }

  #tell(configurationBefore: Configuration): void {
    const { proposer, members, operations } = this.#parts;
    const index = this.#index;
    const configuration = this.#configuration;
    proposer.onApplied(index);
    members.onIndex(index);
    if (configuration === configurationBefore) return;
    members.onApplied(configuration);
    operations.onApplied(this.#host);
    members.tell(members.others, this);
  }

  /** Applies entries up to `commitIndex`, or as many as one slice holds. Returns their bytes. */
  #applySlice(commitIndex: number): number {
    const { raft, catchUp, table } = this.#parts;
    const counts = (): TableCounts => table.counts();
    let entries = 0;
    let bytes = 0;
    while (this.#index < commitIndex) {
      if (entries >= this.#sliceEntriesMax || bytes >= this.#sliceBytesMax) break;
      catchUp.look(raft, this.#index, counts);
      const index = this.#index + 1;
      const entry = raft.entry(index);
      if (entry.kind === "command") this.#apply(index, entry.data);
      else if (entry.kind === "configuration") this.#configure(index, entry.data);
      this.#index = index;
      entries += 1;
      bytes += entry.data.length;
    }
    catchUp.look(raft, this.#index, counts);
    return bytes;
  }

  /** A snapshot brought the effects of everything up to that entry. */
  #jumpTo({ index, configuration }: AppliedPosition): void {
    assert(index > this.#index, () => `a snapshot of ${index} at ${this.#index}`);
    this.#index = index;
    this.#configuration = configuration;
  }

  #configure(index: number, data: Uint8Array): void {
    const configuration = decodeConfiguration(data);
    assert(configuration !== undefined, () => `entry ${index} is not a configuration`);
    this.#configuration = configuration;
    this.#parts.actions?.begin(index);
    this.#parts.actions?.onApplied(membersAction(configuration), this.#parts.changeLog.wallMs);
  }

  #apply(index: number, data: Uint8Array): void {
    const { table, attachments, cache, changeLog, actions, catchUp, logger } = this.#parts;
    const { stamp, wallMs } = decodeBatchHeader(data);
    assert(stamp > 0, () => `entry ${index} is stamped ${stamp}`);
    const commands = cache.take(index, data) ?? decodeCommands(data, BATCH_HEADER_BYTES);
    if (commands.some(isUnreadable))
      logger("error", "an entry holds records that are not commands", { index });
    const isHeard = attachments.count > 0;
    const isReplay = !catchUp.isDone;
    changeLog.begin(index, stamp, wallMs, isReplay);
    actions?.begin(index);
    table.apply({ index, stamp, wallMs, commands }, isHeard ? attachments : NOBODY);
    if (!isReplay) this.#commandCount += commands.length;
    if (isHeard) this.#closeOvertaken(commands);
  }

  /** The table answers no attach that a later one of the same session has overtaken. */
  #closeOvertaken(commands: readonly TableCommand[]): void {
    const { attachments } = this.#parts;
    for (const { session, command } of commands) {
      if (session > 0 || command === undefined || !isAttachCommand(command)) continue;
      const unanswered = attachments.awaiting(command);
      if (unanswered === undefined) continue;
      attachments.close(unanswered, CLOSE_REASON_ATTACHED_ELSEWHERE);
    }
  }
}

/**
 * It has no effect on any node: all have the same model, and decoding depends on the bytes alone.
 */
function isUnreadable({ command }: TableCommand): boolean {
  return command === undefined;
}
