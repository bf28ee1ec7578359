/**
 * Answers who held a lock: first the current holders, then those that this node remembers, then
 * those in its audit. What is in memory is taken at one moment, when the answer is made. The audit
 * is read after that and only for what memory has forgotten, so that nothing is shown twice and
 * nothing is missing.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { HistoryView, LostTenures, Tenure } from "../../protocol/index.js";
import type { Audit } from "./audit.js";
import type { ChangeLog } from "./change-log.js";
import { tenuresOf } from "./tenures.js";

export interface HistoryParts {
  readonly table: Pick<LockTable, "inspect" | "stamp">;
  readonly changeLog: ChangeLog;
  /** `undefined` if the node keeps none. */
  readonly audit: Audit | undefined;
}

/** Reads of the audit at a time. */
const READS_MAX = 64;

export class HistoryAnswers {
  readonly #parts: HistoryParts;
  #readCount = 0;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /**
   * The newest `limit` tenures of a key. Calls one of the two, now or in a later turn: `onFailure`
   * if the audit cannot be read, with `isBusy` if too many reads of it are under way.
   */
  read(
    key: string,
    limit: number,
    onDone: (view: HistoryView) => void,
    onFailure: (isBusy: boolean) => void,
  ): void {
    const { changeLog, audit } = this.#parts;
    const all = this.#present(key);
    // One more than wanted shows whether there are more.
    const wanted = limit + 1;
    if (all.length < wanted) all.push(...tenuresOf(changeLog, key, wanted - all.length));
    if (audit === undefined || all.length >= wanted) {
      onDone(viewOf(all, limit, changeLog.floor.index > 0, []));
      return;
    }
    if (this.#readCount >= READS_MAX) {
      onFailure(true);
      return;
    }
    this.#readCount += 1;
    audit.read(
      key,
      changeLog.floor,
      wanted - all.length,
      (tenures, lost) => {
        this.#readCount -= 1;
        all.push(...tenures);
        onDone(viewOf(all, limit, audit.completeAfter > 0, lost));
      },
      () => {
        this.#readCount -= 1;
        onFailure(false);
      },
    );
  }

  /** The current holders, the newest grant first. */
  #present(key: string): Tenure[] {
    const { table, changeLog } = this.#parts;
    const { holds } = table.inspect(key);
    const present = holds.map((hold) => {
      const { mode, token, session, sessionName, identity, task, sequence, heldMs } = hold;
      const grantedWallMs = changeLog.wallMsAt(table.stamp - heldMs);
      const who = { key, mode, token, session, sessionName, identity, task, sequence };
      const { holder, waitedMs, orderedBy } = hold;
      return { ...who, holder, grantedWallMs, heldMs, waitedMs, orderedBy, reason: null };
    });
    return present.reverse();
  }
}

function viewOf(
  all: readonly Tenure[],
  limit: number,
  isForgotten: boolean,
  lost: readonly LostTenures[],
): HistoryView {
  const tenures = all.slice(0, limit);
  return { tenures, isTruncated: all.length > limit || isForgotten || lost.length > 0, lost };
}
