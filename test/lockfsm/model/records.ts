/**
 * What the naive model remembers: plain data in arrays, nothing that could be computed from the rest
 * but what is told to clients. See `model.ts`.
 */
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  type AccessLevel,
  type AcquireTerms,
  ANONYMOUS,
  type ClaimMode,
  type CredentialKind,
  type CycleMember,
  type EndReason,
  type Holder,
  type Item,
  LOCAL,
  LOCAL_CREDENTIAL,
  type Origin,
  type Result,
} from "../../../src/protocol/index.js";

export interface ModelGrant {
  readonly key: string;
  readonly isPrefix: boolean;
  readonly level: AccessLevel;
}

export interface ModelIdentity {
  readonly name: string;
  grants: ModelGrant[];
  isRemoved: boolean;
}

export interface ModelCredential {
  readonly number: number;
  readonly identity: ModelIdentity;
  readonly label: string;
  readonly kind: CredentialKind;
  readonly digest: string | undefined;
  readonly expiresWallMs: number;
  readonly createdWallMs: number;
}

const everything = (): ModelGrant[] => [{ key: "", isPrefix: true, level: "admin" }];

export function foundersOf(): { identities: ModelIdentity[]; credentials: ModelCredential[] } {
  const anonymous = { name: ANONYMOUS, grants: everything(), isRemoved: false };
  const local = { name: LOCAL, grants: everything(), isRemoved: false };
  const nothing = { label: "", kind: "token", digest: undefined } as const;
  const times = { expiresWallMs: 0, createdWallMs: 0 };
  return {
    identities: [anonymous, local],
    credentials: [
      { number: 0, identity: anonymous, ...nothing, ...times },
      { number: LOCAL_CREDENTIAL, identity: local, ...nothing, ...times },
    ],
  };
}

export interface ModelReply {
  readonly sequence: number;
  readonly stamp: number;
  readonly result: Result;
}

/** A hold that ended otherwise than by a command of its session. */
interface ModelLoss {
  readonly sequence: number;
  readonly token: number;
  readonly reason: EndReason;
}

export interface ModelSession {
  readonly id: number;
  readonly nonce: string;
  readonly name: string;
  readonly metadata: string;
  readonly ttlMs: number;
  /** Who has it, and the number of the credential of its newest attachment. */
  identity: ModelIdentity;
  credential: number;
  /** From where that came. */
  origin: Origin;
  expiresAt: number;
  /** When something of it was executed last. */
  renewedAt: number;
  /** The number of the last attach; each new one is an epoch. */
  attempt: number;
  epoch: number;
  attachedAt: number;
  attachedSequence: number;
  /** Every number up to it was executed, and no other. */
  highest: number;
  mark: number;
  /** In the order of their numbers, from the mark on. */
  replies: ModelReply[];
  /** How waits ended otherwise than by a grant, and upgrades by one, until that is acknowledged. */
  outcomes: ModelReply[];
  losses: ModelLoss[];
  /** An operator wants it to end. */
  forced:
    | {
        readonly at: number;
        readonly number: number;
        readonly reason: string;
        readonly by: string;
      }
    | undefined;
  endedBy: EndReason | undefined;
}

/** A refusal that the table gave, with the cycle that it named: at that place among its words. */
export interface NamedCycle {
  readonly at: number;
  readonly session: number;
  readonly sequence: number;
  readonly cycle: readonly CycleMember[];
}

/** Who gives an order without a session: what is stored for it is never looked at. */
export function nobody(identity: ModelIdentity): ModelSession {
  return {
    ...{ identity, credential: 0, origin: { node: 0, address: "" } },
    ...{ id: 0, nonce: "", name: "", metadata: "", ttlMs: 0, expiresAt: 0, renewedAt: 0 },
    ...{ attempt: 0, epoch: 0 },
    ...{ attachedAt: 0, attachedSequence: 0, highest: 0, mark: 1 },
    ...{ replies: [], outcomes: [], losses: [], forced: undefined, endedBy: undefined },
  };
}

/** One key of a request, a hold or a cooldown. */
export interface ModelItem {
  readonly key: string;
  mode: ClaimMode;
  /** 0 of locks. */
  readonly permits: number;
  slots: readonly number[];
}

/** Who has what belongs to no session: an owner of an identity, or one of the bearers of all. */
export interface NamedOwner {
  /** The identity of the session that took it, or handed it over, against which it counts. */
  readonly identity: ModelIdentity;
  readonly owner: string;
  readonly isBearer: boolean;
}

export function isSameNamed(one: NamedOwner, other: NamedOwner): boolean {
  if (one.owner !== other.owner || one.isBearer !== other.isBearer) return false;
  return one.isBearer || one.identity === other.identity;
}

/** What a take says of the lease that it wants. Each request has an object of its own. */
export interface ModelTake extends NamedOwner {
  /** "" of what was handed over. */
  readonly request: string;
  readonly name: string;
  ttlMs: number;
}

/** A hold of a named owner. */
interface ModelLease extends ModelTake {
  ttlMs: number;
  /** Infinite when it has no end of its own. */
  endsAt: number;
  /** Which take got it; `undefined`: it was repeated, or handed over. */
  takenBy: { readonly session: number; readonly sequence: number } | undefined;
}

/** How a lease ended, in one of its keys. */
export interface ModelEndedLease extends NamedOwner {
  readonly key: string;
  readonly at: number;
  readonly reason: EndReason;
  /** That was given back; unless the owner itself was the request. */
  readonly request?: string;
}

export interface ModelRequest {
  /** The session of the last take, when it was repeated; and its number. */
  session: ModelSession;
  sequence: number;
  /** 0 of takes, which are of no task. */
  readonly task: number;
  readonly take: ModelTake | undefined;
  readonly number: number;
  /** Arrival less head start. */
  rank: number;
  /** When its session got it, among the numbers of arrival. */
  joined: number;
  readonly items: readonly ModelItem[];
  readonly since: number;
  /** Infinite when there is none. */
  deadline: number;
  readonly options: AcquireTerms;
  readonly detects: boolean;
  readonly upgrades: ModelHold | undefined;
  /** Keys in which it was found that nothing before it conflicts with it. */
  reached: string[];
}

export interface ModelHold {
  token: number;
  /** `undefined`: of an owner. */
  session: ModelSession | undefined;
  task: number;
  /**
   * The number of the acquire, adopt or hand-over that brought it: with the session, what it is
   * known by.
   */
  sequence: number;
  readonly items: readonly ModelItem[];
  readonly since: number;
  /** How long its request stood in queues. */
  readonly waitedMs: number;
  readonly options: AcquireTerms;
  value: string;
  revoked: { readonly at: number; readonly reason: string; readonly by: string } | undefined;
  lease: ModelLease | undefined;
  /** When it ends by itself, with its number among due times. */
  end: { readonly at: number; readonly number: number } | undefined;
  isContended: boolean;
}

export function holderOf({ lease }: ModelHold): Holder {
  if (lease === undefined) return "session";
  return lease.isBearer ? "bearer" : "owner";
}

export interface ModelCooldown {
  readonly token: number;
  /** Whose hold it was; `undefined`: an owner's, or of the cluster before. */
  readonly session: ModelSession | undefined;
  /** What it counts against; `undefined`: of the cluster before. */
  readonly identity: ModelIdentity | undefined;
  items: readonly ModelItem[];
  readonly at: number;
  readonly number: number;
}

export interface ModelSemaphore {
  readonly key: string;
  limit: number;
  /** It was set for good. */
  isSet: boolean;
  /** Who waits from here on may want more than there is since the limit was lowered. */
  evictFrom: Order | undefined;
}

interface Order {
  readonly rank: number;
  readonly number: number;
}

/** A task of a session; or a take that waits, which is like a task of its own. */
export interface ModelTask {
  readonly session: ModelSession;
  readonly task: number;
  readonly take?: ModelTake | undefined;
}

export const isBefore = (left: Order, right: Order) =>
  left.rank < right.rank || (left.rank === right.rank && left.number < right.number);

export const isSameTask = (left: ModelTask, right: ModelTask) =>
  left.session === right.session && left.task === right.task && left.take === right.take;

export const isHold = (claim: ModelHold | ModelCooldown): claim is ModelHold => "options" in claim;

export const itemIn = ({ items }: { readonly items: readonly ModelItem[] }, key: string) =>
  items.find((item) => item.key === key);

export const keysOf = ({ items }: { readonly items: readonly { readonly key: string }[] }) =>
  items.map(({ key }) => key);

export const itemsOf = (items: readonly Item[]): ModelItem[] =>
  items.map((item) => {
    const permits = item.mode === "permits" ? item.permits : 0;
    return { key: item.key, mode: item.mode, permits, slots: [] };
  });

export const error = (
  code: keyof typeof ERROR_NUMBERS,
  details: {
    readonly limit?: number;
    readonly cycle?: readonly CycleMember[];
    readonly orderCount?: number;
    readonly isSameOwner?: true;
    readonly reason?: EndReason;
  } = {},
): Result => ({ status: ERROR_NUMBERS[code], ...details });
