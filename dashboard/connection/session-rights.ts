/** Why the viewer may not end a session; the cluster decides. Pure. */
import { isAnonymous } from "../../src/views/index.js";

/**
 * `whyNotEverywhere`: why the viewer has no right to operate everything; `undefined` if they have.
 * Everyone may end the sessions of their own identity.
 */
export function whyNotEnd(
  viewerName: string | undefined,
  identity: string,
  whyNotEverywhere: string | undefined,
): string | undefined {
  // Connections that have shown nothing are anonymous: a session of theirs is nobody's own.
  const isOwn = viewerName === identity && !isAnonymous({ identity });
  return isOwn ? undefined : whyNotEverywhere;
}
