/**
 * A granted request, with what few of them have and when it ends by itself. Nothing here may know the
 * table: the code that grants and ends holds is above.
 */
import type { Holder } from "../../protocol/index.js";
import { type DueItem, NOT_IN_HEAP } from "../structures/due-heap.js";
import type { Changing } from "./copy-on-write.js";
import type { Identity } from "./identity.js";
import type { Claimant, Place } from "./key.js";
import type { Lease } from "./lease.js";
import type { Request, Session, TaskLink } from "./session.js";

/** The time at which a hold ends by itself, for the earliest of its reasons. */
export class HoldEnd implements DueItem {
  readonly hold: Hold;
  readonly dueAt: number;
  readonly number: number;
  heapIndex = NOT_IN_HEAP;

  constructor(hold: Hold, dueAt: number, number: number) {
    this.hold = hold;
    this.dueAt = dueAt;
    this.number = number;
  }
}

export class HoldExtras {
  readonly value: string = "";
  /** 0 means none, for these three. */
  readonly maxHoldMs: number = 0;
  readonly minHoldMs: number = 0;
  readonly lockDelayMs: number = 0;
  /** The cluster time at which a revoke ends it by force; 0 if it was not revoked. */
  readonly revokedAt: number = 0;
  readonly revokeReason: string = "";
  /** The name of the identity that revoked it. */
  readonly revokedBy: string = "";
  readonly lease: Lease | undefined = undefined;
  readonly end: HoldEnd | undefined = undefined;
  /** Set while its upgrade waits. A snapshot stores the link in the request only. */
  upgrade: Request | undefined = undefined;
}

/**
 * A granted request: all its keys under one token. It is identified by its session and the sequence
 * of its acquire or adopt, and has a token. Its places are in the keys' lists of holds. A lone hold
 * is only a row ("lone-holds.ts"); fields that few of the others need are kept apart in
 * `HoldExtras`.
 */
export class Hold implements Claimant {
  readonly token: number;
  readonly session: Session;
  readonly task: number;
  /** The sequence of the acquire, adopt or hand-over that brought it to its holder. */
  readonly sequence: number;
  readonly grantedAt: number;
  /** How long its request waited; the request of a lone hold never did. */
  readonly waitedMs: number = 0;
  /** Whether its holder has been notified that a request waits. */
  readonly isContended: boolean = false;
  readonly extras: HoldExtras | undefined = undefined;
  readonly firstPlace: Place | undefined = undefined;
  /** Its row while it is in the table, by which its session, its sequence and its token find it. */
  readonly row: number = 0;
  nextByTask: TaskLink | undefined = undefined;

  constructor(token: number, session: Session, task: number, sequence: number, grantedAt: number) {
    this.token = token;
    this.session = session;
    this.task = task;
    this.sequence = sequence;
    this.grantedAt = grantedAt;
  }

  get value(): string {
    return this.extras?.value ?? "";
  }

  /** Who has revoked it or ordered the end of its session; "" if nobody has. */
  get orderedBy(): string {
    const { revokedBy = "" } = this.extras ?? {};
    return revokedBy === "" ? (this.session.forcedEnd?.orderedBy ?? "") : revokedBy;
  }

  /** What it counts against. */
  get identity(): Identity {
    return this.extras?.lease?.identity ?? this.session.credential.identity;
  }

  /** What others see of its holder: the name of the session, or of the owner of a lease. */
  get holderName(): string {
    return this.extras?.lease?.name ?? this.session.name;
  }

  /** The identity of its session, or of its owner. */
  get identityName(): string {
    return this.extras?.lease?.identity.name ?? this.session.identityName;
  }

  /** Whether it belongs to no session: its end does not depend on one. */
  get isDetached(): boolean {
    return this.session.id === 0;
  }

  get holder(): Holder {
    const { lease } = this.extras ?? {};
    return lease === undefined ? "session" : lease.isBearer ? "bearer" : "owner";
  }

  /** Gives write access to its own fields. */
  change(): Changing<Hold> {
    this.session.copies.copier?.copyRow(this.row);
    return this;
  }

  /** Gives write access to its extras, which are made when one of them is first needed. */
  changeExtras(): Changing<HoldExtras> {
    const hold = this.change();
    hold.extras ??= new HoldExtras();
    return hold.extras;
  }
}

/** The hold that a request upgrades; `undefined`: the request asks for a hold of its own. */
export function upgradedBy({ upgrades }: Request): Hold | undefined {
  return upgrades as Hold | undefined;
}
