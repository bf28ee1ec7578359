/**
 * Reads the parts of a server message. Positional arrays grow at their end from version to version,
 * so the reader takes the positions that it knows from every array and skips those that follow.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import {
  BLOCKED_BY,
  type BlockedBy,
  type Blocker,
  CLAIM_MODES,
  type ClaimMode,
  type CycleMember,
  END_REASON,
  type EndReason,
  type ExtendedLease,
  type HeldItem,
  type NodeEndpoint,
  RECALL_STATE,
  Reader,
  type RecalledHold,
  type RecalledSequence,
  type Result,
  STATUS,
} from "../../protocol/index.js";
import { plainValueEnd } from "./plain-value.js";

/** Results without fields of their own are shared. */
const OK: Result = Object.freeze({ status: STATUS.ok });
const QUEUED: Result = Object.freeze({ status: STATUS.queued });
const RELEASED: Result = Object.freeze({ status: STATUS.released });
/** Statuses below this are not errors, and a client must know what they mean. */
const FIRST_ERROR = 16;

export class MessageReader extends Reader {
  /** Reads the header of an array that has at least `least` positions; returns how many. */
  positions(least: number): number {
    const count = this.arrayHeader();
    this.need(count, least);
    return count;
  }

  /** Fails unless the array being read has enough positions. */
  need(count: number, least: number): void {
    if (count < least) this.fail(`${count} values where ${least} belong`);
  }

  /** Skips `count` values of any kind. */
  passOver(count: number): void {
    for (let left = count; left > 0; left--) this.at = plainValueEnd(this.bytes, this.at);
  }

  /** Returns `value` after skipping the `extra` positions that follow it. */
  last<T>(value: T, extra: number): T {
    if (extra > 0) this.passOver(extra);
    return value;
  }

  string(): string {
    const length = this.stringHeader();
    return this.printableText(length) ?? this.text(length) ?? this.fail("not UTF-8");
  }

  /** The status of an answer: 0, or the number of an error, which this client may not know yet. */
  okOrError(): typeof STATUS.ok | ErrorNumber {
    const status = this.uint();
    if (status !== STATUS.ok && status < FIRST_ERROR) this.fail(`unknown status ${status}`);
    return status as typeof STATUS.ok | ErrorNumber;
  }

  /** The number of an error, which this client may not know yet. */
  error(): ErrorNumber {
    const status = this.uint();
    if (status < FIRST_ERROR) this.fail(`status ${status} is not an error`);
    return status as ErrorNumber;
  }

  /** The reason of an end; one that this client does not know is read as unknown. */
  endReason(): EndReason {
    const reason = this.uint();
    return reason <= END_REASON.moved ? (reason as EndReason) : END_REASON.unknown;
  }

  /** A result that occupies exactly `count` positions, known and unknown ones. */
  result(count: number): Result {
    const start = this.at;
    const status = this.uint();
    switch (status) {
      case STATUS.granted:
        this.need(count, 2);
        return this.#granted(count);
      case STATUS.upgraded: {
        this.need(count, 2);
        return { status, token: this.last(this.uint(), count - 2) };
      }
      case STATUS.adopted:
        this.need(count, 6);
        return this.#adopted(count);
      case STATUS.revoked: {
        this.need(count, 4);
        const [revoked, remaining] = [this.uint(), this.uint()];
        return { status, count: revoked, remaining, opened: this.last(this.uint(), count - 4) };
      }
      case STATUS.queued:
        return this.last(QUEUED, count - 1);
      case STATUS.released:
        return this.last(RELEASED, count - 1);
      case STATUS.ok:
        return this.last(OK, count - 1);
      case STATUS.notReleased:
        this.need(count, 2);
        return { status, reason: this.last(this.endReason(), count - 2) };
      case STATUS.leased: {
        this.need(count, 4);
        const [tokens, endsAt] = [this.numbers(), this.uint()];
        const slots = this.list(() => this.numbers());
        return { status, tokens, endsAt, slots: this.last(slots, count - 4) };
      }
      case STATUS.extended: {
        this.need(count, 2);
        const leases = this.list(() => this.#extendedLease());
        return { status, leases: this.last(leases, count - 2) };
      }
      case STATUS.givenBack: {
        this.need(count, 4);
        const [ended, waits] = [this.uint(), this.uint()];
        return { status, count: ended, waits, reason: this.last(this.endReason(), count - 4) };
      }
      case ERROR_NUMBERS.NOT_HELD:
        return count < 2 ? { status } : { status, reason: this.last(this.endReason(), count - 2) };
      case ERROR_NUMBERS.LOCK_HELD:
        if (count === 2) return this.bool() ? { status, isSameOwner: true } : { status };
        return count < 3 ? { status } : this.#held(count);
      case ERROR_NUMBERS.DEADLOCK:
        return count < 2 ? { status } : this.#deadlock(count);
      case ERROR_NUMBERS.LIMIT_MISMATCH:
      case ERROR_NUMBERS.INVALID_ARGUMENT:
        return count < 2 ? { status } : { status, limit: this.last(this.uint(), count - 2) };
      case ERROR_NUMBERS.OUTDATED_ORDER:
        return count < 2 ? { status } : { status, orderCount: this.last(this.uint(), count - 2) };
      default:
        if (status < FIRST_ERROR) this.fail(`unknown status ${status}`, start);
        return this.last({ status: status as ErrorNumber }, count - 1);
    }
  }

  /** An array, each element of which `read` reads. */
  list<T>(read: () => T): T[] {
    const values: T[] = [];
    for (let left = this.arrayHeader(); left > 0; left--) values.push(read());
    return values;
  }

  numbers(): number[] {
    return this.list(() => this.uint());
  }

  endpoints(): NodeEndpoint[] {
    return this.list(() => {
      const count = this.positions(2);
      const id = this.uint();
      return { id, endpoint: this.last(this.string(), count - 2) };
    });
  }

  recalledSequences(): RecalledSequence[] {
    return this.list(() => this.#recalledSequence());
  }

  #granted(count: number): Result {
    const token = this.uint();
    if (count < 3) return { status: STATUS.granted, token };
    const ofItems = this.list(() => this.numbers());
    return { status: STATUS.granted, token, slots: this.last(ofItems, count - 3) };
  }

  #adopted(count: number): Result {
    const token = this.uint();
    const items = this.list(() => this.#heldItem());
    const value = this.string();
    const grantedAt = this.uint();
    const endsAt = this.last(this.uint(), count - 6);
    return { status: STATUS.adopted, token, items, value, grantedAt, endsAt };
  }

  #extendedLease(): ExtendedLease {
    const count = this.positions(2);
    const token = this.uint();
    return { token, endsAt: this.last(this.uint(), count - 2) };
  }

  #heldItem(): HeldItem {
    const count = this.positions(4);
    const key = this.string();
    const mode = this.#mode();
    const permits = this.uint();
    return { key, mode, permits, slots: this.last(this.numbers(), count - 4) };
  }

  #deadlock(count: number): Result {
    const cycle = this.list(() => this.#cycleMember());
    return { status: ERROR_NUMBERS.DEADLOCK, cycle: this.last(cycle, count - 2) };
  }

  #cycleMember(): CycleMember {
    const count = this.positions(6);
    const session = this.uint();
    const sessionName = this.string();
    const owner = this.uint();
    const key = this.string();
    const mode = this.#mode();
    const identity = this.last(this.string(), count - 6);
    return { session, sessionName, owner, key, mode, identity };
  }

  #recalledSequence(): RecalledSequence {
    const start = this.at;
    const count = this.positions(2);
    const sequence = this.uint();
    const state = this.uint();
    switch (state) {
      case RECALL_STATE.unseen:
      case RECALL_STATE.waiting:
      case RECALL_STATE.forgotten:
        return this.last({ sequence, state }, count - 2);
      case RECALL_STATE.held:
        this.need(count, 9);
        return this.last(this.#recalledHold(sequence), count - 9);
      case RECALL_STATE.ended: {
        this.need(count, 4);
        const token = this.uint();
        return { sequence, state, token, reason: this.last(this.endReason(), count - 4) };
      }
      case RECALL_STATE.replied: {
        this.need(count, 4);
        const stamp = this.uint();
        return { sequence, state, stamp, result: this.result(count - 3) };
      }
      default:
        return this.fail(`unknown state ${state}`, start);
    }
  }

  #recalledHold(sequence: number): RecalledHold {
    return {
      sequence,
      state: RECALL_STATE.held,
      token: this.uint(),
      items: this.list(() => this.#heldItem()),
      value: this.string(),
      grantedAt: this.uint(),
      endsAt: this.uint(),
      isRevoked: this.bool(),
      isContended: this.bool(),
    };
  }

  #held(count: number): Result {
    const blockedBy = this.uint();
    if (blockedBy > BLOCKED_BY.closing) this.fail(`blocked by ${blockedBy}`);
    const blockers = this.last(
      this.list(() => this.#blocker()),
      count - 3,
    );
    return { status: ERROR_NUMBERS.LOCK_HELD, blockedBy: blockedBy as BlockedBy, blockers };
  }

  #blocker(): Blocker {
    const count = this.positions(5);
    const sessionName = this.string();
    const key = this.string();
    const mode = this.#mode();
    const token = this.uint();
    return { sessionName, key, mode, token, identity: this.last(this.string(), count - 5) };
  }

  #mode(): ClaimMode {
    const mode = this.uint();
    return CLAIM_MODES[mode] ?? this.fail(`unknown mode ${mode}`);
  }
}
