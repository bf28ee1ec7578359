/**
 * Reads the fields of a snapshot: values in the protocol's canonical form, each within the bounds
 * that its record declares. Anything else fails with a `ProtocolError` that says where.
 */
import {
  BLOCKED_BY,
  type BlockedBy,
  CLAIM_MODES,
  type ClaimMode,
  type EndReason,
  isEndReason,
  isStatus,
  Reader,
  type ResultSource,
  STATUS,
  type TextRule,
} from "../../protocol/index.js";
import { findRefusal } from "../results.js";
import type { Moment } from "./format.js";

const BLOCKED_BY_MAX = Math.max(...Object.values(BLOCKED_BY));
/** What their holds and waits store. */
const UNSTORED: readonly number[] = [STATUS.granted, STATUS.queued, STATUS.adopted];

export class FieldReader extends Reader implements ResultSource {
  /** When the snapshot was taken, to which its records refer. */
  readonly moment: Moment;

  constructor(body: Uint8Array, moment: Moment) {
    super(body);
    this.moment = moment;
  }

  /** Reads an integer of `least` … `most`. */
  within(least: number, most: number, what: string): number {
    const value = this.uint();
    if (value < least || value > most) this.fail(`${what} ${value} is not in ${least} … ${most}`);
    return value;
  }

  string(): string {
    const length = this.stringHeader();
    return this.printableText(length) ?? this.text(length) ?? this.fail("not UTF-8");
  }

  textUnder(rule: TextRule): string {
    const text = this.string();
    const problem = rule(text);
    return problem === undefined ? text : this.fail(problem);
  }

  /** One that was given before. */
  token(): number {
    return this.within(1, this.moment.nextToken - 1, "token");
  }

  tokenOrNone(): number {
    return this.within(0, this.moment.nextToken - 1, "token");
  }

  mode(): ClaimMode {
    return CLAIM_MODES[this.within(0, CLAIM_MODES.length - 1, "mode")] as ClaimMode;
  }

  endReason(): EndReason {
    const reason = this.uint();
    return isEndReason(reason) ? reason : this.fail(`reason ${reason}`);
  }

  blockedBy(): BlockedBy {
    return this.within(0, BLOCKED_BY_MAX, "blocked by") as BlockedBy;
  }

  status(): number {
    const status = this.uint();
    const isKnown = isStatus(status) || findRefusal(status) !== undefined;
    if (!isKnown || UNSTORED.includes(status)) this.fail(`a stored reply of status ${status}`);
    return status;
  }

  listHeader(countMax: number): number {
    const count = this.arrayHeader();
    if (count > countMax) this.fail(`${count} items, at most ${countMax}`);
    return count;
  }

  passOver(count: number): void {
    if (count > 0) this.fail(`${count} values too many`);
  }
}
