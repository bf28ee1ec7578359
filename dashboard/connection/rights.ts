/**
 * What the viewer may do, computed from their own grants, so that what they may not do is off with
 * a reason. It decides nothing: the cluster checks each request itself. Pure.
 */
import type { GrantLevel, WhoAmIView } from "../../src/index.js";

const RANKS: Readonly<Record<GrantLevel, number>> = {
  observe: 1,
  acquire: 2,
  operate: 3,
  admin: 4,
};

/** A key, or everything. */
export type Target = { readonly key: string } | "everything";

function covers(grant: WhoAmIView["grants"][number], target: Target): boolean {
  if (grant.isPrefix && grant.key === "") return true;
  if (target === "everything") return false;
  return grant.isPrefix ? target.key.startsWith(grant.key) : target.key === grant.key;
}

/** Why the viewer may not; `undefined` if they may. */
export function whyNot(
  viewer: WhoAmIView | undefined,
  level: GrantLevel,
  target: Target,
): string | undefined {
  if (viewer === undefined) return "it is not known yet what you may do";
  const wanted = RANKS[level];
  const isGranted = viewer.grants.some(
    (grant) => (RANKS[grant.level as GrantLevel] ?? 0) >= wanted && covers(grant, target),
  );
  if (isGranted) return undefined;
  const what = target === "everything" ? "on all keys" : "on this key";
  return `${viewer.name} has no permission to ${level} ${what}`;
}
