/**
 * A client as the rest of a run sees it, whether it speaks the protocol itself or uses the SDK.
 * Types only.
 */
import type { ClientPlan } from "../plan/client-plan.js";
import type { HeldBelief } from "./belief.js";

export interface WorldClient {
  readonly plan: ClientPlan;
  /** Behind the nodes. */
  readonly host: number;
  /** The number of its session; 0 while it has none. */
  readonly session: number;
  /** Sequenced commands that were answered by an entry. */
  readonly answeredCount: number;
  /** Nothing asked, nothing waited for, nothing held. */
  readonly isIdle: boolean;
  /** Something was asked and has no answer; waits may have one. */
  readonly isAsking: boolean;
  /** Something is waited for that the table may let wait. */
  readonly isWaiting: boolean;
  /** For people: what keeps it from being idle. */
  readonly business: string;
  /** What it counts on at this moment, in whichever process. */
  readonly trusted: readonly HeldBelief[];
  /** Gives everything back and asks for nothing more. */
  isDraining: boolean;
  start(): void;
  pause(): void;
  resume(): void;
  /** In the turn in which it next begins to count on a hold. */
  atNextGrant(task: () => void): void;
  /** From now on these nodes are to be preferred. */
  prefer(nodes: readonly number[]): void;
  reconnect(): void;
  /** It may act so often from now on, beyond its plan. */
  allow(actions: number): void;
}
