/**
 * How this process connects to a host by its name: every dial of a client, of a peer, of a node that
 * joins, and of whatever reads a page. Node tries the addresses of a name one after the other and
 * gives each but the last a quarter of a second, so a host behind a longer round trip is never
 * reached if its name has addresses of two families. It must stay well below the time limit of each
 * dial, so that a family that leads nowhere leaves room for the other. For Node only.
 */

/** More than any round trip, and half of the shortest limit of a whole dial. */
const ATTEMPT_MS = 1_000;

export const DIAL_OPTIONS = Object.freeze({
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
});
