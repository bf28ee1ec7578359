/** Answers queries from a table alone, without any remembered transitions. */
import type { LockTable } from "../../../src/lockfsm/index.js";
import { AccessLog } from "../../../src/server/commands/access-log.js";
import { History } from "../../../src/server/reads/history.js";
import { QueryAnswers } from "../../../src/server/reads/query-answers.js";
import { TransitionLog } from "../../../src/server/reads/transition-log.js";

export function answersFrom(table: LockTable): QueryAnswers {
  const limits = { changesMax: 1_024, changeBytesMax: 1 << 20 };
  const transitions = new TransitionLog(limits, 0);
  const history = new History({ table, transitions, audit: undefined });
  const accessLog = new AccessLog({
    attachments: { sourceOf: () => undefined },
    clock: { nowMs: () => 0, wallMs: () => 0 },
    logger: () => {},
    isLeader: () => false,
  });
  return new QueryAnswers({
    table,
    transitions,
    history,
    audit: undefined,
    accessLog,
    save: () => {},
  });
}
