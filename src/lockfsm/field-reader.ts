/**
 * Reads fields of snapshots: values of the protocol's canonical form, each within the bounds that
 * its user names. Anything else breaks off with a `ProtocolError`, which says where.
 */
import {
  BLOCKED_BY,
  type BlockedBy,
  type Blocker,
  END_REASON,
  type EndReason,
  Reader,
  type Result,
  STATUS,
} from "../protocol/index.js";
import { findRefusal, notReleased, OK, RELEASED } from "./results.js";
import { REFUSALS_FROM } from "./snapshot-format.js";

const END_REASON_MAX = Math.max(...Object.values(END_REASON));
const BLOCKED_BY_MAX = Math.max(...Object.values(BLOCKED_BY));

export class FieldReader {
  readonly #reader: Reader;

  constructor(body: Uint8Array) {
    this.#reader = new Reader(body);
  }

  get isAtEnd(): boolean {
    return this.#reader.isAtEnd;
  }

  /** Breaks off because the field just read makes no sense. */
  fail(what: string): never {
    return this.#reader.fail(what);
  }

  uint(): number {
    return this.#reader.uint();
  }

  /** An integer of `least` … `most`. */
  within(least: number, most: number, what: string): number {
    const value = this.#reader.uint();
    if (value < least || value > most) this.fail(`${what} ${value} is not in ${least} … ${most}`);
    return value;
  }

  flag(what: string): boolean {
    return this.within(0, 1, what) === 1;
  }

  text(): string {
    const reader = this.#reader;
    const length = reader.stringHeader();
    return reader.printableText(length) ?? reader.text(length) ?? this.fail("not UTF-8");
  }

  /** The header of an array that has exactly `count` items. */
  array(count: number): void {
    const found = this.#reader.arrayHeader();
    if (found !== count) this.fail(`${found} items instead of ${count}`);
  }

  endReason(): EndReason {
    return this.within(0, END_REASON_MAX, "reason") as EndReason;
  }

  /** A reason, or `undefined` for none. */
  optionalEndReason(): EndReason | undefined {
    const value = this.within(0, END_REASON_MAX + 1, "reason");
    return value === 0 ? undefined : ((value - 1) as EndReason);
  }

  /** A token that was given before `nextToken`. */
  token(nextToken: number): number {
    return nextToken - this.within(1, nextToken - 1, "token back");
  }

  result(nextToken: number): Result {
    const status = this.uint();
    if (status === STATUS.granted) return { status, token: this.token(nextToken) };
    if (status === STATUS.notReleased) return notReleased(this.endReason());
    if (status >= REFUSALS_FROM) return this.#refusal(status, nextToken);
    if (status === STATUS.ok) return OK;
    return status === STATUS.released ? RELEASED : this.fail(`a stored reply of status ${status}`);
  }

  #refusal(status: number, nextToken: number): Result {
    const refusal = findRefusal(status) ?? this.fail(`status ${status}`);
    if (this.#reader.takeNil()) return refusal;
    const blockedBy = this.within(0, BLOCKED_BY_MAX, "blocked by") as BlockedBy;
    const blockers: Blocker[] = [];
    for (let left = this.#reader.arrayHeader(); left > 0; left -= 1) {
      blockers.push({
        sessionName: this.text(),
        key: this.text(),
        mode: this.flag("mode") ? "exclusive" : "shared",
        token: this.#tokenOrNone(nextToken),
      });
    }
    return { ...refusal, blockedBy, blockers } as Result;
  }

  #tokenOrNone(nextToken: number): number {
    const back = this.within(0, Math.max(0, nextToken - 1), "token back");
    return back === 0 ? 0 : nextToken - back;
  }
}
