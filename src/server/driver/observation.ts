/**
 * What clients see of the table beyond the answers to their commands: watches, reads, the history
 * and its audit. The loop calls it in one place, after entries were applied: changes are sent
 * before reads are answered.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { AccessLog } from "../commands/access-log.js";
import type { NodeTuning } from "../options.js";
import type { ActionLog } from "../reads/action-log.js";
import { Audit, type AuditStatus } from "../reads/audit.js";
import { ChangeLog } from "../reads/change-log.js";
import { HistoryAnswers } from "../reads/history-answers.js";
import {
  QueryAnswers,
  type QueryAnswersParts,
  READ_COST_PER_TURN_MAX,
} from "../reads/query-answers.js";
import type { Reads } from "../reads/reads.js";
import { ServedWatches } from "../reads/served-watches.js";
import type { LockTimes } from "../vitals/lock-times.js";
import type { DriverPorts, ObservationStatus } from "./driver-ports.js";

export interface ObservationParts {
  readonly table: LockTable;
  readonly reads: Reads;
  readonly audit: DriverPorts["audit"];
  /** `undefined` if the node keeps no audit. */
  readonly actions: ActionLog | undefined;
  readonly clock: DriverPorts["clock"];
  readonly logger: DriverPorts["logger"];
  readonly accessLog: AccessLog;
  readonly times: LockTimes;
  /** Asks for a turn. */
  readonly wake: () => void;
  readonly save: QueryAnswersParts["save"];
}

export class Observation {
  readonly changeLog: ChangeLog;
  readonly watches: ServedWatches;
  readonly #parts: ObservationParts;
  readonly #answers: QueryAnswers;
  readonly #audit: Audit | undefined;

  /** `index`: the last entry whose effects the table holds. */
  constructor(parts: ObservationParts, tuning: NodeTuning, index: number) {
    const { table, audit, actions, wake, logger, accessLog, save, times } = parts;
    this.#parts = parts;
    const changeLog = new ChangeLog(tuning, index);
    table.listen((change) => {
      changeLog.add(change);
      if (!changeLog.isReplay) times.note(change, changeLog.stamp);
    });
    this.changeLog = changeLog;
    this.watches = new ServedWatches(changeLog, tuning, index);
    this.#audit =
      audit === undefined
        ? undefined
        : new Audit({ store: audit.store, changeLog, actions, wake, logger }, audit);
    const history = new HistoryAnswers({ table, changeLog, audit: this.#audit });
    this.#answers = new QueryAnswers({
      ...{ table, changeLog, history, accessLog, save },
      audit: this.#audit,
    });
  }

  /** `undefined` if the audit is off. */
  get auditState(): AuditStatus["state"] | undefined {
    return this.#audit?.state;
  }

  get status(): ObservationStatus {
    const { watches, changeLog } = this;
    return {
      watches: watches.count,
      watchesCompactedTotal: watches.compactedTotal,
      changes: changeLog.count,
      changeBytes: changeLog.bytes,
      changesAfter: changeLog.floor.index,
      changesByType: changeLog.totals,
      endsByReason: changeLog.endsByReason,
      audit: this.#audit?.status,
    };
  }

  /** Whether the next turn has something to do without a further input. */
  get hasWork(): boolean {
    return this.#parts.reads.hasReady || this.watches.hasWork || this.#audit?.hasWork === true;
  }

  get nextDeadlineMs(): number {
    const auditMs = this.#audit?.nextDeadlineMs ?? Number.POSITIVE_INFINITY;
    return Math.min(this.#parts.reads.nextDeadlineMs, this.watches.nextDeadlineMs, auditMs);
  }

  /** Once a turn. `index`: the last applied entry. */
  work(index: number, isTakingSnapshot: boolean, nowMs: number): void {
    const { reads, clock } = this.#parts;
    this.watches.serve(index, nowMs);
    reads.expire(nowMs);
    reads.onApplied(index);
    reads.answer(this.#answers, READ_COST_PER_TURN_MAX);
    this.#audit?.work(index, isTakingSnapshot, nowMs, clock.wallMs());
  }

  /** Resolves when no call of the store is under way. */
  async stop(): Promise<void> {
    await this.#audit?.stop();
  }
}
