/**
 * The reads and watches of a `TableServer`. Every change that its table reports is kept, so that a
 * watch can begin anywhere, until a test makes it forget the older ones.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import {
  type LockTable,
  type TableChange,
  type Viewer,
  whoAmI,
} from "../../../src/lockfsm/index.js";
import {
  type ChangesView,
  type ChangeView,
  END_REASON,
  type HistoryView,
  OP,
  type Query,
  REVISION_NUMBER_MAX,
  type Revision,
  STATUS,
  type Tenure,
  type UnwatchQuery,
  type WatchQuery,
} from "../../../src/protocol/index.js";

interface Answer {
  readonly status: typeof STATUS.ok | ErrorNumber;
  readonly payload: unknown;
}

/** A watch of one connection. */
export interface TableWatch {
  readonly query: WatchQuery;
  told: Revision;
}

const LAST_OF_ENTRY = REVISION_NUMBER_MAX;

export class TableReads {
  readonly #table: LockTable;
  /** Every change since the last `compact`, in order. */
  readonly changes: ChangeView[] = [];
  readonly #tenures: Tenure[] = [];
  /** What lies behind this is kept. */
  #floor: Revision = { index: 0, number: 0 };
  #index = 0;
  #stamp = 0;
  #wallMs = 0;
  #number = 0;

  constructor(table: LockTable) {
    this.#table = table;
    table.listen((change) => this.#note(change));
  }

  /** Before an entry is applied. */
  beginEntry(index: number, stamp: number, wallMs: number): void {
    this.#index = index;
    this.#stamp = stamp;
    this.#wallMs = wallMs;
    this.#number = 0;
  }

  /** Forgets all changes so far. */
  compact(): void {
    this.#floor = this.#end;
    this.changes.length = 0;
  }

  answer(query: Exclude<Query, WatchQuery | UnwatchQuery>, viewer: Viewer): Answer {
    return { status: STATUS.ok, payload: this.#payload(query, viewer) };
  }

  begin(query: WatchQuery): TableWatch {
    return { query, told: query.after ?? this.#end };
  }

  /** What the watch was not told yet, `undefined` when that is nothing. */
  next(watch: TableWatch): Answer | undefined {
    if (isAfter(this.#floor, watch.told)) {
      return { status: ERROR_NUMBERS.COMPACTED, payload: null };
    }
    const { key, isPrefix } = watch.query;
    const changes = this.changes.filter((change) => {
      const isMatch = isPrefix ? change.key.startsWith(key) : change.key === key;
      return isMatch && isAfter(change.revision, watch.told);
    });
    if (changes.length === 0) return undefined;
    watch.told = this.#end;
    const payload: ChangesView = { changes, revision: this.#end };
    return { status: STATUS.ok, payload };
  }

  get #end(): Revision {
    return { index: this.#index, number: LAST_OF_ENTRY };
  }

  #payload(query: Exclude<Query, WatchQuery | UnwatchQuery>, viewer: Viewer): unknown {
    const table = this.#table;
    switch (query.op) {
      case OP.inspect: {
        const { key, owner } = query;
        const view = table.inspect(key);
        return owner === undefined ? view : { ...view, mine: table.leaseIn(key, owner, viewer) };
      }
      case OP.query:
        return table.query(query.prefix, query.after, query.limit);
      case OP.explain: {
        const { session, sequence } = query;
        const request = session === 0 ? undefined : { session, sequence };
        return table.explain(query.key, request, () => undefined);
      }
      case OP.waitGraph:
        return table.waitGraph(query.limit);
      case OP.verify:
        return table.verify(query.key, query.token);
      case OP.settings:
        return table.settings();
      case OP.sessions:
        return table.listSessions(query.after, query.limit);
      case OP.history:
        return this.#history(query.key, query.limit);
      case OP.access:
        return table.listIdentities(query.after, query.limit);
      case OP.checkAccess:
        return table.checkAccess(query.name, query.level, query.key, query.isPrefix);
      case OP.whoAmI:
        return whoAmI(viewer);
      default:
        throw new Error(`${query.op} is not asked of this table`);
    }
  }

  #history(key: string, limit: number): HistoryView {
    const tenures = this.#tenures.filter((tenure) => tenure.key === key).reverse();
    return { tenures: tenures.slice(0, limit), isTruncated: tenures.length > limit, lost: [] };
  }

  #note(change: TableChange): void {
    const { type, key, mode, session, sessionName, identity, ...rest } = change;
    const { task, token, sequence, value, reason } = rest;
    const revision = { index: this.#index, number: this.#number };
    this.#number += 1;
    this.changes.push({
      revision,
      type,
      key,
      mode,
      session,
      sessionName,
      identity,
      task,
      token,
      sequence,
      value,
      reason,
      stamp: this.#stamp,
      wallMs: this.#wallMs,
    });
    if (type !== "ended") return;
    const heldMs = this.#stamp - change.grantedAt;
    const grantedWallMs = this.#wallMs - heldMs;
    const end = reason === END_REASON.unknown ? null : reason;
    this.#tenures.push({
      key,
      mode,
      token,
      session,
      sessionName,
      identity,
      task,
      sequence: change.sequence,
      holder: change.holder,
      grantedWallMs,
      heldMs,
      waitedMs: change.waitedMs,
      orderedBy: change.orderedBy,
      reason: end,
    });
  }
}

function isAfter(one: Revision, other: Revision): boolean {
  return one.index > other.index || (one.index === other.index && one.number > other.number);
}
