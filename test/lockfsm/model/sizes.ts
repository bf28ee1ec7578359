/**
 * What things take of the table in the naive model: counted again, out of everything, each time.
 */

import type { IdentityLimit } from "../../../src/lockfsm/types.js";
import { ANONYMOUS, LOCAL } from "../../../src/protocol/index.js";
import type { ModelHold, ModelIdentity, ModelItem, ModelRequest, ModelSession } from "./records.js";
import { mayEverywhere } from "./rights.js";
import type { Model } from "./state.js";

const RECORD = 64;

function bytesOfSession(model: Model, session: ModelSession): number {
  const claims = [...model.holds, ...model.requests].filter((claim) => claim.session === session);
  const cooldowns = model.cooldowns.filter((cooldown) => cooldown.session === session);
  const closed = cooldowns.map(({ items }) => bytesOfItems(items));
  return ownBytes(session) + sum(claims.map(bytesOfClaim)) + sum(closed);
}

/** What it has left closed counts as if it held it. */
export function hasAllHolds(model: Model, session: ModelSession): boolean {
  const all = [...model.holds, ...model.cooldowns].filter((claim) => claim.session === session);
  return all.length >= model.settings.holdsPerSessionMax;
}

export function bytesOfAll(model: Model): number {
  const { sessions, holds, requests, cooldowns, semaphores, identities, credentials } = model;
  const named = identities.filter(({ name }) => name !== ANONYMOUS && name !== LOCAL);
  const granted = named.flatMap(({ grants }) => grants.map(({ key }) => key));
  const proofs = credentials.map(({ label }) => label).filter((label) => label !== "");
  return (
    sum(sessions.map(ownBytes)) +
    sum([...holds, ...requests].map(bytesOfClaim)) +
    sum(cooldowns.map(({ items }) => bytesOfItems(items))) +
    sum(semaphores.filter(({ isSet }) => isSet).map(({ key }) => RECORD + key.length)) +
    sum(
      [...named.map(({ name }) => name), ...granted, ...proofs].map((text) => RECORD + text.length),
    )
  );
}

export function isTableFull(model: Model): boolean {
  return bytesOfAll(model) >= model.settings.tableBytesMax;
}

export function isSessionFull(model: Model, session: ModelSession): boolean {
  return bytesOfSession(model, session) >= model.settings.bytesPerSessionMax;
}

/** Everything in the table that was taken by sessions that are, or were at their end, of the identity. */
export function usageOf(model: Model, identity: ModelIdentity) {
  const sessions = model.sessions.filter((session) => session.identity === identity);
  const holds = model.holds.filter(
    ({ session, lease }) => (session?.identity ?? lease?.identity) === identity,
  );
  const cooldowns = model.cooldowns.filter((cooldown) => cooldown.identity === identity);
  const requests = model.requests.filter(({ session }) => session.identity === identity);
  const claims = sum([...holds, ...requests].map(bytesOfClaim));
  const closed = sum(cooldowns.map(({ items }) => bytesOfItems(items)));
  return {
    sessions: sessions.length,
    holds: holds.length + cooldowns.length,
    waits: requests.length,
    bytes: sum(sessions.map(ownBytes)) + claims + closed,
  };
}

/** Whether the first of its limits that the identity has reached refuses the command. */
export function isIdentityFull(
  model: Model,
  identity: ModelIdentity,
  limits: readonly Exclude<IdentityLimit, "waiters">[],
): boolean {
  if (mayEverywhere(identity, "admin")) return false;
  const { sessions, holds, waits, bytes } = usageOf(model, identity);
  const used = { sessions, claims: holds + waits, bytes };
  const { settings } = model;
  const most = {
    sessions: settings.sessionsPerIdentityMax,
    claims: settings.claimsPerIdentityMax,
    bytes: settings.bytesPerIdentityMax,
  };
  const reached = limits.find((limit) => used[limit] >= most[limit]);
  if (reached === undefined) return false;
  model.limited[reached] += 1;
  return settings.identityLimitsEnforced === 1;
}

/** Whether one of the keys has as many waiters of the identity as that may have in one. */
export function isShareFull(
  model: Model,
  identity: ModelIdentity,
  items: readonly { readonly key: string }[],
): boolean {
  if (mayEverywhere(identity, "admin")) return false;
  const own = model.requests.filter(({ session }) => session.identity === identity);
  const isFull = items.some(({ key }) => {
    const waiting = own.filter((request) => request.items.some((item) => item.key === key));
    return waiting.length >= model.settings.waitersPerIdentityMax;
  });
  if (isFull) model.limited.waiters += 1;
  return isFull && model.settings.identityLimitsEnforced === 1;
}

function ownBytes({ name, metadata }: ModelSession): number {
  return RECORD + name.length + metadata.length;
}

function bytesOfClaim(claim: ModelHold | ModelRequest): number {
  const value = "value" in claim ? claim.value : claim.options.value;
  const owner = "value" in claim ? claim.lease : claim.take;
  const ofOwner = owner === undefined ? 0 : RECORD + owner.name.length;
  return bytesOfItems(claim.items) + value.length + ofOwner;
}

function bytesOfItems(items: readonly ModelItem[]): number {
  return sum(items.map(({ key }) => RECORD + key.length));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
