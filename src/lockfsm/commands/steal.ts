/**
 * Steal: ends all holds that have any of the keys, whole, and the cooldowns of the keys,
 * and grants the keys to the thief before all waiters.
 */
import { type AcquireCommand, END_REASON, type Result } from "../../protocol/index.js";
import { openKey } from "../holds/cooldowns.js";
import { takeAway } from "../holds/end.js";
import { grantAtOnce } from "../holds/grant.js";
import { findKey, lookAtKey } from "../holds/keys.js";
import { mayTake } from "../holds/rights.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold } from "../records/hold.js";
import type { Claimant, Key } from "../records/key.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { FORBIDDEN, QUOTA } from "../results.js";
import { giverOf } from "./orders.js";

export interface Stolen {
  readonly result: Result;
  /** The keys in which waiters may now be granted. */
  readonly keys: ReadonlySet<Key>;
}

/**
 * Returns its refusal, and changes nothing, if it would end more holds and cooldowns than one step
 * may end, or a hold that its identity may not end.
 */
export function steal(
  state: TableState,
  session: Session,
  command: AcquireCommand,
): Stolen | Result {
  const keys = new Set<Key>();
  const claims = new Set<Claimant>();
  for (const { key: name } of command.items) {
    const key = findKey(state, name);
    if (key === undefined) continue;
    keys.add(key);
    for (let place = key.firstHold; place !== undefined; place = place.next) {
      claims.add(place.claimant);
      if (claims.size > state.settings.holdsPerStepMax) return QUOTA;
    }
  }
  const { identity } = session.credential;
  for (const claim of claims) {
    if (claim instanceof Hold && !mayTake(identity, claim, "operate")) return FORBIDDEN;
  }
  let taken = 0;
  for (const hold of claims) {
    if (!(hold instanceof Hold)) continue;
    taken += 1;
    for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
      keys.add(place.key);
    }
    takeAway(state, hold, END_REASON.stolen, identity.name);
  }
  for (const { key } of command.items) openAll(state, key);
  if (taken > 0) {
    const by = giverOf(session.credential, session.id);
    state.accessListener?.onSteal(by, command, taken, state.wallMs);
  }
  return { result: grantAtOnce(state, session, command), keys };
}

/** Ends the cooldowns of a key, which has no holds any more. */
function openAll(state: TableState, name: string): void {
  for (;;) {
    const cooldown = lookAtKey(state, name)?.firstHold?.claimant;
    if (!(cooldown instanceof Cooldown)) return;
    openKey(state, cooldown, name);
  }
}
