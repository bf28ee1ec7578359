/** What one client process holds, as far as its lines say: at its death, what it died with. */
import type { HistoryEvent } from "../history/history-event.js";

export class OpenHolds {
  /** Tokens, by workload. */
  readonly #tokens = new Map<string, Set<unknown>>();

  event({ type, f, workload, value }: HistoryEvent): void {
    const { token } = (value ?? {}) as { readonly token?: unknown };
    if (token === undefined) return;
    const tokens = this.#tokens.get(workload) ?? new Set();
    this.#tokens.set(workload, tokens);
    if (type === "ok" && f === "acquire") tokens.add(token);
    else if (f === "release" || f === "lost") tokens.delete(token);
  }

  has(workload: string): boolean {
    return (this.#tokens.get(workload)?.size ?? 0) > 0;
  }
}
