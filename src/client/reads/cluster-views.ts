/**
 * The views of clients and operators: checks arguments, asks, and converts the answers. The
 * subclass carries the questions: over a session, or over a connection without one.
 */
import {
  type ExplainView,
  type HistoryView,
  type KeysView,
  type KeyView,
  type LostTenures,
  OP,
  QUERY_PAGE_MAX,
  type SessionsView,
  type SessionView,
  type SettingView,
  type Tenure as TenureView,
  type VerifyView,
  type WaitGraphView,
  type WhoAmIView,
} from "../../protocol/index.js";
import { type LossReason, lossReasonOf } from "../failures.js";
import { type CallOptions, signalOf } from "../options/checks.js";
import {
  EXPLAIN_OPTIONS,
  type ExplainOptions,
  INSPECT_OPTIONS,
  type InspectOptions,
  LIMIT_OPTIONS,
  PAGE_OPTIONS,
  type PageOptions,
  type Question,
  resolveExplain,
  resolveHistory,
  resolveInspect,
  resolveKeysPage,
  resolveQuery,
  resolveSessionsPage,
  resolveVerify,
  resolveWaitGraph,
} from "../options/view-options.js";

/** One period in which a key was held, from its grant to its end. */
export interface Tenure extends Omit<TenureView, "reason"> {
  /** `undefined` while it is held. */
  readonly reason: LossReason | undefined;
}

/** Who held a key. */
export interface History {
  /** Newest first. */
  readonly tenures: readonly Tenure[];
  /** Whether there are more tenures, or may have been. */
  readonly isTruncated: boolean;
  /** Where records of the audit are lost, the newest first; then `isTruncated` is true. */
  readonly lost: readonly LostTenures[];
}

/**
 * The views of a `Client` and an `Admin`. "In time" means within `connectTimeoutMs`, or within
 * `timeoutMs` of an admin.
 */
export interface Views {
  /**
   * The holders and the waiting requests of a key; linearizable. `UNAVAILABLE` without an answer in
   * time.
   */
  inspect(key: string, options?: InspectOptions): Promise<KeyView>;
  /**
   * Every key in use whose name begins with `prefix`, in byte order; fetched page by page. Each
   * page is linearizable, but different pages show different moments. `UNAVAILABLE` as with
   * `inspect`.
   */
  query(prefix?: string, options?: CallOptions): AsyncIterable<KeyView>;
  /**
   * One page of what `query` gives, from the name after `after` on. Pass `next` as `after` to get the
   * page that follows; it is `null` at the end.
   */
  keysPage(prefix?: string, options?: PageOptions<string>): Promise<KeysView>;
  /**
   * Why a request waits, or what a new request for the key would have to wait for. Answered like
   * `inspect`.
   */
  explain(key: string, options?: ExplainOptions): Promise<ExplainView>;
  /** The wait-for graph. `limit`: edges, 1 – 2,000 (default 2,000). `toDot` draws it. */
  waitGraph(options?: CallOptions & { limit?: number | undefined }): Promise<WaitGraphView>;
  /**
   * Whether `token` belongs to a hold of `key`, and the newest token of the key. Advisory: the
   * answer may be outdated at once, so the resource must compare tokens itself.
   */
  verify(key: string, token: number, options?: CallOptions): Promise<VerifyView>;
  /**
   * Who held the key, newest first, as the answering node knows. `limit`: 1 – 1,000, default 100.
   */
  history(key: string, options?: CallOptions & { limit?: number | undefined }): Promise<History>;
  /** Every live session, in the order of their numbers; fetched page by page. */
  sessions(options?: CallOptions): AsyncIterable<SessionView>;
  /** One page of what `sessions` gives, as with `keysPage`. */
  sessionsPage(options?: PageOptions<number>): Promise<SessionsView>;
  /** The replicated settings, with their defaults. */
  settings(options?: CallOptions): Promise<readonly SettingView[]>;
  /** The identity of this client and its grants; `anonymous` without a token or certificate. */
  whoAmI(options?: CallOptions): Promise<WhoAmIView>;
}

export abstract class ClusterViews implements Views {
  protected abstract ask(question: Question, signal: AbortSignal | undefined): Promise<unknown>;

  async inspect(key: string, options?: InspectOptions): Promise<KeyView> {
    const signal = signalOf(options, INSPECT_OPTIONS);
    return (await this.ask(resolveInspect(key, options), signal)) as KeyView;
  }

  query(prefix = "", options?: CallOptions): AsyncIterable<KeyView> {
    resolveQuery(prefix);
    return this.#keys(prefix, signalOf(options));
  }

  async keysPage(prefix = "", options?: PageOptions<string>): Promise<KeysView> {
    const signal = signalOf(options, PAGE_OPTIONS);
    return (await this.ask(resolveKeysPage(prefix, options), signal)) as KeysView;
  }

  async explain(key: string, options?: ExplainOptions): Promise<ExplainView> {
    const signal = signalOf(options, EXPLAIN_OPTIONS);
    return (await this.ask(resolveExplain(key, options), signal)) as ExplainView;
  }

  async waitGraph(options?: CallOptions & { limit?: number | undefined }): Promise<WaitGraphView> {
    const signal = signalOf(options, LIMIT_OPTIONS);
    return (await this.ask(resolveWaitGraph(options?.limit), signal)) as WaitGraphView;
  }

  async verify(key: string, token: number, options?: CallOptions): Promise<VerifyView> {
    const question = resolveVerify(key, token);
    return (await this.ask(question, signalOf(options))) as VerifyView;
  }

  async history(
    key: string,
    options?: CallOptions & { limit?: number | undefined },
  ): Promise<History> {
    const signal = signalOf(options, LIMIT_OPTIONS);
    const question = resolveHistory(key, options?.limit);
    const view = (await this.ask(question, signal)) as HistoryView;
    return { ...view, tenures: view.tenures.map(tenureOf) };
  }

  sessions(options?: CallOptions): AsyncIterable<SessionView> {
    return this.#sessions(signalOf(options));
  }

  async sessionsPage(options?: PageOptions<number>): Promise<SessionsView> {
    const signal = signalOf(options, PAGE_OPTIONS);
    return (await this.ask(resolveSessionsPage(options), signal)) as SessionsView;
  }

  async settings(options?: CallOptions): Promise<readonly SettingView[]> {
    const question = { op: OP.settings } as const;
    return (await this.ask(question, signalOf(options))) as readonly SettingView[];
  }

  async whoAmI(options?: CallOptions): Promise<WhoAmIView> {
    return (await this.ask({ op: OP.whoAmI }, signalOf(options))) as WhoAmIView;
  }

  async *#keys(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<KeyView> {
    let after: string | undefined;
    do {
      const question = { op: OP.query, prefix, after, limit: QUERY_PAGE_MAX } as const;
      const page = (await this.ask(question, signal)) as KeysView;
      yield* page.keys;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  async *#sessions(signal: AbortSignal | undefined): AsyncGenerator<SessionView> {
    let after: number | null = 0;
    do {
      const question = { op: OP.sessions, after, limit: QUERY_PAGE_MAX } as const;
      const page = (await this.ask(question, signal)) as SessionsView;
      yield* page.sessions;
      after = page.next;
    } while (after !== null);
  }
}

function tenureOf(view: TenureView): Tenure {
  const { reason } = view;
  return { ...view, reason: reason === null ? undefined : lossReasonOf(reason) };
}
