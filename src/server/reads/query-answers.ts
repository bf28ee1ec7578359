/**
 * From a query to its answer, from what this node has applied. It does not decide when that is
 * enough: the caller has waited for the index that makes the answer linearizable.
 *
 * Each answer has a cost, in lines of holds and waiters, which limits the answers of one turn. A
 * query that sorts or scans more than it shows costs as much as a whole turn may spend: 64 pages of
 * keys in one turn have stopped the loop for longer than an election timeout.
 */
import { ERROR_NUMBERS, type ErrorNumber, unreachable } from "../../errors/index.js";
import { type LockTable, type Viewer, whoAmI } from "../../lockfsm/index.js";
import {
  type AuditQuery,
  type ExplainQuery,
  MESSAGE,
  OP,
  type PingQuery,
  type Query,
  type ReadOnlyQuery,
  type SaveSnapshotOperation,
  type SignInQuery,
  STATUS,
  type UnwatchQuery,
  type VitalsQuery,
  type WatchQuery,
} from "../../protocol/index.js";
import type { AccessLog } from "../commands/access-log.js";
import type { Attachment } from "../commands/attachments.js";
import type { Audit } from "./audit.js";
import type { ChangeLog } from "./change-log.js";
import type { HistoryAnswers } from "./history-answers.js";
import { judge } from "./read-rights.js";
import { usualHoldMs } from "./tenures.js";

/** The cost of any answer in addition to the lines it shows. */
const ANSWER_COST = 16;
/** Pages of the audit that are read at a time. */
const AUDIT_READS_MAX = 4;
/** How much one turn may spend on answering reads; the rest waits for the next turn. */
export const READ_COST_PER_TURN_MAX = 1_024;
/** Those that cost a whole turn. */
const DEAR_OPS: ReadonlySet<number> = new Set([
  OP.query,
  OP.explain,
  OP.waitGraph,
  OP.sessions,
  OP.history,
  OP.access,
  OP.audit,
  OP.vitals,
]);

/** What a read costs at least, as far as is known before it is answered. */
export function leastCostOf({ op }: { readonly op: number }): number {
  return DEAR_OPS.has(op) ? READ_COST_PER_TURN_MAX : ANSWER_COST;
}

/** Queries that are answered from the table. */
export type TableQuery =
  | Exclude<
      Query,
      WatchQuery | UnwatchQuery | SignInQuery | VitalsQuery | ReadOnlyQuery | PingQuery
    >
  | SaveSnapshotOperation;

export interface QueryAnswersParts {
  readonly table: LockTable;
  readonly changeLog: ChangeLog;
  readonly history: HistoryAnswers;
  /** `undefined` if the node keeps none. */
  readonly audit: Audit | undefined;
  readonly accessLog: AccessLog;
  /** Called when the snapshot that is asked for may be saved. */
  readonly save: (attachment: Attachment, operation: SaveSnapshotOperation) => void;
}

export class QueryAnswers {
  readonly #parts: QueryAnswersParts;
  #auditReads = 0;

  constructor(parts: QueryAnswersParts) {
    this.#parts = parts;
  }

  /** Answers now or lets a later turn do so. Returns the cost. */
  answer(attachment: Attachment, query: TableQuery): number {
    const { table, accessLog } = this.#parts;
    const viewer = table.viewerOf(attachment.credential);
    const problem = judge(accessLog, attachment, viewer, query);
    if (viewer === undefined || problem !== undefined) {
      send(attachment, query, problem ?? ERROR_NUMBERS.UNAUTHENTICATED, null);
      return ANSWER_COST;
    }
    const reply = (payload: unknown): void => send(attachment, query, STATUS.ok, payload);
    switch (query.op) {
      case OP.inspect: {
        const { key, owner } = query;
        const view = table.inspect(key);
        reply(owner === undefined ? view : { ...view, mine: table.leaseIn(key, owner, viewer) });
        return ANSWER_COST + view.holds.length + view.waiters.length + view.cooldowns.length;
      }
      case OP.query:
        reply(table.query(query.prefix, query.after, query.limit, viewer));
        return READ_COST_PER_TURN_MAX;
      case OP.explain:
        reply(this.#explain(query, viewer));
        return READ_COST_PER_TURN_MAX;
      case OP.waitGraph:
        reply(table.waitGraph(query.limit, viewer));
        return READ_COST_PER_TURN_MAX;
      case OP.verify:
        reply(table.verify(query.key, query.token));
        return ANSWER_COST;
      case OP.settings:
        reply(table.settings());
        return ANSWER_COST;
      case OP.sessions:
        reply(table.listSessions(query.after, query.limit));
        return READ_COST_PER_TURN_MAX;
      case OP.history:
        this.#parts.history.read(query.key, query.limit, reply, (isBusy) => {
          if (isBusy) refuse(attachment, query, ERROR_NUMBERS.BUSY);
          else send(attachment, query, ERROR_NUMBERS.INTERNAL, null);
        });
        return READ_COST_PER_TURN_MAX;
      case OP.audit:
        this.#readAudit(attachment, query, reply);
        return READ_COST_PER_TURN_MAX;
      case OP.access:
        reply(table.listIdentities(query.after, query.limit));
        return READ_COST_PER_TURN_MAX;
      case OP.checkAccess:
        reply(table.checkAccess(query.name, query.level, query.key, query.isPrefix));
        return ANSWER_COST;
      case OP.whoAmI:
        reply(whoAmI(viewer));
        return ANSWER_COST;
      case OP.saveSnapshot:
        this.#parts.save(attachment, query);
        return ANSWER_COST;
      default:
        return unreachable(query);
    }
  }

  #readAudit(attachment: Attachment, query: AuditQuery, reply: (payload: unknown) => void): void {
    const { audit } = this.#parts;
    if (audit === undefined) {
      const message = "this node keeps no audit: start it with --audit";
      send(attachment, query, ERROR_NUMBERS.INVALID_ARGUMENT, { message });
      return;
    }
    if (this.#auditReads >= AUDIT_READS_MAX) {
      refuse(attachment, query, ERROR_NUMBERS.BUSY);
      return;
    }
    this.#auditReads += 1;
    const { block, at, limit, key, isPrefix, identity, kind, since, until } = query;
    const filter = { key, isPrefix, identity, kind, sinceWallMs: since, untilWallMs: until };
    const onDone = (payload: unknown): void => {
      this.#auditReads -= 1;
      reply(payload);
    };
    audit.page(filter, limit, block === 0 ? undefined : { block, at }, onDone, () => {
      this.#auditReads -= 1;
      send(attachment, query, ERROR_NUMBERS.INTERNAL, null);
    });
  }

  #explain({ key, session, sequence }: ExplainQuery, viewer: Viewer): unknown {
    const { table, changeLog } = this.#parts;
    const request = session === 0 ? undefined : { session, sequence };
    return table.explain(key, request, (of) => usualHoldMs(changeLog, of), viewer);
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
