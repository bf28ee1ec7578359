/**
 * Operators' requests that wait for their answer. Each wishes for a state of the cluster and not
 * for a step towards it, so it is simply sent again on another connection until somebody answers or
 * its time is over. What the leader refuses is told to the caller at once: whether to try again is
 * not decided here.
 */
import { ERROR_NUMBERS, errorCodeOf, HoldfastError } from "../errors.js";
import {
  type Answer,
  type ChangeMemberOperation,
  type MembersOperation,
  OP,
  type Operation,
  type ReadSnapshotOperation,
  type SaveSnapshotOperation,
  STATUS,
  type TransferOperation,
} from "../protocol/index.js";
import { type Abortable, unwatchAbort, watchAbort } from "./abort-watch.js";
import { unavailable } from "./failures.js";
import type { FrameWriter } from "./frame-writer.js";

/** An operation without its number, which is chosen here. */
export type Wish =
  | Omit<MembersOperation, "id">
  | Omit<ChangeMemberOperation, "id">
  | Omit<TransferOperation, "id">
  | Omit<SaveSnapshotOperation, "id">
  | Omit<ReadSnapshotOperation, "id">;

/** What an answer says of the node that gave it: only the second kind is a reason to leave it. */
export type Verdict =
  | { readonly isServed: true }
  | { readonly isServed: false; readonly why: string };

const SERVED: Verdict = Object.freeze({ isServed: true });
const NEVER = Number.POSITIVE_INFINITY;

const NAMES: Readonly<Record<Operation["op"], string>> = Object.freeze({
  [OP.members]: "the members of the cluster",
  [OP.changeMember]: "the change of members",
  [OP.transfer]: "the transfer of leadership",
  [OP.saveSnapshot]: "a snapshot of the cluster",
  [OP.readSnapshot]: "a part of the snapshot",
});

/** What may have happened although nobody said so. */
const CHANGES: ReadonlySet<number> = new Set([OP.changeMember, OP.transfer]);

class OpenOperation implements Abortable {
  readonly operation: Operation;
  readonly deadlineMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: (operation: OpenOperation) => void;
  readonly #resolve: (payload: unknown) => void;
  readonly #reject: (reason: unknown) => void;
  /** When it went out over this connection; `Infinity` while it has to be sent. */
  sentMs = NEVER;
  /** Whether it ever left, and may have been carried out without our hearing of it. */
  wasSent = false;
  /** Why the last node that answered could not do it. */
  lastRefusal = "";

  constructor(
    operation: Operation,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    onAbort: (operation: OpenOperation) => void,
    resolve: (payload: unknown) => void,
    reject: (reason: unknown) => void,
  ) {
    this.operation = operation;
    this.deadlineMs = deadlineMs;
    this.#signal = signal;
    this.#onAbort = onAbort;
    this.#resolve = resolve;
    this.#reject = reject;
    if (signal !== undefined) watchAbort(signal, this);
  }

  onAbort(reason: unknown): void {
    this.#onAbort(this);
    this.#reject(reason);
  }

  resolve(payload: unknown): void {
    this.#stopWatching();
    this.#resolve(payload);
  }

  reject(reason: unknown): void {
    this.#stopWatching();
    this.#reject(reason);
  }

  #stopWatching(): void {
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
  }
}

export class Operations {
  readonly #open = new Map<number, OpenOperation>();
  readonly #onAbort: () => void;
  #lastId = 0;

  /** `onAbort` runs when somebody gave up. */
  constructor(onAbort: () => void) {
    this.#onAbort = onAbort;
  }

  get size(): number {
    return this.#open.size;
  }

  ask(
    wish: Wish,
    nowMs: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    this.#lastId += 1;
    const operation: Operation = { ...wish, id: this.#lastId };
    const onAbort = ({ operation: { id } }: OpenOperation): void => {
      this.#open.delete(id);
      this.#onAbort();
    };
    return new Promise((resolve, reject) => {
      const deadlineMs = nowMs + timeoutMs;
      const open = new OpenOperation(operation, deadlineMs, signal, onAbort, resolve, reject);
      this.#open.set(operation.id, open);
    });
  }

  /** Writes what has to be sent. */
  write(frame: FrameWriter, nowMs: number): void {
    for (const open of this.#open.values()) {
      if (open.sentMs !== NEVER) continue;
      open.sentMs = nowMs;
      open.wasSent = true;
      frame.add(open.operation);
    }
    frame.end();
  }

  /** The connection is gone: everything is asked again on the next one. */
  restart(): void {
    for (const open of this.#open.values()) open.sentMs = NEVER;
  }

  onAnswer({ id, status, payload }: Answer): Verdict {
    const open = this.#open.get(id);
    if (open === undefined) return SERVED;
    if (status === ERROR_NUMBERS.UNAVAILABLE) {
      open.lastRefusal = messageOf(payload) ?? "no leader answered";
      open.sentMs = NEVER;
      return { isServed: false, why: open.lastRefusal };
    }
    this.#open.delete(id);
    if (status === STATUS.ok) open.resolve(payload);
    else open.reject(refusal(open.operation, status, payload));
    return SERVED;
  }

  onAlarm(nowMs: number, lastFailure: string): void {
    for (const [id, open] of this.#open) {
      if (nowMs < open.deadlineMs) continue;
      this.#open.delete(id);
      const { operation, lastRefusal, wasSent } = open;
      const why = lastRefusal === "" ? lastFailure : lastRefusal;
      const isIndeterminate = wasSent && CHANGES.has(operation.op);
      open.reject(unavailable(NAMES[operation.op], why, isIndeterminate));
    }
  }

  /** The earliest deadline. */
  get deadlineMs(): number {
    let earliestMs = NEVER;
    for (const { deadlineMs } of this.#open.values()) earliestMs = Math.min(earliestMs, deadlineMs);
    return earliestMs;
  }

  /** When the oldest request without an answer went out on this connection. */
  get oldestSentMs(): number {
    let oldestMs = NEVER;
    for (const { sentMs } of this.#open.values()) oldestMs = Math.min(oldestMs, sentMs);
    return oldestMs;
  }

  /** The client ends, or no node will have it. */
  rejectAll(reason: unknown): void {
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const open of all) open.reject(reason);
  }
}

function refusal({ op }: Operation, status: number, payload: unknown): HoldfastError {
  const code = errorCodeOf(status) ?? "PROTOCOL";
  return new HoldfastError(code, messageOf(payload) ?? `${NAMES[op]}: refused with ${code}`);
}

/** A node of another version may send anything beside an error. */
function messageOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !("message" in payload)) return undefined;
  const { message } = payload;
  return typeof message === "string" && message !== "" ? message : undefined;
}
