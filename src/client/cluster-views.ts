/**
 * What clients and operators see of a cluster: checks arguments, asks, and says what the answers are.
 * Who carries the questions, a session or a connection without one, is the subclass's.
 */
import {
  type ExplainView,
  type HistoryView,
  type KeysView,
  type KeyView,
  OP,
  QUERY_PAGE_MAX,
  type SessionsView,
  type SessionView,
  type SettingView,
  type VerifyView,
  type WaitGraphView,
} from "../protocol/index.js";
import type { CallOptions } from "./lock-types.js";
import { signalOf } from "./options.js";
import type { Question } from "./reads/reads.js";
import {
  EXPLAIN_OPTIONS,
  type ExplainOptions,
  LIMIT_OPTIONS,
  resolveExplain,
  resolveHistory,
  resolveInspect,
  resolveQuery,
  resolveVerify,
  resolveWaitGraph,
} from "./reads/view-options.js";
import { type History, tenureOf } from "./reads/view-types.js";
import type { Views } from "./types.js";

export abstract class ClusterViews implements Views {
  protected abstract ask(question: Question, signal: AbortSignal | undefined): Promise<unknown>;

  async inspect(key: string, options?: CallOptions): Promise<KeyView> {
    return (await this.ask(resolveInspect(key), signalOf(options))) as KeyView;
  }

  query(prefix = "", options?: CallOptions): AsyncIterable<KeyView> {
    resolveQuery(prefix);
    return this.#keys(prefix, signalOf(options));
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

  async settings(options?: CallOptions): Promise<readonly SettingView[]> {
    const question = { op: OP.settings } as const;
    return (await this.ask(question, signalOf(options))) as readonly SettingView[];
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
