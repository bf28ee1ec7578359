/**
 * Declares once what the result of a command is made of: the positions that follow its status, in a
 * reply to a client as well as in the reply that a snapshot stores, with the bounds of each. A
 * snapshot comes from this version alone, and anything beyond the bounds is damage. A client may be
 * older than its node, and takes more than this version allows.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
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
} from "../text-rules.js";
import { PositionReader, type ResultSource } from "./position-reader.js";
import { PositionWriter } from "./position-writer.js";
import type { Layout, Positions } from "./positions.js";
import type { Writer } from "./writer.js";

/** Statuses from here on are `ERROR_NUMBERS`. */
export const FIRST_ERROR = 16;

/** "": of none. */
const identityRule = (name: string): string | undefined =>
  name === "" ? undefined : isValidIdentityName(name);

const tokenInList: Layout<number> = (io, token) => io.token(token);
const tokenOrNone: Layout<number> = (io, token) => io.tokenOrNone(token);
const slot: Layout<number> = (io, value) => io.within(value, 0, LIMIT_MAX - 1, "slot");
const slotsOfItem: Layout<readonly number[]> = (io, slots) => io.list(slots, PERMITS_MAX, slot);
const heldItem: Layout<HeldItem> = (io, item) => ({
  key: io.textUnder(item.key, isValidTableKey),
  mode: io.mode(item.mode),
  permits: io.within(item.permits, 0, PERMITS_MAX, "permits"),
  slots: slotsOfItem(io, item.slots),
});
export const heldItems: Layout<readonly HeldItem[]> = (io, items) =>
  io.arrays(items, ITEMS_MAX, heldItem);
const extendedLease: Layout<ExtendedLease> = (io, lease) => ({
  token: io.token(lease.token),
  endsAt: io.number(lease.endsAt),
});
/** On the wire 0, otherwise 1 + its index. One that a client does not know is read as none. */
function holderOrNone(io: Positions, of: Holder | null): Holder | null {
  const number = HOLDERS.indexOf(of as Holder) + 1;
  return HOLDERS[io.within(number, 0, HOLDERS.length, "holder") - 1] ?? null;
}
const blocker: Layout<Blocker> = (io, one) => ({
  sessionName: io.textUnder(one.sessionName, isValidSessionName),
  key: io.textUnder(one.key, isValidTableKey),
  mode: io.mode(one.mode),
  token: io.tokenOrNone(one.token),
  identity: io.textUnder(one.identity, identityRule),
  session: io.number(one.session),
  holder: holderOrNone(io, one.holder),
});
const cycleMember: Layout<CycleMember> = (io, member) => ({
  session: io.number(member.session),
  sessionName: io.textUnder(member.sessionName, isValidSessionName),
  task: io.number(member.task),
  key: io.textUnder(member.key, isValidTableKey),
  mode: io.mode(member.mode),
  identity: io.textUnder(member.identity, identityRule),
});

type Of<S> = Extract<Result, { readonly status: S }>;
type ResultLayout<S> = (io: Positions, of: Of<S>, status: S) => Of<S>;

const bare = <S extends number>(_io: Positions, _of: unknown, status: S) => ({ status });

const OF_STATUS: { readonly [N in keyof typeof STATUS]: ResultLayout<(typeof STATUS)[N]> } = {
  ok: bare,
  granted(io, of, status) {
    const token = io.token(of.token);
    if (!io.has(1, of.slots)) return { status, token };
    return { status, token, slots: io.list(of.slots, ITEMS_MAX, slotsOfItem) };
  },
  queued: bare,
  released: bare,
  notReleased: (io, of, status) => ({ status, reason: io.endReason(of.reason) }),
  upgraded: (io, of, status) => ({ status, token: io.token(of.token) }),
  revoked: (io, of, status) => ({
    status,
    count: io.number(of.count),
    remaining: io.number(of.remaining),
    opened: io.number(of.opened),
    endsInMs: io.number(of.endsInMs),
    leasesLeft: io.number(of.leasesLeft),
  }),
  adopted: (io, of, status) => ({
    status,
    token: io.token(of.token),
    items: heldItems(io, of.items),
    value: io.textUnder(of.value, isValidValue),
    grantedAt: io.number(of.grantedAt),
    endsAt: io.number(of.endsAt),
  }),
  leased: (io, of, status) => ({
    status,
    tokens: io.list(of.tokens, ITEMS_MAX, tokenInList),
    endsAt: io.number(of.endsAt),
    slots: io.list(of.slots, ITEMS_MAX, slotsOfItem),
  }),
  extended: (io, of, status) => ({
    status,
    leases: io.arrays(of.leases, ITEMS_MAX, extendedLease),
  }),
  givenBack: (io, of, status) => ({
    status,
    count: io.within(of.count, 0, ITEMS_MAX, "count"),
    waits: io.within(of.waits, 0, ITEMS_MAX, "waits"),
    reason: io.endReason(of.reason),
  }),
  acted: (io, of, status) => ({ status, tokens: io.list(of.tokens, ITEMS_MAX, tokenOrNone) }),
};

const limitUpTo =
  (least: number, most: number): ResultLayout<ErrorNumber> =>
  (io, of, status) =>
    io.has(1, of.limit) ? { status, limit: io.within(of.limit, least, most, "limit") } : { status };

/** Only errors that say more than their number. */
const OF_ERROR: Readonly<Record<number, ResultLayout<ErrorNumber>>> = {
  [ERROR_NUMBERS.LOCK_HELD](io, of, status) {
    if (io.has(2, of.blockers)) {
      const blockedBy = io.blockedBy(of.blockedBy as BlockedBy);
      return { status, blockedBy, blockers: io.arrays(of.blockers, BLOCKERS_MAX, blocker) };
    }
    return io.has(1, of.isSameOwner) && io.boolean(true)
      ? { status, isSameOwner: true }
      : { status };
  },
  [ERROR_NUMBERS.NOT_HELD]: (io, of, status) =>
    io.has(1, of.reason) ? { status, reason: io.endReason(of.reason) } : { status },
  [ERROR_NUMBERS.DEADLOCK]: (io, of, status) =>
    io.has(1, of.cycle)
      ? { status, cycle: io.arrays(of.cycle, CYCLE_MEMBERS_MAX, cycleMember) }
      : { status },
  [ERROR_NUMBERS.LIMIT_MISMATCH]: limitUpTo(1, LIMIT_MAX),
  [ERROR_NUMBERS.INVALID_ARGUMENT]: limitUpTo(0, LEASE_SETTING_MS_MAX),
  [ERROR_NUMBERS.OUTDATED_ORDER]: (io, of, status) =>
    io.has(1, of.orderCount) ? { status, orderCount: io.number(of.orderCount) } : { status },
};

type AnyLayout = (io: Positions, of: Result, status: number) => Result;
const BY_STATUS: (AnyLayout | undefined)[] = [];
for (const [name, layout] of Object.entries(OF_STATUS)) {
  BY_STATUS[STATUS[name as keyof typeof STATUS]] = layout as AnyLayout;
}
for (const [status, layout] of Object.entries(OF_ERROR)) {
  BY_STATUS[Number(status)] = layout as AnyLayout;
}

export const isStatus = (number: number): boolean => BY_STATUS[number] !== undefined;

/** A result: its status and what follows it. */
export const result: Layout<Result> = (io, of) => {
  const status = io.status(of.status);
  return (BY_STATUS[status] ?? (bare as AnyLayout))(io, of, status);
};

const positions = new PositionWriter();
/** A result as a value of its own. */
export const resultCodec = {
  read: (from: ResultSource, _name?: string): Result => new PositionReader(from).read(result),
  write: (to: Writer, value: Result): void => positions.write(to, value, result),
};
