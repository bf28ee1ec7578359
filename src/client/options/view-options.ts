/** The options of reads and watches, and the complete, checked questions that are made of them. */
import {
  HISTORY_PAGE_MAX,
  OP,
  QUERY_PAGE_MAX,
  type Query,
  REVISION_NUMBER_MAX,
  type Revision,
  type UnwatchQuery,
  WAIT_GRAPH_EDGES_MAX,
  type WatchQuery,
} from "../../protocol/index.js";
import {
  type CallOptions,
  requireInteger,
  requireKnown,
  requireObject,
  requirePrefix,
  requireTableKey,
  signalOf,
} from "./checks.js";
import { nameDigest } from "./lease-options.js";

const HISTORY_DEFAULT = 100;
const PAGE_DEFAULT = 100;
/** The request of an `explain` that is not about a waiting request. */
const NEWCOMER = Object.freeze({ session: 0, sequence: 0 });
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

/** The options of the calls with these names. */
export const INSPECT_OPTIONS: ReadonlySet<string> = new Set(["owner", "signal"]);
export const EXPLAIN_OPTIONS: ReadonlySet<string> = new Set(["request", "signal"]);
/** The options of views with a limit. */
export const LIMIT_OPTIONS: ReadonlySet<string> = new Set(["limit", "signal"]);
/** The options of views that are read page by page. */
export const PAGE_OPTIONS: ReadonlySet<string> = new Set(["after", "limit", "signal"]);
const TARGET_OPTIONS: ReadonlySet<string> = new Set(["prefix"]);
const WATCH_OPTIONS: ReadonlySet<string> = new Set(["after", "signal"]);

/**
 * One key, or all keys with a prefix. A text that ends with "/" is such a prefix; `{ prefix }` may
 * end in any character.
 */
export type WatchTarget = string | { readonly prefix: string };

/** The options of `keysPage` and `sessionsPage`. */
export interface PageOptions<After> extends CallOptions {
  /** `next` of the page before; default: the first page. */
  after?: After | undefined;
  /** How many at most. 1 – 200, default 100. A page may have fewer and not be the last one. */
  limit?: number | undefined;
}

/** The options of `inspect`. */
export interface InspectOptions extends CallOptions {
  /** Shows the lease of this owner as `mine`. Only the digest of it leaves this process. */
  owner?: string | undefined;
}

/** The options of `explain`. */
export interface ExplainOptions extends CallOptions {
  /** A waiting request, as `inspect` shows it; default: a new request. */
  request?: { readonly session: number; readonly sequence: number } | undefined;
}

/** The options of `watch`. */
export interface WatchOptions extends CallOptions {
  /** Begins after this revision of an earlier watch; default: with the call. */
  after?: Revision | undefined;
}

/** A question that is answered once; a watch goes on after its answer. */
export type SingleQuery = Exclude<Query, WatchQuery | UnwatchQuery>;
type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
/** Without its number, which is chosen when it is sent. */
export type Question = WithoutId<SingleQuery>;

/** What a watch asks for, complete and checked. */
export interface WatchWish {
  readonly key: string;
  readonly isPrefix: boolean;
  readonly after: Revision | undefined;
  readonly signal: AbortSignal | undefined;
}

export function resolveInspect(key: string, { owner }: InspectOptions = {}): Question {
  requireTableKey(key);
  const digest = owner === undefined ? undefined : nameDigest(owner, "owner");
  return { op: OP.inspect, key, owner: digest };
}

export function resolveQuery(prefix: string): void {
  requirePrefix(prefix);
}

export function resolveKeysPage(
  prefix: string,
  { after, limit = PAGE_DEFAULT }: PageOptions<string> = {},
): Question {
  requirePrefix(prefix);
  if (after !== undefined) requireTableKey(after);
  requireInteger(limit, "limit", 1, QUERY_PAGE_MAX);
  return { op: OP.query, prefix, after, limit };
}

export function resolveSessionsPage({
  after = 0,
  limit = PAGE_DEFAULT,
}: PageOptions<number> = {}): Question {
  requireInteger(after, "after", 0, NUMBER_MAX);
  requireInteger(limit, "limit", 1, QUERY_PAGE_MAX);
  return { op: OP.sessions, after, limit };
}

export function resolveExplain(key: string, options: ExplainOptions | undefined): Question {
  requireTableKey(key);
  const { request = NEWCOMER } = options ?? {};
  requireObject(request, "request");
  const { session, sequence } = request;
  requireInteger(session, "request.session", 0, NUMBER_MAX);
  requireInteger(sequence, "request.sequence", 0, NUMBER_MAX);
  return { op: OP.explain, key, session, sequence };
}

export function resolveWaitGraph(limit: number = WAIT_GRAPH_EDGES_MAX): Question {
  requireInteger(limit, "limit", 1, WAIT_GRAPH_EDGES_MAX);
  return { op: OP.waitGraph, limit };
}

export function resolveVerify(key: string, token: number): Question {
  requireTableKey(key);
  requireInteger(token, "token", 0, NUMBER_MAX);
  return { op: OP.verify, key, token };
}

export function resolveHistory(key: string, limit: number = HISTORY_DEFAULT): Question {
  requireTableKey(key);
  requireInteger(limit, "limit", 1, HISTORY_PAGE_MAX);
  return { op: OP.history, key, limit };
}

export function resolveWatch(target: WatchTarget, options: WatchOptions | undefined): WatchWish {
  const prefix = prefixOf(target);
  if (prefix === undefined) requireTableKey(target as string);
  else requirePrefix(prefix);
  const signal = signalOf(options, WATCH_OPTIONS);
  return {
    key: prefix ?? (target as string),
    isPrefix: prefix !== undefined,
    after: resolveAfter(options?.after),
    signal,
  };
}

function prefixOf(target: WatchTarget): string | undefined {
  if (typeof target === "object" && target !== null) {
    requireKnown(target, TARGET_OPTIONS);
    requirePrefix(target.prefix);
    return target.prefix;
  }
  return typeof target === "string" && target.endsWith("/") ? target : undefined;
}

function resolveAfter(after: Revision | undefined): Revision | undefined {
  if (after === undefined) return undefined;
  requireObject(after, "after");
  const { index, number } = after;
  // At index 0 there is one place, before everything; another number would mean: from now on.
  const indexMin = number === REVISION_NUMBER_MAX ? 0 : 1;
  requireInteger(index, "after.index", indexMin, NUMBER_MAX);
  requireInteger(number, "after.number", 0, REVISION_NUMBER_MAX);
  return { index, number };
}
