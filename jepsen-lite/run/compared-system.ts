/** One of the systems that are compared, in the figures of its run. Types only. */
import type { Validity } from "../verdict/check-result.js";

export interface ComparedSystem {
  readonly name: string;
  readonly about: string;
  readonly valid: Validity;
  /** Of the guarded store while tokens were compared, and while they were not. */
  readonly fenced: LostUpdates;
  readonly unfenced: LostUpdates;
  /** A lock was granted while another client held it for certain. */
  readonly twoHolders: number;
  /** Tokens that were granted twice, or after a larger one. */
  readonly badTokens: number;
  /** Keys whose operations no order explains. */
  readonly unexplained: number;
  readonly succeeded: number;
  readonly unknown: number;
  readonly faults: number;
  /** Leaders that were elected, primaries that were appointed. */
  readonly elections: number;
  readonly longestGapMs: number;
}

export interface LostUpdates {
  readonly lost: number;
  readonly accepted: number;
  /** Turned away for their token. */
  readonly refused: number;
}
