/**
 * Pairs the lines of a history into operations: each `invoke` with the completion of its process.
 * Lines that complete nothing are notes (faults, aborted signals, queue places) or an error.
 */
import { BadHistoryError, type HistoryEvent } from "./input/history-event.js";

/** `info`: it may have taken effect at any time after its invocation, or never. */
export type Outcome = "ok" | "fail" | "info";

export interface Operation {
  readonly invocation: HistoryEvent;
  /** Absent if the history ends before the operation does; its outcome is then `info`. */
  readonly completion: HistoryEvent | undefined;
  readonly outcome: Outcome;
  readonly process: string;
  readonly f: string;
  readonly key: string | undefined;
  readonly argument: unknown;
  /** The value of the completion; the argument if there is none. */
  readonly result: unknown;
  /** Positions in the history: the real-time order that every explanation must keep. */
  readonly invokedAt: number;
  /** `Infinity` unless the outcome is `ok` or `fail`. */
  readonly returnedAt: number;
}

/** The same, of unknown outcome. */
export function asUnknown(operation: Operation): Operation {
  return { ...operation, outcome: "info", returnedAt: Number.POSITIVE_INFINITY };
}

export interface Note {
  readonly event: HistoryEvent;
  readonly at: number;
  /** The operation that its process had open, if any. */
  readonly during: Operation | undefined;
}

export interface PairedHistory {
  readonly events: readonly HistoryEvent[];
  /** In the order of their invocations. */
  readonly operations: readonly Operation[];
  readonly notes: readonly Note[];
}

export const NEMESIS = "nemesis";
const CLIENT_NOTES: ReadonlySet<string> = new Set(["queued", "lost", "renewed", "crash", "change"]);

interface OpenOperation {
  readonly event: HistoryEvent;
  readonly at: number;
  readonly slot: number;
  readonly noteSlots: number[];
}

/**
 * @param functions the possible values of `f`; any other is an error.
 * @throws BadHistoryError if a line cannot belong to any history.
 */
export function pairOperations(
  events: readonly HistoryEvent[],
  functions: readonly string[],
): PairedHistory {
  return new Pairing(events, functions).run();
}

class Pairing {
  readonly #events: readonly HistoryEvent[];
  readonly #functions: readonly string[];
  readonly #operations: Operation[] = [];
  readonly #notes: Note[] = [];
  readonly #open = new Map<string, OpenOperation>();

  constructor(events: readonly HistoryEvent[], functions: readonly string[]) {
    this.#events = events;
    this.#functions = functions;
  }

  run(): PairedHistory {
    for (const [at, event] of this.#events.entries()) {
      if (event.process === NEMESIS) this.#notes.push({ event, at, during: undefined });
      else if (event.type === "invoke") this.#invoke(event, at);
      else this.#complete(event, at);
    }
    for (const open of this.#open.values()) this.#close(open, undefined, Number.POSITIVE_INFINITY);
    return { events: this.#events, operations: this.#operations, notes: this.#notes };
  }

  #invoke(event: HistoryEvent, at: number): void {
    if (!this.#functions.includes(event.f)) {
      throw new BadHistoryError(
        `the model has no operation ${JSON.stringify(event.f)}, only ${this.#functions.join(", ")}`,
        event.line,
      );
    }
    const open = this.#open.get(event.process);
    if (open !== undefined) {
      throw new BadHistoryError(
        `process ${event.process} invokes ${event.f} while its ${open.event.f} ` +
          `of line ${open.event.line} is open`,
        event.line,
      );
    }
    const slot = this.#operations.length;
    this.#operations.push(PLACEHOLDER);
    this.#open.set(event.process, { event, at, slot, noteSlots: [] });
  }

  #complete(event: HistoryEvent, at: number): void {
    const open = this.#open.get(event.process);
    if (event.type === "info" && event.f !== open?.event.f && CLIENT_NOTES.has(event.f)) {
      open?.noteSlots.push(this.#notes.length);
      this.#notes.push({ event, at, during: undefined });
      return;
    }
    if (open === undefined) {
      throw new BadHistoryError(
        `"${event.type}" without an invoke: process ${event.process} has no open operation`,
        event.line,
      );
    }
    if (event.f !== open.event.f) {
      throw new BadHistoryError(
        `process ${event.process} completes ${event.f}, but its operation ` +
          `of line ${open.event.line} is ${open.event.f}`,
        event.line,
      );
    }
    if (event.key !== undefined && event.key !== open.event.key) {
      throw new BadHistoryError(
        `key ${JSON.stringify(event.key)} completes the operation of line ${open.event.line}, ` +
          `whose key is ${JSON.stringify(open.event.key ?? null)}`,
        event.line,
      );
    }
    this.#open.delete(event.process);
    this.#close(open, event, event.type === "info" ? Number.POSITIVE_INFINITY : at);
  }

  #close(open: OpenOperation, completion: HistoryEvent | undefined, returnedAt: number): void {
    const outcome = completion === undefined ? "info" : (completion.type as Outcome);
    const value = completion?.value;
    const operation: Operation = {
      invocation: open.event,
      completion,
      outcome,
      process: open.event.process,
      f: open.event.f,
      key: open.event.key,
      argument: open.event.value,
      result: value === undefined ? open.event.value : value,
      invokedAt: open.at,
      returnedAt,
    };
    this.#operations[open.slot] = operation;
    for (const slot of open.noteSlots) {
      const note = this.#notes[slot];
      if (note !== undefined) this.#notes[slot] = { ...note, during: operation };
    }
  }
}

/** Keeps an operation's place, in order of invocation, until its completion is known. */
const PLACEHOLDER: Operation = Object.freeze({
  invocation: {
    line: 0,
    index: 0,
    process: "",
    type: "invoke",
    f: "",
    key: undefined,
    value: undefined,
    timeNs: undefined,
    error: undefined,
    session: undefined,
    task: undefined,
    denied: false,
    as: undefined,
    client: undefined,
  },
  completion: undefined,
  outcome: "info",
  process: "",
  f: "",
  key: undefined,
  argument: undefined,
  result: undefined,
  invokedAt: 0,
  returnedAt: 0,
} satisfies Operation);
