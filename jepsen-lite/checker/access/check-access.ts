/**
 * Access: no command takes effect, and no read shows a key, that the grants did not allow at any
 * moment between its request and its answer; and none is refused as forbidden that they allowed the
 * whole time. Only lines with `as` are judged. Grants are those that the history itself records.
 */
import type { AnomalyKind } from "../anomalies.js";
import { nameOf, quote } from "../event-text.js";
import { type Finding, FindingBuilder, ofKeys } from "../lock/finding.js";
import type { Operation, PairedHistory } from "../operations.js";
import { keysShown, levelOf, needOf } from "./access-functions.js";
import type { Rights } from "./rights.js";

const REFUSED = "FORBIDDEN";
const OBSERVE = levelOf("observe");
const CHANGES_TOLD_MAX = 3;

export function checkAccess(history: PairedHistory, rights: Rights): Finding {
  return new AccessCheck(rights).run(history.operations);
}

class AccessCheck {
  readonly #rights: Rights;
  readonly #builder = new FindingBuilder("access");
  #forbidden = 0;

  constructor(rights: Rights) {
    this.#rights = rights;
  }

  run(operations: readonly Operation[]): Finding {
    for (const operation of operations) {
      const { as } = operation.invocation;
      if (as === undefined) continue;
      this.#judgeEffect(operation, as);
      this.#judgeKeys(operation, as);
    }
    const { changes } = this.#rights;
    if (changes.length === 0) return this.#builder.finding();
    const unknown = changes.filter(({ operation }) => operation.outcome !== "ok").length;
    return this.#builder.finding({
      forbiddenAttempts: this.#forbidden,
      accessChanges: changes.length,
      unknownAccessChanges: unknown,
    });
  }

  #judgeEffect(operation: Operation, as: string): void {
    const need = needOf(operation);
    if (need === undefined) return;
    const { outcome, completion, f } = operation;
    const { least, most } = this.#rights.levelsOf(as, need, operation);
    const isForbidden = most < need.level;
    const isAllowed = least >= need.level;
    const what = `${f}${ofKeys(need.keys.filter((key) => key !== ""))}`;
    if (isForbidden) this.#forbidden += 1;
    if (outcome === "ok") {
      this.#builder.compared += 1;
      const text = `was told that its ${what} succeeded, which no grant allowed at that time`;
      if (isForbidden) this.#report("forbidden command took effect", text, operation, need.keys);
    } else if (outcome === "fail" && completion?.error === REFUSED) {
      this.#builder.compared += 1;
      const text = `was refused its ${what} as forbidden, which grants allowed all the time`;
      if (isAllowed) this.#report("allowed command refused", text, operation, need.keys);
    }
  }

  #judgeKeys(operation: Operation, as: string): void {
    for (const key of keysShown(operation)) {
      this.#builder.compared += 1;
      const { most } = this.#rights.levelsOf(as, { level: OBSERVE, keys: [key] }, operation);
      if (most >= OBSERVE) continue;
      const text = `was shown ${quote(key)}, which no grant let it observe at that time`;
      this.#report("forbidden key shown", text, operation, [key]);
    }
  }

  /** With the last changes of access before the answer that concern it. */
  #report(kind: AnomalyKind, text: string, operation: Operation, keys: readonly string[]): void {
    const { invocation, completion } = operation;
    const changes = this.#rights.changesFor(operation, keys).slice(-CHANGES_TOLD_MAX);
    const events = changes.flatMap((change) => [change.invocation, change.completion]);
    this.#builder.violation(kind, `${nameOf(invocation)}, as ${invocation.as}, ${text}`, {
      keys: keys.filter((key) => key !== ""),
      events: [...events, invocation, completion],
      fromNs: invocation.timeNs,
      toNs: completion?.timeNs,
    });
  }
}
