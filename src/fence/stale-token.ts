/** The one error of this room that is about time: a holder came back too late. */
import { HoldfastError } from "../errors.js";
import type { Claim } from "./claim.js";

/** `details` of `STALE_TOKEN`. */
export interface StaleTokenDetails {
  /** What the gate guards. */
  readonly resource: string;
  /** The claim that was refused. */
  readonly token: number;
  readonly mode: string;
  /** The newer token that stood against it, where the store tells it. */
  readonly newest?: number;
}

export function staleToken(resource: string, claim: Claim, newest?: number): HoldfastError {
  const { token, mode } = claim;
  const than = newest === undefined ? "a newer one" : `token ${newest}`;
  const details: StaleTokenDetails = {
    resource,
    token,
    mode,
    ...(newest === undefined ? {} : { newest }),
  };
  return new HoldfastError(
    "STALE_TOKEN",
    `${mode} token ${token} came to ${JSON.stringify(resource)} after ${than}: ` +
      "its lock was lost and belongs to another",
    { details: { ...details } },
  );
}
