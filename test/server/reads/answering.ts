/** What answers reads from a table, with nothing remembered beside it. */
import type { LockTable } from "../../../src/lockfsm/index.js";
import { Answering } from "../../../src/server/reads/answering.js";
import { History } from "../../../src/server/reads/history.js";
import { TransitionLog } from "../../../src/server/reads/transition-log.js";

export function answeringFrom(table: LockTable): Answering {
  const limits = { changesMax: 1_024, changeBytesMax: 1 << 20 };
  const transitions = new TransitionLog(limits, 0);
  const history = new History({ table, transitions, audit: undefined });
  return new Answering({ table, transitions, history, save: () => {} });
}
