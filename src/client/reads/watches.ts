/**
 * The watches of a client at the node of its connection. A watch has no effect on the table, so
 * after a reconnect or a refusal it is simply asked for again. It continues after the last revision
 * that it reported, or, if there was none, after the entry that began the connection over which it
 * was first asked for, so that it misses nothing that happened since. Without a session there is no
 * such entry: then a watch begins when a node has answered it, and `begun` says when.
 */
import { ERROR_NUMBERS, errorCodeOf, HoldfastError } from "../../errors/index.js";
import {
  type Answer,
  type Changes,
  type ChangesView,
  type ChangeView,
  OP,
  type OperationFailure,
  REVISION_NUMBER_MAX,
  type Revision,
  STATUS,
  type WatchView,
} from "../../protocol/index.js";
import { quotedKey } from "../../text/index.js";
import { refusalText } from "../failures.js";
import type { WatchWish } from "../options/view-options.js";
import type { FrameWriter } from "../transport/frame-writer.js";
import { changeOf, type WatchHost, WatchStream } from "./watch-stream.js";

/** Pause before a refused watch is asked for again; jittered by half of it. */
const RETRY_MS = 100;
const NEVER = Number.POSITIVE_INFINITY;

/** What watches need from their session. */
export interface WatchesHost {
  readonly random: () => number;
  now(): number;
  nextId(): number;
  /** Something is due to be written, or a caller waits. */
  onChange(): void;
}

export class Watches implements WatchHost {
  readonly #host: WatchesHost;
  readonly #streams = new Set<WatchStream>();
  /** The watches that the node was asked for over this connection. */
  readonly #byId = new Map<number, WatchStream>();
  /**
   * Index of the entry that gave the session to this connection: every question here comes after
   * it. 0 without a session.
   */
  #attachedIndex = 0;
  /** Watches at the node that are no longer wanted. */
  #unwanted: number[] = [];

  constructor(host: WatchesHost) {
    this.#host = host;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Whether a caller waits for a change. */
  get isBusy(): boolean {
    for (const stream of this.#streams) if (stream.isAwaited) return true;
    return false;
  }

  open({ key, isPrefix, after, signal }: WatchWish): WatchStream {
    const stream = new WatchStream(this, key, isPrefix, after, signal);
    this.#streams.add(stream);
    this.resume(stream);
    return stream;
  }

  resume(stream: WatchStream): void {
    stream.askAtMs = this.#host.now();
    this.#host.onChange();
  }

  stop(stream: WatchStream): void {
    stream.askAtMs = NEVER;
    if (stream.isOver) this.#streams.delete(stream);
    if (this.#byId.delete(stream.id)) this.#unwanted.push(stream.id);
    stream.id = 0;
    this.#host.onChange();
  }

  onWaiting(): void {
    this.#host.onChange();
  }

  /** Another connection has the session, by the entry with that index. */
  attached(index: number): void {
    this.#attachedIndex = index;
  }

  /** Writes what is due. */
  write(frame: FrameWriter, nowMs: number): void {
    for (const watch of this.#unwanted.splice(0)) {
      frame.add({ op: OP.unwatch, id: this.#host.nextId(), watch });
    }
    for (const stream of this.#streams) {
      if (stream.askAtMs > nowMs) continue;
      stream.askAtMs = NEVER;
      stream.id = this.#host.nextId();
      this.#byId.set(stream.id, stream);
      const { id, key, isPrefix, after } = stream;
      frame.add({ op: OP.watch, id, key, isPrefix, after });
      const index = this.#attachedIndex;
      if (index > 0) stream.onAsked({ index, number: REVISION_NUMBER_MAX });
    }
  }

  /** The connection is gone: everything is asked for again on the next one. */
  restart(nowMs: number): void {
    this.#unwanted = [];
    this.#byId.clear();
    for (const stream of this.#streams) {
      stream.id = 0;
      stream.onUnanswered();
      stream.askAtMs = stream.isPaused ? NEVER : nowMs;
    }
  }

  /** Whether the answer was for a watch. */
  onAnswer({ id, status, payload }: Answer, nowMs: number): boolean {
    const stream = this.#byId.get(id);
    if (stream === undefined) return false;
    if (status !== STATUS.ok) this.#onRefused(stream, status, nowMs, payload);
    else if (isWatchView(payload)) stream.onBegun(payload.revision);
    else this.#onNonsense(stream);
    return true;
  }

  onChanges({ id, status, payload }: Changes, nowMs: number): void {
    const stream = this.#byId.get(id);
    if (stream === undefined) return;
    if (status !== STATUS.ok) this.#onRefused(stream, status, nowMs);
    else if (isChangesView(payload)) {
      stream.onChanges(payload.changes.map(changeOf), payload.revision);
    } else this.#onNonsense(stream);
  }

  /** When `write` has something to do. */
  get dueMs(): number {
    let dueMs = NEVER;
    for (const { askAtMs } of this.#streams) dueMs = Math.min(dueMs, askAtMs);
    return dueMs;
  }

  /** The client ends. */
  endAll(reason: unknown): void {
    for (const stream of [...this.#streams]) stream.end(reason, true);
  }

  /** The node no longer sends changes for it. */
  #onRefused(stream: WatchStream, status: number, nowMs: number, payload: unknown = null): void {
    this.#byId.delete(stream.id);
    stream.id = 0;
    if (status === ERROR_NUMBERS.BUSY || status === ERROR_NUMBERS.UNAVAILABLE) {
      stream.onUnanswered();
      stream.askAtMs = nowMs + RETRY_MS * (0.5 + this.#host.random());
      return;
    }
    stream.end(refusal(stream, status, payload), true);
  }

  #onNonsense(stream: WatchStream): void {
    this.#byId.delete(stream.id);
    stream.id = 0;
    const text = "the node answered something else than the changes of a watch";
    stream.end(new HoldfastError("PROTOCOL", text), true);
  }
}

function isRevision(value: unknown): value is Revision {
  const { index, number } = (value ?? {}) as Partial<Revision>;
  return Number.isSafeInteger(index) && Number.isSafeInteger(number);
}

function isWatchView(payload: unknown): payload is WatchView {
  return isRevision(((payload ?? {}) as Partial<WatchView>).revision);
}

function isChangesView(payload: unknown): payload is ChangesView {
  if (!isWatchView(payload)) return false;
  const { changes } = payload as Partial<ChangesView>;
  // What else there is in a change is its reader's matter.
  return (
    Array.isArray(changes) &&
    changes.every((one: Partial<ChangeView> | null) => isRevision(one?.revision))
  );
}

function refusal(
  { key, isPrefix, after }: WatchStream,
  status: number,
  payload: unknown,
): HoldfastError {
  const code = errorCodeOf(status) ?? "PROTOCOL";
  const what = `the watch of ${isPrefix ? "keys under " : ""}${quotedKey(key)}`;
  if (code !== "COMPACTED") {
    const why = (payload as OperationFailure | null)?.message ?? refusalText(code);
    return new HoldfastError(code, `${what} was refused: ${why}`);
  }
  const text =
    `${what}: the changes after revision ${after?.index}/${after?.number} are no longer kept; ` +
    "watch from now on, and read the current state with inspect or query";
  return new HoldfastError(code, text, { details: { after } });
}
