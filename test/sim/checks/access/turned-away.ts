/** Sessions that a node refuses by itself, because strangers may do nothing in its cluster. */
import { ERROR_NUMBERS } from "../../../../src/errors.js";
import type { Attached } from "../../../../src/protocol/index.js";

/**
 * Whether the refusal may be a node's own. A table's has the index of its entry, as long as it does not
 * go over the wire, which leaves it out.
 */
export function isTurnedAway({ status, index }: Attached): boolean {
  return status === ERROR_NUMBERS.UNAUTHENTICATED && index === 0;
}
