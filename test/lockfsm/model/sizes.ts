/** What things take of the table in the naive model: counted anew, out of everything, each time. */
import { ANONYMOUS, LOCAL } from "../../../src/protocol/index.js";
import type { ModelHold, ModelItem, ModelRequest, ModelSession } from "./records.js";
import type { Model } from "./state.js";

const RECORD = 64;

function bytesOfSession(model: Model, session: ModelSession): number {
  const claims = [...model.holds, ...model.requests].filter((claim) => claim.session === session);
  const closings = model.closings.filter((closing) => closing.session === session);
  const closed = closings.map(({ items }) => bytesOfItems(items));
  return ownBytes(session) + sum(claims.map(bytesOfClaim)) + sum(closed);
}

/** What it has left closed counts as if it held it. */
export function hasAllHolds(model: Model, session: ModelSession): boolean {
  const all = [...model.holds, ...model.closings].filter((claim) => claim.session === session);
  return all.length >= model.settings.holdsPerSessionMax;
}

export function bytesOfAll(model: Model): number {
  const { sessions, holds, requests, closings, semaphores, identities, credentials } = model;
  const named = identities.filter(({ name }) => name !== ANONYMOUS && name !== LOCAL);
  const granted = named.flatMap(({ grants }) => grants.map(({ key }) => key));
  const proofs = credentials.map(({ label }) => label).filter((label) => label !== "");
  return (
    sum(sessions.map(ownBytes)) +
    sum([...holds, ...requests].map(bytesOfClaim)) +
    sum(closings.map(({ items }) => bytesOfItems(items))) +
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

function ownBytes({ name, metadata }: ModelSession): number {
  return RECORD + name.length + metadata.length;
}

function bytesOfClaim(claim: ModelHold | ModelRequest): number {
  const value = "value" in claim ? claim.value : claim.options.value;
  return bytesOfItems(claim.items) + value.length;
}

function bytesOfItems(items: readonly ModelItem[]): number {
  return sum(items.map(({ key }) => RECORD + key.length));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
