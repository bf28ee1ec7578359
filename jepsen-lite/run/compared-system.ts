/** One of the compared systems, with the figures of its run. Types only. */
import type { Validity } from "../verdict/check-result.js";

export interface ComparedSystem {
  readonly name: string;
  readonly about: string;
  readonly valid: Validity;
  /** Results of the guarded store with and without comparing tokens. */
  readonly fenced: LostUpdates;
  readonly unfenced: LostUpdates;
  /** A lock was granted while another client certainly held it. */
  readonly twoHolders: number;
  /** Tokens that were granted twice, or after a larger one. */
  readonly badTokens: number;
  /** Keys whose operations no order explains. */
  readonly unexplained: number;
  readonly succeeded: number;
  readonly unknown: number;
  readonly faults: number;
  /** Leaders that were elected, or primaries that were appointed. */
  readonly elections: number;
  readonly longestGapMs: number;
}

export interface LostUpdates {
  readonly lost: number;
  readonly accepted: number;
  /** Refused because of their token. */
  readonly refused: number;
}
