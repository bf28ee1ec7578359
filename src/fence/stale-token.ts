/** The only error of this module that is about time: a holder came back too late. */
import { HoldfastError } from "../errors/index.js";
import type { Claim } from "./claim.js";

/** `details` of `STALE_TOKEN`. */
export interface StaleTokenDetails {
  /** The resource that the gate guards. */
  readonly resource: string;
  /** The token of the refused claim. */
  readonly token: number;
  readonly mode: string;
  /** The newer token that excludes it, if the store reports it. */
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
      "its lock was lost and granted to another",
    { details: { ...details } },
  );
}
