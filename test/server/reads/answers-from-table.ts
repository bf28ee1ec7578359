/** Answers queries from a table alone, without any remembered changes. */
import type { LockTable } from "../../../src/lockfsm/index.js";
import { AccessLog } from "../../../src/server/commands/access-log.js";
import { ChangeLog } from "../../../src/server/reads/change-log.js";
import { HistoryAnswers } from "../../../src/server/reads/history-answers.js";
import { QueryAnswers } from "../../../src/server/reads/query-answers.js";

export function answersFrom(table: LockTable): QueryAnswers {
  const limits = { changesMax: 1_024, changeBytesMax: 1 << 20 };
  const changeLog = new ChangeLog(limits, 0);
  const history = new HistoryAnswers({ table, changeLog, audit: undefined });
  const accessLog = new AccessLog({
    attachments: { sourceOf: () => undefined },
    clock: { nowMs: () => 0, wallMs: () => 0 },
    logger: () => {},
    isLeader: () => false,
  });
  return new QueryAnswers({
    table,
    changeLog,
    history,
    audit: undefined,
    accessLog,
    save: () => {},
  });
}
