/** Why the viewer may not end a session; the cluster decides. Pure. */

/** Whose connections have shown nothing: a session of theirs is nobody's own. */
const ANONYMOUS = "anonymous";

/**
 * `whyNotEverywhere`: why the viewer has no right to operate everything; `undefined` if they have.
 * Everyone may end the sessions of their own identity.
 */
export function whyNotEnd(
  viewerName: string | undefined,
  identity: string,
  whyNotEverywhere: string | undefined,
): string | undefined {
  const isOwn = viewerName === identity && identity !== ANONYMOUS;
  return isOwn ? undefined : whyNotEverywhere;
}
