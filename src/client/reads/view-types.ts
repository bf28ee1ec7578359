/**
 * What the SDK shows of the cluster: the views of the protocol, with the numbers of reasons
 * replaced by their names.
 */
import type {
  ChangeView,
  LostTenures,
  Revision,
  Tenure as TenureView,
} from "../../protocol/index.js";
import { type LossReason, lossReasonOf } from "../failures.js";

export type { LostTenures, Revision };

/** Something that happened to a key. */
export interface Change extends Omit<ChangeView, "reason"> {
  /** Why a hold ended; "unknown" of everything else. */
  readonly reason: LossReason;
}

/** Once that a key was held, from its grant to its end. */
export interface Tenure extends Omit<TenureView, "reason"> {
  /** `undefined` while it is held. */
  readonly reason: LossReason | undefined;
}

/** Who held a key. */
export interface History {
  /** Newest first. */
  readonly tenures: readonly Tenure[];
  /** Whether there are more, or may have been. */
  readonly isTruncated: boolean;
  /** Where records of the audit are lost, the newest first; then `isTruncated` is true. */
  readonly lost: readonly LostTenures[];
}

/**
 * Changes in the order of the log, none left out, none told twice, over reconnects to any node. End
 * it by leaving the loop, by `return()` or by the signal.
 */
export interface Watch extends AsyncIterableIterator<Change>, AsyncDisposable {
  /** Everything up to here was told: where another watch can go on. `undefined` until it began. */
  readonly revision: Revision | undefined;
  /** Resolves when everything behind `revision` will be told, or when it is over. Never rejects. */
  readonly begun: Promise<void>;
}

/** Who leads. */
export interface Leader {
  /** What it was campaigned or proclaimed with. */
  readonly value: string;
  /** The fencing token of its term. */
  readonly token: number;
  readonly session: number;
  readonly sessionName: string;
}

export function changeOf(view: ChangeView): Change {
  return { ...view, reason: lossReasonOf(view.reason) };
}

export function tenureOf(view: TenureView): Tenure {
  const { reason } = view;
  return { ...view, reason: reason === null ? undefined : lossReasonOf(reason) };
}
