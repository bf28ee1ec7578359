/** Compare and act in the naive model (semantics.md, 8.10). */
import {
  ACQUIRE_DEFAULTS,
  type ActCommand,
  type ActStep,
  END_REASON,
  type Result,
  STATUS,
} from "../../../src/protocol/index.js";
import { kindProblemOf } from "./acquiring.js";
import { heldIn, holdOfOwner, isFree, makeHold, scheduleEnd, waitOfOwner } from "./claims.js";
import { endHold, remember } from "./ending.js";
import { longestLease } from "./leases.js";
import { error, itemsOf, type ModelHold, type ModelSession, type NamedOwner } from "./records.js";
import { answer } from "./replies.js";
import { isIdentityFull, isSessionFull, isTableFull } from "./sizes.js";
import type { Model } from "./state.js";

const itemOf = ({ key }: ActStep) => ({ key, mode: "exclusive" as const });

export function act(model: Model, session: ModelSession, command: ActCommand): void {
  const { sequence, steps } = command;
  const { identity } = session;
  const problem = problemOf(steps);
  if (problem !== undefined) {
    answer(model, session, sequence, problem);
    return;
  }
  const all = steps.map((step) => {
    const owner: NamedOwner = { identity, owner: step.owner, isBearer: false };
    return {
      step,
      owner,
      hold: step.before === undefined ? undefined : heldAs(model, owner, step),
    };
  });
  for (const { step, owner, hold } of all) {
    const tooLong = lengthProblemOf(model, step);
    const isSo = step.before === undefined ? isOpen(model, owner, step) : hold !== undefined;
    if (tooLong === undefined && isSo) continue;
    answer(model, session, sequence, tooLong ?? { status: STATUS.acted, tokens: [] });
    return;
  }
  const takes = steps.some(({ before, after }) => before === undefined && after !== undefined);
  const grows = steps.some(({ before = "", after = "" }) => after.length > before.length);
  const isFull = (): boolean =>
    isSessionFull(model, session) ||
    isTableFull(model) ||
    isIdentityFull(model, identity, takes ? ["claims", "bytes"] : ["bytes"]);
  if ((takes || grows) && isFull()) {
    answer(model, session, sequence, error("QUOTA"));
    return;
  }
  const tokens = all.map(({ step, owner, hold }) => {
    if (step.after === undefined) return 0;
    if (hold === undefined) return taken(model, session, command, step, owner);
    changed(model, hold, step);
    return hold.token;
  });
  answer(model, session, sequence, { status: STATUS.acted, tokens });
  for (const { step, hold } of all) {
    if (hold === undefined || step.after !== undefined) continue;
    const { lease } = hold;
    endHold(model, hold, END_REASON.released);
    if (lease === undefined || lease.request === "" || lease.request === lease.owner) continue;
    remember(model, lease, [step.key], { reason: END_REASON.released, request: lease.request });
  }
}

function lengthProblemOf(model: Model, { ttlMs }: ActStep): Result | undefined {
  const { leaseTtlMsMax: limit, endlessLeases } = model.settings;
  if (ttlMs === undefined) return undefined;
  if (ttlMs > longestLease(model)) return error("INVALID_ARGUMENT", { limit });
  return ttlMs === 0 && endlessLeases !== 1 ? error("INVALID_ARGUMENT") : undefined;
}

function problemOf(steps: readonly ActStep[]): Result | undefined {
  const isSound = steps.every(({ before, after, ttlMs }) => {
    if (after === undefined) return ttlMs === undefined;
    return before !== undefined || ttlMs !== undefined;
  });
  const keys = new Set(steps.map(({ key }) => key));
  if (!isSound || keys.size < steps.length || steps.length === 0) return error("INVALID_ARGUMENT");
  return undefined;
}

/** A key of a step that takes something, or only looks. */
function isOpen(model: Model, owner: NamedOwner, step: ActStep): boolean {
  const { key, after } = step;
  if (after === undefined) return heldIn(model, key).length === 0;
  if (kindProblemOf(model, [itemOf(step)]) !== undefined) return false;
  if (!itemsOf([itemOf(step)]).every((item) => isFree(model, item))) return false;
  return waitOfOwner(model, owner, key) === undefined;
}

function heldAs(model: Model, owner: NamedOwner, { key, before }: ActStep): ModelHold | undefined {
  const hold = holdOfOwner(model, owner, key);
  if (hold === undefined || model.isOver(hold) || hold.value !== before) return undefined;
  const [item, ...more] = hold.items;
  return item?.mode === "exclusive" && more.length === 0 ? hold : undefined;
}

function taken(
  model: Model,
  session: ModelSession,
  { sequence }: ActCommand,
  step: ActStep,
  owner: NamedOwner,
): number {
  const options = { ...ACQUIRE_DEFAULTS, value: step.after ?? "" };
  const take = { ...owner, request: "", name: "", ttlMs: step.ttlMs ?? 0 };
  const items = itemsOf([itemOf(step)]);
  const hold = makeHold(model, { session, sequence, task: 0, items, options, take });
  if (hold.lease !== undefined) hold.lease.takenBy = undefined;
  return hold.token;
}

function changed(model: Model, hold: ModelHold, { after = "", ttlMs }: ActStep): void {
  if (ttlMs !== undefined && hold.lease !== undefined) {
    const endsAt = ttlMs === 0 ? Number.POSITIVE_INFINITY : model.stamp + ttlMs;
    Object.assign(hold.lease, { endsAt, ttlMs });
    scheduleEnd(model, hold);
  }
  hold.value = after;
}
