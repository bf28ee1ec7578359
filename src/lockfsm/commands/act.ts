/**
 * Compare and act (semantics.md, 8.10): if each key is as the command says, leases are taken, rewritten,
 * extended and ended in one step. Otherwise nothing is done.
 *
 * Like every command on leases, it must never find a lease by anything but its owner.
 */
import {
  ACQUIRE_DEFAULTS,
  type ActCommand,
  type ActStep,
  digestOf,
  END_REASON,
  ITEMS_MAX,
  type Result,
  STATUS,
} from "../../protocol/index.js";
import { isDue } from "../holds/due-time.js";
import { endRow } from "../holds/end.js";
import { grantLease } from "../holds/grant.js";
import { changeValue } from "../holds/hold-value.js";
import { changeLease, rememberGivenBack } from "../holds/lease-holds.js";
import { isBeyondIdentity, isOverfull } from "../holds/quotas.js";
import { Hold } from "../records/hold.js";
import type { LeaseOwner } from "../records/lease.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { INVALID_ARGUMENT, QUOTA } from "../results.js";
import { isAdmitted, kindProblemOf } from "./acquire.js";
import { lengthProblemOf } from "./leases.js";
import { store } from "./session-effects.js";

/** A key that is as its step says; `hold`: the lease that its owner has there. */
interface Compared {
  readonly step: ActStep;
  readonly owner: LeaseOwner;
  readonly hold: Hold | undefined;
}

const NOT_SO: Result = Object.freeze({ status: STATUS.acted, tokens: Object.freeze([]) });

/** The answer is sent before others are granted, as for a release. */
export function act(state: TableState, session: Session, command: ActCommand): void {
  const { sequence } = command;
  const compared = compare(state, session, command);
  if ("status" in compared) {
    store(state, session, sequence, compared);
    return;
  }
  const tokens = compared.map((each) => perform(state, sequence, each));
  store(state, session, sequence, { status: STATUS.acted, tokens });
  for (const each of compared) endOne(state, each);
}

function compare(
  state: TableState,
  session: Session,
  { steps }: ActCommand,
): readonly Compared[] | Result {
  if (!isWellFormed(steps)) return INVALID_ARGUMENT;
  const { identity } = session.credential;
  const compared: Compared[] = [];
  let [takes, more] = [false, 0];
  for (const step of steps) {
    const { before, after, ttlMs } = step;
    const problem = ttlMs === undefined ? undefined : lengthProblemOf(state, ttlMs);
    if (problem !== undefined) return problem;
    const owner = { ownerDigest: digestOf(step.owner), identity, isBearer: false };
    const hold = before === undefined ? undefined : heldAs(state, owner, step);
    if (before === undefined ? !isFree(state, owner, step) : hold === undefined) return NOT_SO;
    compared.push({ step, owner, hold });
    if (after === undefined) continue;
    if (before === undefined) takes = true;
    else more += Math.max(0, after.length - before.length);
  }
  if (!takes && more === 0) return compared;
  const isBeyond = (): boolean => isBeyondIdentity(state, identity, takes ? "claim" : "value");
  return isOverfull(state, session) || isBeyond() ? QUOTA : compared;
}

function isWellFormed(steps: readonly ActStep[]): boolean {
  if (steps.length === 0 || steps.length > ITEMS_MAX) return false;
  if (new Set(steps.map(({ key }) => key)).size < steps.length) return false;
  return steps.every(({ before, after, ttlMs }) =>
    after === undefined ? ttlMs === undefined : before !== undefined || ttlMs !== undefined,
  );
}

/** Nobody holds the key or keeps it closed; and if it is to be taken, nobody waits for it either. */
function isFree(state: TableState, owner: LeaseOwner, { key: name, after }: ActStep): boolean {
  const key = state.keys.get(name);
  if (after === undefined)
    return key === undefined || (typeof key !== "number" && key.holdCount === 0);
  const items = [{ key: name, mode: "exclusive" as const }];
  if (kindProblemOf(state, items) !== undefined || !isAdmitted(state, items)) return false;
  return state.leases.find(name, owner) === undefined;
}

/** The lease of this value that the owner has in the key alone. */
function heldAs(state: TableState, owner: LeaseOwner, { key, before }: ActStep): Hold | undefined {
  const claim = state.leases.find(key, owner);
  if (!(claim instanceof Hold) || isDue(state, claim) || claim.value !== before) return undefined;
  const { firstPlace } = claim;
  return firstPlace?.sibling === undefined && firstPlace?.mode === "exclusive" ? claim : undefined;
}

/** All but the ends. Returns the token of the lease that there is then. */
function perform(state: TableState, sequence: number, { step, owner, hold }: Compared): number {
  const { key, before, after, ttlMs } = step;
  if (after === undefined) return 0;
  const endsAt = ttlMs === undefined || ttlMs === 0 ? 0 : state.stamp + ttlMs;
  if (hold === undefined) {
    const terms = { request: "", name: "", ttlMs: ttlMs ?? 0, endsAt };
    const lease = { ...owner, ...terms, takenBy: 0, takenAs: 0 };
    const options = { ...ACQUIRE_DEFAULTS, value: after };
    return grantLease(state, lease, { sequence, options }, [{ key, mode: "exclusive" }]).token;
  }
  if (ttlMs !== undefined) changeLease(state, hold, { endsAt, ttlMs });
  if (after !== before) changeValue(state, hold, after);
  return hold.token;
}

function endOne(state: TableState, { step, owner, hold }: Compared): void {
  if (hold === undefined || step.after !== undefined) return;
  const request = hold.extras?.lease?.request ?? "";
  endRow(state, hold.row, END_REASON.released);
  if (request === "" || request === step.owner) return;
  rememberGivenBack(state, [step.key], owner, request);
}
