/** One errand of an owner of HTTP: a request for a lease, its repeats, and what came of them. */
import type { KeptPlace } from "../../checks/locks/door-laws.js";
import type { HttpLine } from "../../world/doors/door-lines.js";
import type { LeaseBelief } from "../leases/lease-belief.js";

/** What was asked and is not answered. */
export interface OpenRequest {
  /** Says that nothing more will be asked on its connection. */
  endHalf(): void;
  /** Nobody waits for the answer any more. */
  leave(): void;
}

export interface HttpErrandPlan {
  /** Names the owner. */
  readonly owner: string;
  /** The Idempotency-Key. */
  readonly request: string;
  /** As others see it. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly mode: "exclusive" | "shared";
  readonly ttlMs: number;
  /** 0: it does not wait. */
  readonly waitMs: number;
  /** It began while the cluster was calm, in that term; 0: it did not. */
  readonly calmTerm: number;
  /** In true time. */
  readonly firstAskedMs: number;
}

export class HttpErrand {
  readonly plan: HttpErrandPlan;
  belief: LeaseBelief | undefined;
  readonly open = new Set<OpenRequest>();
  /** What was asked, and its asker was gone before the answer. */
  readonly left: HttpLine[] = [];
  /** The number of the last take that was asked. */
  lastTake = 0;
  /** What was asked behind this number was asked by one that counted on its lease. */
  believedAt = Number.POSITIVE_INFINITY;
  /** What was asked behind this number was asked by one that was told that it has given back. */
  releasedAt = Number.POSITIVE_INFINITY;
  /** It gives back, or has given back. */
  isReturning = false;
  /** Something was asked and never answered, or its outcome is not known. */
  isInDoubt = false;
  /** A take was asked while another one may have been on its way. */
  hasRepeats = false;
  /** It is about to repeat a take. */
  isRepeating = false;
  place: KeptPlace | undefined;
  /** It was told that it waits, and did not wait for too long before that. */
  waitsUntilMs = 0;

  constructor(plan: HttpErrandPlan) {
    this.plan = plan;
  }
}
