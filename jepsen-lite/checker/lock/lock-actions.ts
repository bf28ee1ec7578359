/**
 * The effect of each call of a lock history on the table, given its answer. Calls whose effect
 * cannot be seen from outside, such as an acquire without an answer, are left out: they could only
 * forbid what happened, never explain it.
 */
import { quote } from "../event-text.js";
import type { Action, Refusal } from "../linearizable/problem.js";
import type { LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";
import {
  findHold,
  grant,
  itemText,
  type LockState,
  notHeld,
  notLarger,
  refusal,
  replaceHold,
  upgrade,
  withoutHold,
} from "./lock-state.js";

type LockAction = Action<LockState>;

/** A change that happens, or the reason why it cannot. */
type Change = (state: LockState) => LockState | Refusal;

function changing(change: Change): Pick<LockAction, "apply" | "refusal"> {
  return {
    apply: (state) => {
      const next = change(state);
      return "kind" in next ? undefined : next;
    },
    refusal: (state) => {
      const next = change(state);
      return "kind" in next ? next : undefined;
    },
  };
}

/** The hold with that token ends without a request of its client. */
export function endAction(token: number): LockAction {
  return {
    id: `end ${token}`,
    isPure: false,
    apply: (state) =>
      findHold(state, token) === undefined ? undefined : withoutHold(state, token),
    text: `the hold of token ${token} ends by itself`,
  };
}

/** `undefined` for a call that says nothing about the table. */
export function actionOf(call: LockCall, history: LockHistory): LockAction | undefined {
  if (call.operation.outcome === "fail") return undefined;
  if (call.operation.outcome === "info") return actionOfUnknown(call);
  switch (call.f) {
    case "acquire":
      return acquireAction(call);
    case "release":
      return call.answer ? releaseAction(call) : goneAction(call, "release, had ended");
    case "upgrade":
      return toChange(call, `→ token ${call.granted}`, (state) => upgrade(state, call));
    case "downgrade":
      return toChange(call, "", (state) => downgraded(state, call));
    case "adopt":
      return toChange(call, `→ token ${call.granted}`, (state) => adopted(state, call));
    case "update":
    case "hand-over":
      return presentAction(call, call.f);
    case "verify":
      return call.answer
        ? presentAction(call, "verify, current")
        : goneAction(call, "verify, stale");
    case "close":
      return closeAction(call);
    case "inspect":
      return inspectAction(call, history);
    case "revoke":
    case "end-session":
      return call.isAtOnce ? endedAction(call, history) : undefined;
  }
}

function actionOfUnknown(call: LockCall): LockAction | undefined {
  if (call.f === "downgrade") return toChange(call, "", (state) => downgraded(state, call));
  // Releases and ends of sessions without an answer are ends that may happen from then on.
  return undefined;
}

function acquireAction(call: LockCall): LockAction {
  const items = call.items.map((item) => itemText(item, call.slots)).join(" and ");
  const how = call.isSteal ? "steal" : "acquire";
  return {
    id: `line ${call.operation.invocation.line}`,
    isPure: false,
    ...changing((state) => grant(state, call)),
    text: `${how} ${items} → token ${call.granted}`,
  };
}

function toChange(call: LockCall, result: string, change: Change): LockAction {
  const text = `${call.f} token ${call.token} ${result}`.trimEnd();
  // One line may change several holds.
  const id = `line ${call.operation.invocation.line} ${call.token}`;
  return { id, isPure: false, ...changing(change), text };
}

function releaseAction(call: LockCall): LockAction {
  const token = call.token as number;
  return {
    id: `release ${token}`,
    isPure: false,
    ...changing((state) => {
      const hold = findHold(state, token);
      if (hold === undefined) return refusal("released twice", `token ${token} had already ended`);
      if (hold.count === 1) return withoutHold(state, token);
      return replaceHold(state, hold, { ...hold, count: hold.count - 1 });
    }),
    text: `release token ${token}`,
  };
}

function goneAction(call: LockCall, text: string): LockAction {
  const token = call.token as number;
  return {
    id: `gone ${token}`,
    isPure: true,
    ...changing((state) => {
      if (findHold(state, token) === undefined) return state;
      return refusal("lease ended early", `nothing can have ended token ${token} before`);
    }),
    text: `${text}, token ${token}`,
  };
}

function presentAction(call: LockCall, text: string): LockAction {
  const token = call.token as number;
  return {
    id: `present ${token}`,
    isPure: true,
    ...changing((state) => (findHold(state, token) === undefined ? notHeld(token) : state)),
    text: `${text}, token ${token}`,
  };
}

function downgraded(state: LockState, call: LockCall): LockState | Refusal {
  const hold = findHold(state, call.token as number);
  if (hold === undefined) return notHeld(call.token as number);
  const key = call.operation.key;
  const items = hold.items.map((item) => {
    const isMeant = item.mode === "exclusive" && (key === undefined || key === item.key);
    return isMeant ? { ...item, mode: "shared" as const } : item;
  });
  return replaceHold(state, hold, { ...hold, items });
}

function adopted(state: LockState, call: LockCall): LockState | Refusal {
  const hold = findHold(state, call.token as number);
  const token = call.granted as number;
  if (hold === undefined) return notHeld(call.token as number);
  if (token <= state.newestToken) return notLarger(state);
  const { session, task } = call;
  return replaceHold(state, hold, { ...hold, token, session, task, count: 1 });
}

/** What it concerns and had been granted before it was asked for has ended when it is answered. */
function endedAction(call: LockCall, history: LockHistory): LockAction {
  const { key, invocation, invokedAt } = call.operation;
  const concerned = [...history.grants.values()].filter((grant) => {
    if (grant.call.operation.returnedAt >= invokedAt) return false;
    if (call.f === "end-session") return grant.session === call.target;
    if (call.token !== undefined) return grant.token === call.token;
    return grant.items.some((item) => item.key === key);
  });
  const tokens = new Set(concerned.map(({ token }) => token));
  const held = ({ holds }: LockState) => holds.find(({ token }) => tokens.has(token));
  return {
    id: `line ${invocation.line}`,
    isPure: true,
    ...changing((state) => {
      const left = held(state);
      if (left === undefined) return state;
      return refusal("unexplained answer", `token ${left.token} was still held`);
    }),
    text: `${call.f} at once`,
  };
}

function closeAction(call: LockCall): LockAction {
  return {
    id: `line ${call.operation.invocation.line}`,
    isPure: false,
    apply: (state) => {
      const holds = state.holds.filter((hold) => hold.session !== call.session);
      return { ...state, holds };
    },
    text: `close session ${call.session}`,
  };
}

/**
 * A linearizable read of a key's holds. Tokens that no client received are accepted if a request
 * without an answer can have got them; if a token may have been exchanged unseen, the read says
 * nothing.
 */
function inspectAction(call: LockCall, history: LockHistory): LockAction | undefined {
  const key = call.operation.key ?? "";
  const { returnedAt } = call.operation;
  if (history.unknownExchangeAt < returnedAt) return undefined;
  const canHaveUnknown = (history.unknownAcquireAt.get(key) ?? returnedAt) < returnedAt;
  const isKnown = (token: number) => history.grants.has(token);
  const isImpossible = !canHaveUnknown && !call.holds.every(isKnown);
  const expected = call.holds.filter(isKnown).sort((a, b) => a - b);
  const text = `inspect ${JSON.stringify(key)} → ${describeTokens(call.holds)}`;
  return {
    id: `line ${call.operation.invocation.line}`,
    isPure: true,
    ...changing((state) => {
      if (isImpossible) {
        return refusal("unexplained answer", "it shows a token that was never granted");
      }
      const held = state.holds.filter((hold) => hold.items.some((item) => item.key === key));
      const isEqual =
        held.length === expected.length &&
        held.every((hold, position) => hold.token === expected[position]);
      if (isEqual) return state;
      const holders = describeTokens(held.map(({ token }) => token));
      return refusal("unexplained answer", `${quote(key)} had ${holders}`);
    }),
    text,
  };
}

function describeTokens(tokens: readonly number[]): string {
  return tokens.length === 0 ? "no holds" : `tokens ${tokens.join(", ")}`;
}
