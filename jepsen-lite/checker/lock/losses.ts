/**
 * Holds that ended before their time, as their clients learned, and who can have asked for that.
 * A lease that ran out needs nobody: those losses are judged by the time.
 */
import { type AskedEnd, isAskedEnd } from "../../../lab/laws/endings.js";
import type { Note, Operation } from "../operations.js";
import type { Grant } from "./grant.js";
import { fieldsOf, type LockCall, numberIn } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

export interface Loss {
  readonly note: Note;
  readonly grant: Grant;
  readonly reason: string;
}

/** In the order of the history; only of tokens whose grant is in it. */
export function lossesIn({ paired, grants }: LockHistory): Loss[] {
  return paired.notes.flatMap((note): Loss[] => {
    if (note.event.f !== "lost") return [];
    const value = fieldsOf(note.event.value);
    const grant = grants.get(numberIn(value, "token") ?? -1);
    const { reason } = value;
    return grant === undefined || typeof reason !== "string" ? [] : [{ note, grant, reason }];
  });
}

/** The calls that ask for the end of holds of others. */
export function endersIn({ calls }: LockHistory): readonly LockCall[] {
  return calls.filter(({ f, isSteal }) => isSteal || f === "revoke" || f === "end-session");
}

/**
 * The operations before the loss that ask for such an end of this hold, whatever became of them.
 * `enders`: all calls of the history that can be meant.
 */
export function endsAskedFor(
  { note, grant, reason }: Loss,
  enders: readonly LockCall[],
): Operation[] {
  if (!isAskedEnd(reason)) return [];
  return enders
    .filter((call) => call.operation.invokedAt < note.at && asksForEnd(call, grant, reason))
    .map(({ operation }) => operation);
}

function asksForEnd(call: LockCall, grant: Grant, reason: AskedEnd): boolean {
  const keys = grant.items.map(({ key }) => key);
  if (reason === "stolen") return call.isSteal && call.items.some(({ key }) => keys.includes(key));
  // An end of a session without the number of one may be the end of any.
  if (call.f === "end-session") return call.target === undefined || call.target === grant.session;
  if (call.f !== "revoke") return false;
  return call.token === undefined
    ? keys.includes(call.operation.key ?? "")
    : tokensOf(grant).includes(call.token);
}

/** All tokens that the hold has had. */
function tokensOf(grant: Grant): number[] {
  const tokens: number[] = [];
  for (let at: Grant | undefined = grant; at !== undefined; at = at.replaces) tokens.push(at.token);
  return tokens;
}

/** The grant with which the hold began, before all upgrades and adopts. */
export function firstGrantOf(grant: Grant): Grant {
  let first = grant;
  while (first.replaces !== undefined) first = first.replaces;
  return first;
}
