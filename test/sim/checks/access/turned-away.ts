/**
 * Sessions that a node refuses by itself, because strangers may do nothing in its cluster. Says what
 * may be such a refusal, and never whether it was right.
 */
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import type { Attached } from "../../../../src/protocol/index.js";

/**
 * Whether the refusal may be a node's own. The table's refusals have the index of their entry, but
 * none has an index once it came over the wire.
 */
export function isTurnedAway({ status, index }: Attached): boolean {
  return status === ERROR_NUMBERS.UNAUTHENTICATED && index === 0;
}
