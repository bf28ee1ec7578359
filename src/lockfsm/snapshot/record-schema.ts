/**
 * Declares every record of a snapshot once: its fields in the order of the bytes, with the bounds of
 * each. The writer, the reader and the hash of the table (`state-hash.ts`) go by it; the first two
 * handle holds by hand, as it says (`hold-records.ts`). A field is what the object of the table has
 * under its name, unless a function says what it is. What a field may be next to others, and next to
 * other records, the reader checks when it makes the object.
 *
 * Any change here must raise the version (`model-version.ts`). Data that follow from the rest are not
 * stored: keys, the order of queues, which requests were reached, due times, sums, free slots,
 * tasks, what counts against a session or an identity, and which session a nonce finds. No secret is
 * stored (`src/protocol/sha256.ts`), because any client may save a snapshot.
 */

import {
  ACCESS_LEVEL,
  ACQUIRE_DEFAULTS,
  ACQUIRE_OPTION,
  type AcquireTerms,
  ATTEMPT_MAX,
  CLAIM_MODES,
  type ClaimMode,
  CREDENTIAL_KIND,
  CREDENTIAL_MAX,
  type CredentialKind,
  type EndReason,
  ITEMS_MAX,
  isValidIdentityName,
  isValidLabel,
  LEASE_TTL_MS_MAX,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  NODE_ID_MAX,
  ORIGIN_ADDRESS_BYTES_MAX,
  PERMITS_MAX,
  type Result,
  resultCodec,
  STAMP_MAX,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_MS_MAX,
  WALL_MS_MAX,
} from "../../protocol/index.js";
import type { LoneHold } from "../holds/lone-holds.js";
import { IDENTITY_NUMBER_MIN } from "../records/access-state.js";
import type { Cooldown } from "../records/cooldown.js";
import type { Hold } from "../records/hold.js";
import { HoldExtras, upgradedBy } from "../records/hold.js";
import {
  CREDENTIALS_PER_IDENTITY_MAX,
  type Credential,
  GRANTS_PER_IDENTITY_MAX,
  type Grant,
  type Identity,
} from "../records/identity.js";
import type { Place } from "../records/key.js";
import type { Lease, LeaseWait } from "../records/lease.js";
import type { EndedLease } from "../records/lease-index.js";
import type { Slot, SlotState } from "../records/reply-window.js";
import type { Semaphore } from "../records/semaphore.js";
import {
  LOSSES_MAX,
  NO_DEADLINE,
  type Request,
  type Session,
  type SessionEnd,
} from "../records/session.js";
import type { QueueOrder } from "../records/waiting-queue.js";
import { isSettingValue, SETTING_NAMES } from "../settings.js";
import type { TableSettings } from "../types.js";
import type { FieldReader } from "./field-reader.js";
import type { Moment } from "./format.js";
import {
  endReason,
  flag,
  list,
  number,
  numberBelow,
  offset,
  oneOf,
  optional,
  orderer,
  part,
  type ReadOf,
  type RecordKind,
  type RecordWriter,
  record,
  sessionName,
  sparse,
  stamp,
  text,
  textLike,
  token,
} from "./kinds.js";
import type { PartCounts } from "./parts.js";

/** An identity as it was at the moment of the snapshot: its lists are replaced, not changed. */
export type IdentityRecord = Readonly<
  Pick<Identity, "number" | "name" | "isRemoved" | "grants" | "credentials">
>;

/** A key of the work queue, as it was then. */
export interface WorkKey {
  readonly name: string;
  readonly frontier: number;
  readonly evictFrom: QueueOrder | undefined;
}

interface LossRecord {
  readonly sequence: number;
  readonly token: number;
  readonly reason: EndReason;
}

/** The kinds of records, by their numbers. */
export const KIND = {
  session: 1,
  /** Whose slots, holds and requests follow, until the next record of this kind or a session. */
  of: 2,
  slot: 3,
  hold: 4,
  request: 5,
  workKey: 6,
  workSession: 7,
  end: 8,
  cooldown: 9,
  semaphore: 10,
  workRequest: 11,
  identity: 12,
  loneHold: 13,
  workIdentity: 14,
  endedLease: 15,
} as const;

/** No rank is lower. */
const RANK_LOWEST = -(2 ** 52);
/** Numbers that the table counts on from end here in a snapshot: as many more are left for it. */
const COUNTER_MAX = 2 ** 52;
const SAFE_MAX = Number.MAX_SAFE_INTEGER;

/** A SHA-256 in hex, or "". */
const tokenDigest = textLike(/^([0-9a-f]{64})?$/);
/** Half of one, and a number of a client. */
const shortDigest = textLike(/^[0-9a-f]{32}$/);
const shortDigestOrNone = textLike(/^([0-9a-f]{32})?$/);
const takenNumber = numberBelow("nextNumber", 1);
const identityNumber = numberBelow("nextIdentity");
const sequence = number(1);
const wallMs = number(0, WALL_MS_MAX);
const address = text((value) =>
  value.length > ORIGIN_ADDRESS_BYTES_MAX ? `address ${value}` : undefined,
);

/** One key of a claim. */
export interface ItemRecord {
  readonly mode: ClaimMode;
  readonly key: string;
  /** The permits of a semaphore, and the slots of those that are held; else 0 and none. */
  readonly wanted: number;
  readonly slots: readonly number[];
}

const NO_SLOTS: readonly number[] = Object.freeze([]);
const mode = oneOf(CLAIM_MODES);
const permits = number(1, PERMITS_MAX);
const slotNumber = number(0, LIMIT_MAX - 1);

/** The places of a claim, in the order of its command. */
function itemsOf(isHeld: boolean): RecordKind<readonly ItemRecord[], Place | undefined> {
  function read(from: FieldReader): ItemRecord {
    const item = mode.read(from, "mode");
    const key = from.string();
    if (item !== "permits") return { mode: item, key, wanted: 0, slots: NO_SLOTS };
    const wanted = permits.read(from, "permits");
    const slots: number[] = [];
    while (isHeld && slots.length < wanted) slots.push(slotNumber.read(from, "slot"));
    return { mode: item, key, wanted, slots };
  }
  return {
    read(from) {
      const items: ItemRecord[] = [];
      const count = from.within(1, ITEMS_MAX, "count of items");
      while (items.length < count) items.push(read(from));
      return items;
    },
    write(to: RecordWriter, first) {
      let count = 0;
      for (let place = first; place !== undefined; place = place.sibling) count += 1;
      to.uint(count);
      for (let place = first; place !== undefined; place = place.sibling) {
        const { key, permits: wanted } = place;
        mode.write(to, place.mode);
        to.string(key.name);
        if (wanted === undefined) continue;
        to.uint(wanted.wanted);
        if (isHeld) for (const slot of wanted.slots) to.uint(slot);
      }
    },
  };
}
export const heldItems = itemsOf(true);

const order = record<QueueOrder>()({
  rank: offset(-RANK_LOWEST, number()),
  number: number(),
});

const leaseWait = {
  ownerDigest: shortDigest,
  request: shortDigestOrNone,
  name: sessionName,
  ttlMs: number(0, LEASE_TTL_MS_MAX),
  identity: part(identityNumber, ({ identity }: LeaseWait) => identity.number),
  /** Is all that is left of an identity that was removed. */
  identityName: part(orderer, ({ identity }: LeaseWait) => identity.name),
};

/** The options that an acquire or a take may have. */
const options = sparse<AcquireTerms>()(
  Object.fromEntries(
    Object.keys(ACQUIRE_OPTION).map((name) => {
      const usual = ACQUIRE_DEFAULTS[name as keyof AcquireTerms];
      if (typeof usual === "string") return [name, text()];
      return [name, typeof usual === "boolean" ? flag : number(0, WAIT_MS_MAX)];
    }),
  ) as { readonly [N in keyof AcquireTerms]: RecordKind<AcquireTerms[N]> },
  ACQUIRE_DEFAULTS,
);

export const lease = record<Lease>()({
  ...leaseWait,
  isBearer: flag,
  endsAt: number(),
  takenBy: number(),
  takenAs: number(),
});
export type LeaseWaitRecord = ReadOf<typeof leaseWait>;
type LeaseRecord = ReturnType<typeof lease.read>;

const NO_EXTRAS: Readonly<HoldExtras> = Object.freeze(new HoldExtras());
const extras = sparse<HoldExtras>()(
  {
    value: text(),
    maxHoldMs: number(0, WAIT_MS_MAX),
    minHoldMs: number(0, WAIT_MS_MAX),
    lockDelayMs: number(0, LOCK_DELAY_MS_MAX),
    revokedAt: number(),
    revokeReason: text(),
    revokedBy: orderer,
    lease: lease as RecordKind<LeaseRecord | undefined, Lease | undefined>,
  },
  NO_EXTRAS,
);

const grant = record<Grant>()({
  key: text(),
  isPrefix: flag,
  level: number(ACCESS_LEVEL.observe, ACCESS_LEVEL.admin),
});

const credential = record<Credential>()({
  number: numberBelow("nextCredential", 1),
  label: text(isValidLabel),
  kind: oneOf(Object.keys(CREDENTIAL_KIND) as CredentialKind[]),
  digest: tokenDigest,
  expiresWallMs: wallMs,
  createdWallMs: wallMs,
});

const forcedEnd = record<SessionEnd>()({
  dueAt: number(1),
  number: takenNumber,
  reason: text(),
  orderedBy: orderer,
});

/** What the first record says of the snapshot and of the table. */
export interface Beginning extends Moment {
  readonly index: number;
  /**
   * The wall clock from which on the cluster that this one was restored from may have given tokens
   * from the next token on; 0 once that is settled.
   */
  readonly leftAtMs: number;
  /** The time before which no session can be opened; 0: it has passed. */
  readonly quietUntil: number;
  readonly settings: TableSettings;
  readonly revision: number;
  readonly adminOrderCount: number;
  readonly limitOrderCount: number;
  readonly counts: PartCounts;
}

const count = number();

/** It follows the name of the format and its version. */
export const BEGINNING: RecordKind<Beginning> = record<Beginning>()({
  index: number(),
  stamp: number(0, STAMP_MAX),
  nextToken: number(),
  nextNumber: number(1, COUNTER_MAX),
  nextIdentity: number(IDENTITY_NUMBER_MIN, COUNTER_MAX),
  nextCredential: number(1, CREDENTIAL_MAX + 1),
  leftAtMs: number(),
  quietUntil: number(),
  settings: record<TableSettings>()(
    Object.fromEntries(SETTING_NAMES.map((name) => [name, settingKind(name)])) as {
      readonly [N in keyof TableSettings]: RecordKind<number>;
    },
  ),
  revision: number(),
  adminOrderCount: number(),
  limitOrderCount: number(),
  counts: record<PartCounts>()({
    ...{ sessions: count, holds: count, requests: count, work: count, cooldowns: count },
    ...{ semaphores: count, identities: count, endedLeases: count },
  }),
});

function settingKind(name: keyof TableSettings): RecordKind<number> {
  return {
    read(from) {
      const value = from.uint();
      return isSettingValue(name, value) ? value : from.fail(`${name} ${value}`);
    },
    write: (to, value) => to.uint(value),
  };
}

/** The other records; they can be in any order, except for what they say they follow. */
export const RECORDS = {
  session: record<Session>()({
    id: takenNumber,
    nonceDigest: text(),
    name: sessionName,
    metadata: text(),
    identity: part(number(), ({ credential: { identity } }: Session) => identity.number),
    credential: part(number(), ({ credential: { number: one } }: Session) => one),
    origin: record<Session["origin"]>()({ node: number(0, NODE_ID_MAX), address }),
    ttlMs: number(TTL_MS_MIN, TTL_MS_MAX),
    dueAt: number(),
    attempt: number(1, ATTEMPT_MAX),
    attachEpoch: number(1, ATTEMPT_MAX),
    attachedAt: stamp,
    attachedSequence: number(),
    highestSequence: number(0, SAFE_MAX - 1),
    mark: part(number(1), ({ replies }: Session) => replies.mark),
    endedBy: optional(endReason),
    orderedBy: orderer,
    forcedEnd: optional(forcedEnd),
    losses: part(
      list(record<LossRecord>()({ sequence, token, reason: endReason }), LOSSES_MAX),
      ({ losses }: Session): readonly LossRecord[] =>
        losses === undefined
          ? []
          : [...losses].map(([lost, loss]) => ({ sequence: lost, ...loss })),
    ),
  }),
  /** A stored reply; the reply of a waiting request follows from the request. */
  slot: record<Slot<Request>>()({
    sequence,
    stamp,
    state: oneOf<SlotState>(["reply", "outcome"]),
    result: resultCodec as RecordKind<Result>,
  }),
  hold: record<Hold>()({
    token,
    task: number(),
    sequence,
    grantedAt: stamp,
    waitedMs: number(),
    isContended: flag,
    extras: extras,
    /** The number of its due time; 0 if there is none. */
    endNumber: part(numberBelow("nextNumber"), (hold: Hold) => hold.extras?.end?.number ?? 0),
    items: part(heldItems, ({ firstPlace }: Hold) => firstPlace),
  }),
  /** A hold that is only a row, of the one lock with that name, exclusively. */
  loneHold: record<LoneHold>()({
    ...{ token, task: number(), sequence, grantedAt: stamp, name: text() },
  }),
  request: record<Request>()({
    number: takenNumber,
    task: number(),
    sequence,
    enqueuedAt: stamp,
    headStartMs: part(number(), ({ rank, enqueuedAt, upgrades }: Request) =>
      upgrades === undefined ? enqueuedAt - rank : 0,
    ),
    /** 0: without end. */
    waitMs: part(number(), ({ dueAt, enqueuedAt }: Request) =>
      dueAt === NO_DEADLINE ? 0 : dueAt - enqueuedAt + 1,
    ),
    options: options,
    lease: optional(record<LeaseWait>()(leaseWait)),
    /** How much later than its number it joined the list of its session. */
    joinedAfter: part(number(), ({ joined, number: arrived }: Request) => joined - arrived),
    /** The stamp of its slot. */
    queuedAt: part(stamp, ({ slot, enqueuedAt }: Request) => slot?.stamp ?? enqueuedAt),
    /** The sequence of the hold that it is to upgrade. */
    upgrades: part(optional(sequence), (request: Request) => upgradedBy(request)?.sequence),
    detects: flag,
    isUnchecked: flag,
    items: part(itemsOf(false), ({ firstPlace }: Request) => firstPlace),
  }),
  cooldown: record<Cooldown>()({
    token,
    /** 0: of none. */
    session: numberBelow("nextNumber"),
    identity: part(optional(identityNumber), ({ identity }: Cooldown) => identity?.number),
    number: takenNumber,
    dueAt: number(),
    items: part(heldItems, ({ firstPlace }: Cooldown) => firstPlace),
  }),
  semaphore: record<Semaphore>()({ name: text(), limit: number(1, LIMIT_MAX), isSet: flag }),
  /** In the order of their ends. */
  endedLease: record<EndedLease>()({
    key: text(),
    space: offset(1, numberBelow("nextIdentity", 0, 1)),
    ownerDigest: shortDigest,
    request: shortDigestOrNone,
    reason: endReason,
    endedAt: stamp,
  }),
  identity: record<IdentityRecord>()({
    number: identityNumber,
    name: text(isValidIdentityName),
    isRemoved: flag,
    grants: list(grant, GRANTS_PER_IDENTITY_MAX),
    credentials: list(credential, CREDENTIALS_PER_IDENTITY_MAX),
  }),
  /** An item of the work queue, in its order, as are the next three. */
  workKey: record<WorkKey>()({
    name: text(),
    /** The number of the first request that was not reached; 0 if all were. */
    frontier: number(),
    /** Where to continue refusing oversized requests. */
    evictFrom: optional(order),
  }),
  workSession: record<{ readonly session: number }>()({ session: number() }),
  workIdentity: record<{ readonly number: number; readonly orderedBy: string }>()({
    number: number(),
    orderedBy: orderer,
  }),
  /** A search that was left to later entries. */
  workRequest: record<{ readonly session: number; readonly sequence: number }>()({
    session: number(),
    sequence: number(),
  }),
  of: record<{ readonly id: number }>()({ id: number() }),
  end: record<{ readonly slots: number }>()({ slots: number() }),
} satisfies Readonly<Record<keyof typeof KIND, unknown>>;

export type RecordName = keyof typeof RECORDS;
/** What is read of a record. */
export type RecordOf<N extends RecordName> = ReturnType<(typeof RECORDS)[N]["read"]>;
/** What it is written from. */
export type SourceOf<N extends RecordName> = Parameters<(typeof RECORDS)[N]["write"]>[1];

/** Writes a record with its kind. */
export function writeRecord<N extends RecordName>(
  to: RecordWriter,
  name: N,
  of: SourceOf<N>,
): void {
  to.uint(KIND[name]);
  (RECORDS[name] as RecordKind<unknown, SourceOf<N>>).write(to, of);
}
