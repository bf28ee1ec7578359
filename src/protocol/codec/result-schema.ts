/**
 * Declares once what the result of a command is made of: the positions that follow its status, in a
 * reply to a client as well as in the reply that a snapshot stores, with the bounds of each. A
 * snapshot comes from this version alone, and anything beyond the bounds is damage. A client may be
 * older than its node, and takes more than this version allows.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import { CLAIM_MODES, type ClaimMode } from "../commands.js";
import {
  BLOCKERS_MAX,
  CYCLE_MEMBERS_MAX,
  ITEMS_MAX,
  LEASE_SETTING_MS_MAX,
  LIMIT_MAX,
  PERMITS_MAX,
} from "../limits.js";
import {
  type BlockedBy,
  type Blocker,
  type CycleMember,
  type EndReason,
  type ExtendedLease,
  type HeldItem,
  HOLDERS,
  type Holder,
  type Result,
  STATUS,
} from "../replies.js";
import {
  isValidIdentityName,
  isValidSessionName,
  isValidTableKey,
  isValidValue,
  type TextRule,
} from "../text-rules.js";
import type { Codec, Fields } from "./codec.js";
import {
  array,
  fields,
  forms,
  list,
  type PositionSource,
  type Positions,
  tagged,
} from "./positions.js";
import type { Writer } from "./writer.js";

/** What the values of results are read from. */
export interface ResultSource extends PositionSource {
  /** An integer of `least` … `most`; how strictly, says the source. */
  within(least: number, most: number, name: string): number;
  bool(): boolean;
  string(): string;
  /** Text that the rule allows; how strictly, says the source. */
  textUnder(rule: TextRule): string;
  token(): number;
  /** 0: of something that has none. */
  tokenOrNone(): number;
  mode(): ClaimMode;
  endReason(): EndReason;
  blockedBy(): BlockedBy;
  /** A status; anything below `FIRST_ERROR` that is not in `STATUS` is refused. */
  status(): number;
}

type ResultCodec<T> = Codec<T, ResultSource, Writer>;
type ResultForms<T> = Positions<T, ResultSource, Writer>;

/** Statuses from here on are `ERROR_NUMBERS`. */
export const FIRST_ERROR = 16;

const writeUint = (to: Writer, value: number): void => to.uint(value);

export const uint: ResultCodec<number> = { read: (from) => from.uint(), write: writeUint };
export const boolean: ResultCodec<boolean> = {
  read: (from) => from.bool(),
  write: (to, value) => to.bool(value),
};
export const string: ResultCodec<string> = {
  read: (from) => from.string(),
  write: (to, value) => to.string(value),
};
export const token: ResultCodec<number> = { read: (from) => from.token(), write: writeUint };
export const endReason: ResultCodec<EndReason> = {
  read: (from) => from.endReason(),
  write: writeUint,
};
const tokenOrNone: ResultCodec<number> = {
  read: (from) => from.tokenOrNone(),
  write: writeUint,
};
const mode: ResultCodec<ClaimMode> = {
  read: (from) => from.mode(),
  write: (to, value) => to.uint(CLAIM_MODES.indexOf(value)),
};
const blockedBy: ResultCodec<BlockedBy> = {
  read: (from) => from.blockedBy(),
  write: writeUint,
};
/** One that a client does not know is read as none. */
const holderOrNone: ResultCodec<Holder | null> = {
  read: (from, name) => HOLDERS[from.within(0, HOLDERS.length, name) - 1] ?? null,
  write: (to, value) => to.uint(value === null ? 0 : HOLDERS.indexOf(value) + 1),
};
/** True, or not there at all. */
const mark: ResultCodec<true> = {
  read: (from) => (from.bool() || undefined) as true,
  write: (to) => to.bool(true),
};

function number(least: number, most: number): ResultCodec<number> {
  return { read: (from, name) => from.within(least, most, name), write: writeUint };
}

function text(rule: TextRule): ResultCodec<string> {
  return { read: (from) => from.textUnder(rule), write: (to, value) => to.string(value) };
}

const key = text(isValidTableKey);
const sessionName = text(isValidSessionName);
/** "": of none. */
const identity = text((name) => (name === "" ? undefined : isValidIdentityName(name)));
const itemCount = number(0, ITEMS_MAX);
const slotsOfItem = list(number(0, LIMIT_MAX - 1), PERMITS_MAX);
const slots = list(slotsOfItem, ITEMS_MAX);

export const heldItems = list(
  array(
    fields<HeldItem, ResultSource, Writer>({
      ...{ key, mode, permits: number(0, PERMITS_MAX), slots: slotsOfItem },
    }),
  ),
  ITEMS_MAX,
);
const extendedLeases = list(
  array(fields<ExtendedLease, ResultSource, Writer>({ token, endsAt: uint })),
  ITEMS_MAX,
);
const blockers = list(
  array(
    fields<Blocker, ResultSource, Writer>({
      ...{ sessionName, key, mode, token: tokenOrNone, identity },
      ...{ session: uint, holder: holderOrNone },
    }),
  ),
  BLOCKERS_MAX,
);
const cycle = list(
  array(
    fields<CycleMember, ResultSource, Writer>({
      ...{ session: uint, sessionName, owner: uint, key, mode, identity },
    }),
  ),
  CYCLE_MEMBERS_MAX,
);

type StatusName = keyof typeof STATUS;
type ResultOf<S> = Omit<Extract<Result, { readonly status: S }>, "status">;

type ErrorFields = ResultOf<ErrorNumber>;
const NOTHING: ResultForms<object> = fields({});
const error = (...of: readonly Partial<Fields<ErrorFields, ResultSource, Writer>>[]) =>
  forms<ErrorFields, ResultSource, Writer>(...of);

const OF_STATUS: { readonly [N in StatusName]: ResultForms<ResultOf<(typeof STATUS)[N]>> } = {
  ok: NOTHING,
  granted: forms<ResultOf<1>, ResultSource, Writer>({ token }, { token, slots }),
  queued: NOTHING,
  released: NOTHING,
  notReleased: fields({ reason: endReason }),
  upgraded: fields({ token }),
  revoked: fields({
    ...{ count: uint, remaining: uint, opened: uint, endsInMs: uint, leasesLeft: uint },
  }),
  adopted: fields({
    token,
    items: heldItems,
    value: text(isValidValue),
    grantedAt: uint,
    endsAt: uint,
  }),
  leased: fields({ tokens: list(token, ITEMS_MAX), endsAt: uint, slots }),
  extended: fields({ leases: extendedLeases }),
  givenBack: fields({ count: itemCount, waits: itemCount, reason: endReason }),
};

/** Only errors that say more than their number. */
const OF_ERROR: Readonly<Record<number, ResultForms<ErrorFields>>> = {
  [ERROR_NUMBERS.LOCK_HELD]: error({}, { isSameOwner: mark }, { blockedBy, blockers }),
  [ERROR_NUMBERS.NOT_HELD]: error({}, { reason: endReason }),
  [ERROR_NUMBERS.DEADLOCK]: error({}, { cycle }),
  [ERROR_NUMBERS.LIMIT_MISMATCH]: error({}, { limit: number(1, LIMIT_MAX) }),
  [ERROR_NUMBERS.INVALID_ARGUMENT]: error({}, { limit: number(0, LEASE_SETTING_MS_MAX) }),
  [ERROR_NUMBERS.OUTDATED_ORDER]: error({}, { orderCount: uint }),
};

const BY_STATUS: readonly (ResultForms<object> | undefined)[] = Object.entries({
  ...Object.fromEntries(
    Object.entries(OF_STATUS).map(([name, of]) => [STATUS[name as StatusName], of]),
  ),
  ...OF_ERROR,
}).reduce<ResultForms<object>[]>((all, [status, of]) => {
  all[Number(status)] = of as ResultForms<object>;
  return all;
}, []);

export const isStatus = (number: number): boolean => BY_STATUS[number] !== undefined;

/** A result: its status and what follows it. */
export const RESULT: ResultForms<Result> = tagged(
  "status",
  (from) => from.status(),
  (status) => BY_STATUS[status] ?? NOTHING,
);

/** A result as a value of its own. */
export const resultCodec: ResultCodec<Result> = array(RESULT);
