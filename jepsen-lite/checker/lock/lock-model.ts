/**
 * The lock model: divides a lock history into parts, one for each key or group of keys that a
 * request acquired together, and adds to each the possible ends of its holds.
 */
import { ACCESS_FUNCTIONS } from "../access/access-functions.js";
import type { Part, Step } from "../linearizable/problem.js";
import { anyState, type Model } from "../models/model.js";
import type { Operation } from "../operations.js";
import type { TokensRise } from "./check-tokens.js";
import type { Grant } from "./grant.js";
import { actionOf, endAction } from "./lock-actions.js";
import { LOCK_FUNCTIONS, type LockCall } from "./lock-calls.js";
import { type LockHistory, readLockHistory } from "./lock-history.js";
import {
  describeTable,
  EMPTY_TABLE,
  encodeTable,
  type LockState,
  UNORDERED_TABLE,
} from "./lock-state.js";

export const lockModel: Model = {
  name: "lock",
  functions: [...LOCK_FUNCTIONS, ...ACCESS_FUNCTIONS],
  parts: (history) => lockParts(readLockHistory(history), "over-all-keys"),
};

export function lockParts(history: LockHistory, tokensRise: TokensRise): Part<unknown>[] {
  const initial = tokensRise === "not-at-all" ? UNORDERED_TABLE : EMPTY_TABLE;
  const groups = new KeyGroups();
  for (const call of history.calls) {
    // A request without an answer joins no keys: it explains nothing.
    if (call.granted !== undefined) groups.join(call.items.map((item) => item.key));
    else if (call.operation.key !== undefined) groups.join([call.operation.key]);
  }
  const parts = new Map<string, Step<LockState>[]>();
  const stepsOf = (group: string) => {
    const steps = parts.get(group) ?? [];
    parts.set(group, steps);
    return steps;
  };
  const sessionGroups = groupsOfSessions(history, groups);
  const operations = new Map<string, Operation[]>();
  for (const call of history.calls) {
    const action = actionOf(call, history);
    const { operation } = call;
    const { invokedAt, returnedAt } = operation;
    for (const group of groupsOf(call, history, groups, sessionGroups)) {
      const concerned = operations.get(group) ?? [];
      operations.set(group, concerned);
      concerned.push(operation);
      if (action !== undefined) stepsOf(group).push({ action, operation, invokedAt, returnedAt });
    }
  }
  for (const [token, invokedAt] of history.mayEndAt) {
    const group = groupOfGrant(history.grants.get(token), groups);
    if (group === undefined) continue;
    const returnedAt = Number.POSITIVE_INFINITY;
    stepsOf(group).push({ action: endAction(token), operation: undefined, invokedAt, returnedAt });
  }
  return [...parts].map(([group, steps]) =>
    anyState<LockState>({
      keys: groups.members(group),
      initial,
      isBounded: false,
      encode: encodeTable,
      describe: describeTable,
      steps: steps.sort((a, b) => a.invokedAt - b.invokedAt),
      operations: operations.get(group) ?? [],
    }),
  );
}

/** The parts that a call concerns, each once; none for a token that was never granted. */
function groupsOf(
  call: LockCall,
  history: LockHistory,
  groups: KeyGroups,
  sessionGroups: ReadonlyMap<string, ReadonlySet<string>>,
): Iterable<string> {
  if (call.f === "close") return sessionGroups.get(call.session) ?? [];
  if (call.f === "end-session") return sessionGroups.get(call.target ?? "") ?? [];
  if (call.items.length > 0) return new Set(call.items.map(({ key }) => groups.of(key)));
  const isByKey = call.f === "inspect" || (call.f === "revoke" && call.token === undefined);
  if (isByKey) return [groups.of(call.operation.key ?? "")];
  const group = groupOfGrant(history.grants.get(call.token ?? -1), groups);
  return group === undefined ? [] : [group];
}

function groupOfGrant(grant: Grant | undefined, groups: KeyGroups): string | undefined {
  const key = grant?.items[0]?.key;
  return key === undefined ? undefined : groups.of(key);
}

function groupsOfSessions(history: LockHistory, groups: KeyGroups): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const grant of history.grants.values()) {
    const group = groupOfGrant(grant, groups);
    if (group === undefined) continue;
    const known = found.get(grant.session) ?? new Set<string>();
    found.set(grant.session, known.add(group));
  }
  return found;
}

/** Keys that were ever granted together (union-find with halving). */
class KeyGroups {
  readonly #parents = new Map<string, string>();
  #members: Map<string, string[]> | undefined;

  join(keys: readonly string[]): void {
    const [first, ...others] = keys;
    if (first === undefined) return;
    const root = this.of(first);
    for (const key of others) this.#parents.set(this.of(key), this.of(root));
  }

  of(key: string): string {
    let at = key;
    for (;;) {
      const parent = this.#parents.get(at);
      if (parent === undefined) {
        this.#parents.set(at, at);
        return at;
      }
      if (parent === at) return at;
      const grandparent = this.#parents.get(parent) ?? parent;
      this.#parents.set(at, grandparent);
      at = grandparent;
    }
  }

  /** Called only after the last `join`. */
  members(group: string): readonly string[] {
    if (this.#members === undefined) {
      this.#members = new Map();
      for (const key of this.#parents.keys()) {
        const root = this.of(key);
        const list = this.#members.get(root) ?? [];
        this.#members.set(root, list);
        list.push(key);
      }
    }
    return this.#members.get(group) ?? [group];
  }
}
