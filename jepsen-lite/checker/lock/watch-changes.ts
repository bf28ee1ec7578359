/**
 * The `change` notes of watchers, decoded.
 */
import { BadHistoryError } from "../input/history-event.js";
import type { PairedHistory } from "../operations.js";
import { numberIn } from "./lock-calls.js";

export interface WatchChange {
  readonly at: number;
  /** The stream that saw it. */
  readonly watch: string;
  /** Compared from the left; equal exactly if it is the same transition. */
  readonly revision: readonly number[];
  readonly kind: string;
  readonly key: string;
  readonly token: number | undefined;
}

/** @throws BadHistoryError for a note without stream, revision or kind. */
export function readChanges(history: PairedHistory): WatchChange[] {
  const changes: WatchChange[] = [];
  for (const { event, at } of history.notes) {
    if (event.f !== "change") continue;
    const value = (event.value ?? {}) as Readonly<Record<string, unknown>>;
    const { watch, revision, kind, key } = value;
    const numbers = typeof revision === "number" ? [revision] : revision;
    const isRevision = Array.isArray(numbers) && numbers.every(Number.isFinite);
    if (!isRevision || numbers.length === 0 || typeof kind !== "string") {
      throw new BadHistoryError("a change without revision or kind", event.line);
    }
    changes.push({
      at,
      watch: String(watch ?? event.process),
      revision: numbers as number[],
      kind,
      key: String(key ?? event.key ?? ""),
      token: numberIn(value, "token"),
    });
  }
  return changes;
}

export function compareRevisions(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = (a[at] ?? -1) - (b[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}
