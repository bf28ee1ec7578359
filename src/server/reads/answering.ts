/**
 * From a question to its answer, out of what this node has applied. Nothing here decides when that is
 * enough: whoever calls has waited for the index that makes the answer linearizable.
 *
 * Each answer has a cost, in lines of holds and waiters, by which a turn is kept short. What sorts or
 * walks through more than it shows costs everything a turn has: 64 pages of keys in one turn were seen
 * to stop the loop for longer than an election timeout.
 */
import { unreachable } from "../../assert.js";
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors.js";
import type { LockTable } from "../../lockfsm/index.js";
import {
  type ExplainQuery,
  MESSAGE,
  OP,
  type Query,
  type SaveSnapshotOperation,
  STATUS,
  type UnwatchQuery,
  type WatchQuery,
} from "../../protocol/index.js";
import type { Attachment } from "../commands/attachments.js";
import type { History } from "./history.js";
import { usualHoldMs } from "./tenures.js";
import type { TransitionLog } from "./transition-log.js";

/** What any answer costs besides the lines it shows. */
const ANSWER_COST = 16;

/** What is answered out of the table. */
export type TableQuery = Exclude<Query, WatchQuery | UnwatchQuery> | SaveSnapshotOperation;

export interface AnsweringParts {
  readonly table: LockTable;
  readonly transitions: TransitionLog;
  readonly history: History;
  /** What is to be saved may be saved now. */
  readonly save: (attachment: Attachment, operation: SaveSnapshotOperation) => void;
}

export class Answering {
  readonly #parts: AnsweringParts;

  constructor(parts: AnsweringParts) {
    this.#parts = parts;
  }

  /** Answers, or sees to it that a later turn does. Returns what it cost; `costMax`: everything. */
  answer(attachment: Attachment, query: TableQuery, costMax: number): number {
    const { table } = this.#parts;
    const reply = (payload: unknown): void => send(attachment, query, STATUS.ok, payload);
    switch (query.op) {
      case OP.inspect: {
        const view = table.inspect(query.key);
        reply(view);
        return ANSWER_COST + view.holds.length + view.waiters.length + view.closings.length;
      }
      case OP.query:
        reply(table.query(query.prefix, query.after, query.limit));
        return costMax;
      case OP.explain:
        reply(this.#explain(query));
        return costMax;
      case OP.waitGraph:
        reply(table.waitGraph(query.limit));
        return costMax;
      case OP.verify:
        reply(table.verify(query.key, query.token));
        return ANSWER_COST;
      case OP.settings:
        reply(table.settings());
        return ANSWER_COST;
      case OP.sessions:
        reply(table.listSessions(query.after, query.limit));
        return costMax;
      case OP.history:
        this.#parts.history.read(query.key, query.limit, reply, (isBusy) => {
          if (isBusy) refuse(attachment, query, ERROR_NUMBERS.BUSY);
          else send(attachment, query, ERROR_NUMBERS.INTERNAL, null);
        });
        return costMax;
      case OP.saveSnapshot:
        this.#parts.save(attachment, query);
        return ANSWER_COST;
      default:
        return unreachable(query);
    }
  }

  #explain({ key, session, sequence }: ExplainQuery): unknown {
    const { table, transitions } = this.#parts;
    const request = session === 0 ? undefined : { session, sequence };
    return table.explain(key, request, (of) => usualHoldMs(transitions, of));
  }
}

/** A read has no effect, so a refused one is never indeterminate. */
export function refuse(
  attachment: Attachment,
  query: TableQuery,
  status: typeof ERROR_NUMBERS.BUSY | typeof ERROR_NUMBERS.UNAVAILABLE,
): void {
  send(attachment, query, status, { indeterminate: false });
}

function send(
  attachment: Attachment,
  { id }: TableQuery,
  status: typeof STATUS.ok | ErrorNumber,
  payload: unknown,
): void {
  if (attachment.isClosed) return;
  attachment.connection.send({ kind: MESSAGE.answer, id, status, payload });
}
