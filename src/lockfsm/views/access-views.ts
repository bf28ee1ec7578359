/**
 * What `access`, `checkAccess` and `whoAmI` show, and as whom others are shown things. Reads only. No
 * digest of a token is shown to anybody.
 */
import {
  ACCESS_LEVEL,
  type AccessLevel,
  type AccessView,
  type CheckAccessView,
  type GrantView,
  type IdentityView,
  QUERY_PAGE_MAX,
  type WhoAmIView,
} from "../../protocol/index.js";
import type { Grant, Identity } from "../records/identity.js";
import type { TableState } from "../records/state.js";
import type { CredentialCounts } from "../types.js";

const LEVEL_NAMES = Object.keys(ACCESS_LEVEL) as readonly AccessLevel[];

/** Identities in the order of their names, after `after`; `limit` is brought into its bounds. */
export function listIdentities(
  { access }: TableState,
  after: string | undefined,
  limit: number,
): AccessView {
  const page = Math.min(Math.max(1, limit), QUERY_PAGE_MAX);
  const found: Identity[] = [];
  for (const identity of access.identities()) {
    if (after === undefined || identity.name > after) found.push(identity);
  }
  found.sort((left, right) => (left.name < right.name ? -1 : 1));
  const identities = found.slice(0, page).map(identityViewOf);
  return { identities, next: found.length > page ? (identities.at(-1)?.name ?? null) : null };
}

/** Whether the identity of that name may do that; one that is unknown may do nothing. */
export function checkAccess(
  { access }: TableState,
  name: string,
  level: AccessLevel,
  key: string,
  isPrefix: boolean,
): CheckAccessView {
  const identity = access.find(name);
  if (identity === undefined) return { isKnown: false, isAllowed: false, grant: null };
  let best: Grant | undefined;
  for (const grant of identity.grants) {
    if (covers(grant, key, isPrefix) && grant.level > (best?.level ?? 0)) best = grant;
  }
  const isAllowed = (best?.level ?? ACCESS_LEVEL.none) >= ACCESS_LEVEL[level];
  return { isKnown: true, isAllowed, grant: best === undefined ? null : grantViewOf(best) };
}

export function countExpiring(
  { access }: TableState,
  wallMs: number,
  soonMs: number,
): CredentialCounts {
  let [soon, expired] = [0, 0];
  for (const { credentials } of access.identities()) {
    for (const { expiresWallMs } of credentials) {
      if (expiresWallMs === 0 || expiresWallMs > wallMs + soonMs) continue;
      if (expiresWallMs <= wallMs) expired += 1;
      else soon += 1;
    }
  }
  return { soon, expired };
}

export function levelsOf({ everywhere, highest }: Identity): {
  readonly everywhere: AccessLevel;
  readonly highest: AccessLevel;
} {
  const nameOf = (level: number) => LEVEL_NAMES[level] as AccessLevel;
  return { everywhere: nameOf(everywhere), highest: nameOf(highest) };
}

export function whoAmI({ name, grants }: Identity): WhoAmIView {
  return { name, grants: grants.map(grantViewOf) };
}

function covers(grant: Grant, key: string, isPrefix: boolean): boolean {
  return grant.isPrefix ? key.startsWith(grant.key) : !isPrefix && grant.key === key;
}

function identityViewOf(identity: Identity): IdentityView {
  const { name, grants, credentials } = identity;
  const { sessionCount, holdCount, waitCount, bytes } = identity;
  return {
    name,
    usage: { sessions: sessionCount, holds: holdCount, waits: waitCount, bytes },
    grants: grants.map(grantViewOf),
    credentials: credentials.map(({ label, kind, expiresWallMs, createdWallMs }) => {
      return { label, kind, expiresWallMs, createdWallMs };
    }),
  };
}

function grantViewOf({ key, isPrefix, level }: Grant): GrantView {
  return { key, isPrefix, level: LEVEL_NAMES[level] as AccessLevel };
}
