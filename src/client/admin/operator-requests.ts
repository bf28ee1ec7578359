/**
 * Operators' requests that wait for an answer. Each is a question, or names the state of the
 * cluster that it wants and not a step towards it. So it is simply sent again on another connection
 * until a node answers or its time is over. A refusal goes to the caller at once, who decides
 * whether to try again. Only questions, commands that a node has no room for, and outdated orders
 * are repeated here.
 *
 * A late copy of a state order must not undo a later order. So all copies name the order count that
 * this client knows, at which the table executes one of them at most. The first order of a client
 * names 0, and the refusal of an outdated one says the count. State orders of one client are sent one
 * after the other.
 */
import { ERROR_NUMBERS, errorCodeOf, HoldfastError } from "../../errors/index.js";
import {
  type Answer,
  type ChangeMemberOperation,
  type ClientRequest,
  isOperation,
  isOrder,
  isQuery,
  isStateOrder,
  type LogLevelOperation,
  type MembersOperation,
  OP,
  type Operation,
  type OrderCommand,
  type ReadSnapshotOperation,
  type Refused,
  type Reply,
  type Result,
  type SaveSnapshotOperation,
  STATUS,
  type StateOrder,
  type TransferOperation,
} from "../../protocol/index.js";
import { AbortableCaller, type Deferred } from "../calls/abort-watch.js";
import type { OrderWish } from "../calls/orders.js";
import { commandFailure, readFailure, refusalText, unavailable } from "../failures.js";
import type { Question } from "../options/view-options.js";
import type { FrameWriter } from "../transport/frame-writer.js";
import type { Platform } from "../transport/platform.js";

/** A question or an operation without its number, which is chosen here. */
export type Wish =
  | Question
  | Omit<MembersOperation, "id">
  | Omit<ChangeMemberOperation, "id">
  | Omit<TransferOperation, "id">
  | Omit<SaveSnapshotOperation, "id">
  | Omit<ReadSnapshotOperation, "id">
  | Omit<LogLevelOperation, "id">;

/** What an answer says about its node; only a node that did not serve the request is left. */
export type Verdict =
  | { readonly isServed: true }
  | { readonly isServed: false; readonly why: string };

const SERVED: Verdict = Object.freeze({ isServed: true });
const NEVER = Number.POSITIVE_INFINITY;

/** Pause before a request is sent again that a node had no room for; jittered by half of it. */
const RETRY_MS = 100;
/**
 * Numbers of commands are random, because all clients of a node share one number space. They lie
 * above all numbers that are counted up, and below `SEQUENCE_MAX`.
 */
const COMMAND_NUMBER_MIN = 2 ** 32;
const COMMAND_NUMBER_BYTES = 5;

const NAMES: Readonly<Record<Operation["op"], string>> = Object.freeze({
  [OP.members]: "the members of the cluster",
  [OP.changeMember]: "the change of members",
  [OP.transfer]: "the transfer of leadership",
  [OP.saveSnapshot]: "a snapshot of the cluster",
  [OP.readSnapshot]: "a part of the snapshot",
  [OP.logLevel]: "the log level of the node",
});

/** Operations that may have happened although no answer came. */
const CHANGES: ReadonlySet<number> = new Set([OP.changeMember, OP.transfer, OP.logLevel]);

class OpenOperation extends AbortableCaller<unknown> {
  number: number;
  /** As it will be sent. */
  request: ClientRequest;
  /** For messages. */
  readonly what: string;
  readonly deadlineMs: number;
  readonly #onAbort: (operation: OpenOperation) => void;
  /** When it was sent over this connection; `Infinity` while it is not sent. */
  sentMs = NEVER;
  /** Not sent before this time, because a node had no room for it. */
  sendAtMs = Number.NEGATIVE_INFINITY;
  /**
   * How often it was sent, unless that certainly had no effect. After the first time it may have been
   * carried out although no answer came.
   */
  copies = 0;
  /** Why the last node that answered could not do it. */
  lastRefusal = "";

  constructor(
    number: number,
    request: ClientRequest,
    what: string,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    onAbort: (operation: OpenOperation) => void,
    caller: Deferred<unknown>,
  ) {
    super(signal, caller);
    this.number = number;
    this.request = request;
    this.what = what;
    this.deadlineMs = deadlineMs;
    this.#onAbort = onAbort;
  }

  onAbort(reason: unknown): void {
    this.#onAbort(this);
    this.reject(reason);
  }
}

export class OperatorRequests {
  readonly #open = new Map<number, OpenOperation>();
  readonly #platform: Pick<Platform, "random" | "randomBytes">;
  readonly #onAbort: () => void;
  #lastId = 0;
  /** The order counts, as far as this client knows. */
  readonly #orderCounts = { admin: 0, limit: 0 };

  /** `onAbort` runs after a caller aborted its request. */
  constructor(platform: Pick<Platform, "random" | "randomBytes">, onAbort: () => void) {
    this.#platform = platform;
    this.#onAbort = onAbort;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The next number, for a request or anything else that is answered by number. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  ask(
    wish: Wish,
    nowMs: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const id = this.nextId();
    const request = { ...wish, id } as ClientRequest;
    const what = isOperation(request) ? NAMES[request.op] : "the read had no answer";
    return this.#begin(id, request, what, nowMs + timeoutMs, signal);
  }

  /**
   * The table's answer. A command that was sent before and finds nothing to end has ended it then.
   */
  async command(wish: OrderWish, nowMs: number, timeoutMs: number): Promise<Result> {
    const { command, what, texts, signal } = wish;
    const number = this.#drawNumber();
    const request: OrderCommand = { ...command, sequence: number, mark: 0, acknowledged: [] };
    const answer = await this.#begin(number, request, what, nowMs + timeoutMs, signal);
    const { result, isRepeated } = answer as CommandAnswer;
    if (errorCodeOf(result.status) === undefined) return result;
    if (isRepeated && result.status === ERROR_NUMBERS.NOT_HELD) return doneBefore(request);
    throw commandFailure(what, result, texts);
  }

  #begin(
    number: number,
    request: ClientRequest,
    what: string,
    deadlineMs: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const onAbort = (open: OpenOperation): void => {
      this.#open.delete(open.number);
      this.#onAbort();
    };
    return new Promise((resolve, reject) => {
      const how = [signal, onAbort, { resolve, reject }] as const;
      this.#open.set(number, new OpenOperation(number, request, what, deadlineMs, ...how));
    });
  }

  #drawNumber(): number {
    const bytes = new Uint8Array(COMMAND_NUMBER_BYTES);
    this.#platform.randomBytes(bytes);
    return bytes.reduce((number, byte) => number * 256 + byte, 0) + COMMAND_NUMBER_MIN;
  }

  /** Writes all requests that are due. */
  write(frame: FrameWriter, nowMs: number): void {
    for (const open of this.#unsent()) {
      if (open.sendAtMs > nowMs) continue;
      const { request } = open;
      if (isStateOrder(request) && open.copies === 0) {
        open.request = { ...request, mark: this.#orderCounts[countedWith(request)] };
      }
      open.sentMs = nowMs;
      open.copies += 1;
      frame.add(open.request);
    }
    frame.end();
  }

  /** Without the state orders that wait for the one before them. */
  *#unsent(): Generator<OpenOperation> {
    const isAwaited = { admin: false, limit: false };
    for (const open of this.#open.values()) {
      const { request, sentMs } = open;
      if (isStateOrder(request)) {
        const count = countedWith(request);
        if (isAwaited[count]) continue;
        isAwaited[count] = true;
      }
      if (sentMs === NEVER) yield open;
    }
  }

  /** The connection is gone: everything is sent again on the next one. */
  restart(): void {
    for (const open of this.#open.values()) open.sentMs = NEVER;
  }

  /** A node refused a command. */
  onRefused({ sequence, status }: Refused, nowMs: number): void {
    const open = this.#open.get(sequence);
    if (open === undefined) return;
    if (status === ERROR_NUMBERS.BUSY) {
      this.#postpone(open, nowMs);
      return;
    }
    this.#open.delete(sequence);
    open.reject(commandFailure(open.what, { status }));
  }

  /** The table answered a command. */
  onReply({ sequence, result }: Reply): void {
    const open = this.#open.get(sequence);
    if (open === undefined) return;
    const { request } = open;
    if (isStateOrder(request)) {
      const count = countedWith(request);
      if (result.status === ERROR_NUMBERS.OUTDATED_ORDER) {
        this.#orderCounts[count] = result.orderCount ?? 0;
        this.#sendAnew(open, request);
        return;
      }
      if (result.status === STATUS.ok) this.#orderCounts[count] = request.mark + 1;
    }
    this.#open.delete(sequence);
    const answer: CommandAnswer = { result, isRepeated: open.copies > 1 };
    open.resolve(answer);
  }

  /**
   * No copy of the order can have an effect any more. It gets another number, because late copies are
   * answered too, and keeps its place among the others.
   */
  #sendAnew(open: OpenOperation, request: StateOrder): void {
    const all = [...this.#open.values()];
    this.#open.clear();
    open.number = this.#drawNumber();
    const mark = this.#orderCounts[countedWith(request)];
    open.request = { ...request, sequence: open.number, mark };
    open.sentMs = NEVER;
    open.lastRefusal = "other admin commands were executed before it";
    // If there were several, one of them may have been executed.
    if (open.copies === 1) open.copies = 0;
    for (const each of all) this.#open.set(each.number, each);
  }

  /** `isAlone`: there is no other node to ask, so that the same one is asked again after a while. */
  onAnswer({ id, status, payload }: Answer, nowMs: number, isAlone: boolean): Verdict {
    const open = this.#open.get(id);
    if (open === undefined) return SERVED;
    if (status === ERROR_NUMBERS.BUSY && isQuery(open.request)) {
      this.#postpone(open, nowMs);
      return SERVED;
    }
    if (status === ERROR_NUMBERS.UNAVAILABLE) {
      if (isAlone) this.#postpone(open, nowMs);
      open.lastRefusal = messageOf(payload) ?? "no leader answered";
      open.sentMs = NEVER;
      return { isServed: false, why: open.lastRefusal };
    }
    this.#open.delete(id);
    if (status === STATUS.ok) open.resolve(payload);
    else open.reject(refusal(open, status, payload));
    return SERVED;
  }

  #postpone(open: OpenOperation, nowMs: number): void {
    open.lastRefusal = "the node has no room for it";
    open.sentMs = NEVER;
    open.sendAtMs = nowMs + RETRY_MS * (0.5 + this.#platform.random());
  }

  /** `noLeader`: what is missing when no node knows of a leader. */
  onAlarm(nowMs: number, lastFailure: string, noLeader: string | undefined): void {
    for (const [id, open] of this.#open) {
      if (nowMs < open.deadlineMs) continue;
      this.#open.delete(id);
      const { request, what, lastRefusal, copies } = open;
      const isIndeterminate = copies > 0 && (CHANGES.has(request.op) || isOrder(request));
      const why = noLeader ?? (lastRefusal === "" ? lastFailure : lastRefusal);
      const rest = isIndeterminate && noLeader !== undefined ? "; it may still take effect" : "";
      open.reject(unavailable(what, why + rest, isIndeterminate));
    }
  }

  /** The earliest deadline. */
  get deadlineMs(): number {
    let earliestMs = NEVER;
    for (const { deadlineMs } of this.#open.values()) earliestMs = Math.min(earliestMs, deadlineMs);
    return earliestMs;
  }

  /** The earliest time at which a request is due that a node had no room for. */
  get sendAtMs(): number {
    let earliestMs = NEVER;
    for (const { sendAtMs } of this.#unsent()) earliestMs = Math.min(earliestMs, sendAtMs);
    return earliestMs;
  }

  /** When the oldest unanswered request was sent on this connection. */
  get oldestSentMs(): number {
    let oldestMs = NEVER;
    for (const { sentMs } of this.#open.values()) oldestMs = Math.min(oldestMs, sentMs);
    return oldestMs;
  }

  /** The client ends, or no node accepts it. */
  rejectAll(reason: unknown): void {
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const open of all) open.reject(reason);
  }
}

interface CommandAnswer {
  readonly result: Result;
  /** It was sent more than once, and may have been carried out before. */
  readonly isRepeated: boolean;
}

/** Which count the table compares and raises. */
function countedWith({ op }: StateOrder): "admin" | "limit" {
  return op === OP.setLimit ? "limit" : "admin";
}

function doneBefore({ op }: OrderCommand): Result {
  return op === OP.revoke
    ? { status: STATUS.revoked, count: 0, remaining: 0, opened: 0, endsInMs: 0, leasesLeft: 0 }
    : { status: STATUS.ok };
}

function refusal(
  { request, what }: OpenOperation,
  status: number,
  payload: unknown,
): HoldfastError {
  if (isQuery(request)) return readFailure(status, messageOf(payload));
  const code = errorCodeOf(status) ?? "PROTOCOL";
  return new HoldfastError(code, messageOf(payload) ?? `${what} was refused: ${refusalText(code)}`);
}

/** A node of another version may send an error in another form. */
function messageOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !("message" in payload)) return undefined;
  const { message } = payload;
  return typeof message === "string" && message !== "" ? message : undefined;
}
