/**
 * Reads the fields of a snapshot: values in the protocol's canonical form, each within bounds that
 * the caller gives. Anything else fails with a `ProtocolError` that says where.
 */
import {
  ACQUIRE_DEFAULTS,
  type AcquireOptions,
  BLOCKED_BY,
  type BlockedBy,
  type Blocker,
  CLAIM_MODES,
  type ClaimMode,
  type CycleMember,
  END_REASON,
  type EndReason,
  ITEMS_MAX,
  PERMITS_MAX,
  Reader,
  type Result,
  STATUS,
  WAIT_MS_MAX,
} from "../../protocol/index.js";
import { findRefusal, notHeld, notReleased, OK, RELEASED, SAME_OWNER } from "../results.js";
import { REFUSALS_FROM } from "./format.js";
import { DETAIL, OPTION_NAMES } from "./values.js";

const END_REASON_MAX = Math.max(...Object.values(END_REASON));
/** The most items of a list in a refusal; a longer list is damage. */
const LIST_MAX = 1 << 20;
const BLOCKED_BY_MAX = Math.max(...Object.values(BLOCKED_BY));

export class FieldReader {
  readonly #reader: Reader;

  constructor(body: Uint8Array) {
    this.#reader = new Reader(body);
  }

  get isAtEnd(): boolean {
    return this.#reader.isAtEnd;
  }

  /** Fails because the field just read makes no sense. */
  fail(what: string): never {
    return this.#reader.fail(what);
  }

  uint(): number {
    return this.#reader.uint();
  }

  /** Reads an integer of `least` … `most`. */
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

  /** Reads the header of an array, which must have exactly `count` items. */
  array(count: number): void {
    const found = this.#reader.arrayHeader();
    if (found !== count) this.fail(`${found} items instead of ${count}`);
  }

  endReason(): EndReason {
    return this.within(0, END_REASON_MAX, "reason") as EndReason;
  }

  /** Reads a reason; `undefined` for none. */
  optionalEndReason(): EndReason | undefined {
    const value = this.within(0, END_REASON_MAX + 1, "reason");
    return value === 0 ? undefined : ((value - 1) as EndReason);
  }

  /** Reads a token below `nextToken`. */
  token(nextToken: number): number {
    return nextToken - this.within(1, nextToken - 1, "token back");
  }

  mode(): ClaimMode {
    return CLAIM_MODES[this.within(0, CLAIM_MODES.length - 1, "mode")] as ClaimMode;
  }

  options(): AcquireOptions | undefined {
    if (!this.flag("options")) return undefined;
    const options: Record<string, number | string | boolean> = {};
    for (const name of OPTION_NAMES) {
      const usual = ACQUIRE_DEFAULTS[name];
      if (typeof usual === "string") options[name] = this.text();
      else if (typeof usual === "boolean") options[name] = this.flag(name);
      else options[name] = this.within(0, WAIT_MS_MAX, name);
    }
    return { ...ACQUIRE_DEFAULTS, ...options };
  }

  result(nextToken: number): Result {
    const status = this.uint();
    switch (status) {
      case STATUS.ok:
        return OK;
      case STATUS.upgraded:
        return { status, token: this.token(nextToken) };
      case STATUS.released:
        return RELEASED;
      case STATUS.notReleased:
        return notReleased(this.endReason());
      case STATUS.leased: {
        const tokens = this.#list(ITEMS_MAX, () => this.token(nextToken));
        const endsAt = this.uint();
        const slots = this.#list(ITEMS_MAX, () => this.#list(PERMITS_MAX, () => this.uint()));
        return { status, tokens, endsAt, slots };
      }
      case STATUS.extended: {
        const leases = this.#list(ITEMS_MAX, () => {
          return { token: this.token(nextToken), endsAt: this.uint() };
        });
        return { status, leases };
      }
      case STATUS.givenBack:
        return {
          ...{ status, count: this.within(0, ITEMS_MAX, "count") },
          ...{ waits: this.within(0, ITEMS_MAX, "waits"), reason: this.endReason() },
        };
      case STATUS.revoked:
        return { status, count: this.uint(), remaining: this.uint(), opened: this.uint() };
      default:
        if (status < REFUSALS_FROM) this.fail(`a stored reply of status ${status}`);
        return this.#refusal(status, nextToken);
    }
  }

  #refusal(status: number, nextToken: number): Result {
    const refusal = findRefusal(status) ?? this.fail(`status ${status}`);
    const detail = this.uint();
    if (detail === DETAIL.none) return refusal;
    if (detail === DETAIL.limit) return { ...refusal, limit: this.uint() } as Result;
    if (detail === DETAIL.sameOwner) return SAME_OWNER;
    if (detail === DETAIL.reason) return notHeld(this.endReason());
    if (detail === DETAIL.cycle) return { ...refusal, cycle: this.#cycle() } as Result;
    if (detail !== DETAIL.blockers) this.fail(`detail ${detail}`);
    const blockedBy = this.within(0, BLOCKED_BY_MAX, "blocked by") as BlockedBy;
    const blockers = this.#list(LIST_MAX, (): Blocker => {
      const sessionName = this.text();
      const key = this.text();
      const mode = this.mode();
      const token = this.#tokenOrNone(nextToken);
      return { sessionName, key, mode, token, identity: this.text() };
    });
    return { ...refusal, blockedBy, blockers } as Result;
  }

  #cycle(): CycleMember[] {
    return this.#list(LIST_MAX, () => {
      const session = this.uint();
      const sessionName = this.text();
      const owner = this.uint();
      const key = this.text();
      const mode = this.mode();
      return { session, sessionName, owner, key, mode, identity: this.text() };
    });
  }

  #list<T>(countMax: number, read: () => T): T[] {
    const count = this.#reader.arrayHeader();
    if (count > countMax) this.fail(`${count} items, at most ${countMax}`);
    const items: T[] = [];
    for (let left = count; left > 0; left -= 1) items.push(read());
    return items;
  }

  #tokenOrNone(nextToken: number): number {
    const back = this.within(0, Math.max(0, nextToken - 1), "token back");
    return back === 0 ? 0 : nextToken - back;
  }
}
