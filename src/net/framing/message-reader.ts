/**
 * Reads the parts of what a node says. Positional arrays grow at their end from version to version,
 * so every array is read by its known positions, and what follows them is passed over.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors.js";
import {
  BLOCKED_BY,
  type BlockedBy,
  type Blocker,
  END_REASON,
  type EndReason,
  type LockMode,
  type NodeEndpoint,
  RECALL_STATE,
  Reader,
  type RecalledSequence,
  type RecalledToken,
  type Result,
  STATUS,
} from "../../protocol/index.js";
import { plainValueEnd } from "./plain-value.js";

/** Results without anything of their own are shared. */
const OK: Result = Object.freeze({ status: STATUS.ok });
const QUEUED: Result = Object.freeze({ status: STATUS.queued });
const RELEASED: Result = Object.freeze({ status: STATUS.released });
/** Statuses below this are no errors, and a client must know what they mean. */
const FIRST_ERROR = 16;

export class MessageReader extends Reader {
  /** Reads the header of an array that has at least `least` positions; returns how many. */
  positions(least: number): number {
    const count = this.arrayHeader();
    this.need(count, least);
    return count;
  }

  /** Breaks off unless the array being read has enough positions. */
  need(count: number, least: number): void {
    if (count < least) this.fail(`${count} values where ${least} belong`);
  }

  /** Passes over `count` values of whatever kind. */
  passOver(count: number): void {
    for (let left = count; left > 0; left--) this.at = plainValueEnd(this.bytes, this.at);
  }

  /** `value`, after passing over the `extra` positions that follow it. */
  last<T>(value: T, extra: number): T {
    if (extra > 0) this.passOver(extra);
    return value;
  }

  bool(): boolean {
    const byte = this.bytes[this.at];
    if (byte !== 0xc2 && byte !== 0xc3) this.fail("expected a boolean");
    this.at += 1;
    return byte === 0xc3;
  }

  string(): string {
    const length = this.stringHeader();
    return this.printableText(length) ?? this.text(length) ?? this.fail("not UTF-8");
  }

  /** The status of an answer: 0 or an error's number, which may be one of a newer node's. */
  okOrError(): typeof STATUS.ok | ErrorNumber {
    const status = this.uint();
    if (status !== STATUS.ok && status < FIRST_ERROR) this.fail(`unknown status ${status}`);
    return status as typeof STATUS.ok | ErrorNumber;
  }

  /** A reason that a newer node gives is told as unknown. */
  endReason(): EndReason {
    const reason = this.uint();
    return reason <= END_REASON.stolen ? (reason as EndReason) : END_REASON.unknown;
  }

  /** A result that takes up exactly `count` positions, known and unknown ones. */
  result(count: number): Result {
    const start = this.at;
    const status = this.uint();
    switch (status) {
      case STATUS.granted:
        this.need(count, 2);
        return { status, token: this.last(this.uint(), count - 2) };
      case STATUS.queued:
        return this.last(QUEUED, count - 1);
      case STATUS.released:
        return this.last(RELEASED, count - 1);
      case STATUS.ok:
        return this.last(OK, count - 1);
      case STATUS.notReleased:
        this.need(count, 2);
        return { status, reason: this.last(this.endReason(), count - 2) };
      case ERROR_NUMBERS.LOCK_HELD:
        return count < 3 ? this.last({ status }, count - 1) : this.#held(count);
      default:
        if (status < FIRST_ERROR) this.fail(`unknown status ${status}`, start);
        return this.last({ status: status as ErrorNumber }, count - 1);
    }
  }

  endpoints(): NodeEndpoint[] {
    const endpoints: NodeEndpoint[] = [];
    for (let left = this.arrayHeader(); left > 0; left--) {
      const count = this.positions(2);
      const id = this.uint();
      endpoints.push({ id, endpoint: this.last(this.string(), count - 2) });
    }
    return endpoints;
  }

  recalledSequences(): RecalledSequence[] {
    const sequences: RecalledSequence[] = [];
    for (let left = this.arrayHeader(); left > 0; left--) sequences.push(this.#recalledSequence());
    return sequences;
  }

  recalledTokens(): RecalledToken[] {
    const tokens: RecalledToken[] = [];
    for (let left = this.arrayHeader(); left > 0; left--) {
      const count = this.positions(3);
      const token = this.uint();
      const held = this.bool();
      tokens.push({ token, held, reason: this.last(this.endReason(), count - 3) });
    }
    return tokens;
  }

  #recalledSequence(): RecalledSequence {
    const start = this.at;
    const count = this.positions(2);
    const sequence = this.uint();
    const state = this.uint();
    switch (state) {
      case RECALL_STATE.unseen:
      case RECALL_STATE.queued:
      case RECALL_STATE.dropped:
        return this.last({ sequence, state }, count - 2);
      case RECALL_STATE.done: {
        this.need(count, 4);
        const stamp = this.uint();
        return { sequence, state, stamp, result: this.result(count - 3) };
      }
      default:
        return this.fail(`unknown state ${state}`, start);
    }
  }

  #held(count: number): Result {
    const blockedBy = this.uint();
    if (blockedBy > BLOCKED_BY.closing) this.fail(`blocked by ${blockedBy}`);
    const blockers: Blocker[] = [];
    for (let left = this.arrayHeader(); left > 0; left--) blockers.push(this.#blocker());
    this.passOver(count - 3);
    return { status: ERROR_NUMBERS.LOCK_HELD, blockedBy: blockedBy as BlockedBy, blockers };
  }

  #blocker(): Blocker {
    const count = this.positions(4);
    const sessionName = this.string();
    const key = this.string();
    const mode = this.#mode();
    return { sessionName, key, mode, token: this.last(this.uint(), count - 4) };
  }

  #mode(): LockMode {
    const mode = this.uint();
    if (mode > 1) this.fail(`unknown mode ${mode}`);
    return mode === 1 ? "shared" : "exclusive";
  }
}
