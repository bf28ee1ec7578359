/**
 * One violation of a promise: its kind, one sentence, and the lines of the history that show it.
 */
import type { AnomalyKind } from "./anomalies.js";
import { eventText } from "./event-text.js";
import type { HistoryEvent } from "./input/history-event.js";

export interface ViolationStep {
  readonly line: number;
  readonly timeNs?: number;
  readonly text: string;
}

export interface Violation {
  readonly kind: AnomalyKind;
  /** One plain sentence. */
  readonly text: string;
  readonly keys: readonly string[];
  /** Lines of the history that show it, in order. */
  readonly lines: readonly number[];
  /** The same lines in words. */
  readonly steps: readonly ViolationStep[];
  /** When it happened, if the history has times; without a `toNs` it was one moment. */
  readonly fromNs?: number;
  readonly toNs?: number;
  /** From the search: what was tried at that point, and why each of it fails. */
  readonly reasons?: readonly string[];
}

export interface Involved {
  readonly keys: readonly string[];
  /** Lines that show it, in any order; some may be absent or repeated. */
  readonly events: readonly (HistoryEvent | undefined)[];
  /** Default: the moment of the last line. */
  readonly fromNs?: number | undefined;
  readonly toNs?: number | undefined;
}

export function violationOf(
  kind: AnomalyKind,
  text: string,
  { keys, events, fromNs, toNs }: Involved,
): Violation {
  const present = events.filter((event) => event !== undefined);
  const ordered = [...new Set(present)].sort((one, other) => one.line - other.line);
  const steps = ordered.map((event): ViolationStep => {
    const { line, timeNs } = event;
    return { line, ...(timeNs === undefined ? {} : { timeNs }), text: eventText(event) };
  });
  const from = fromNs ?? ordered.at(-1)?.timeNs;
  return {
    kind,
    text,
    keys,
    lines: steps.map(({ line }) => line),
    steps,
    ...(from === undefined ? {} : { fromNs: from }),
    ...(toNs === undefined ? {} : { toNs }),
  };
}
