/**
 * Actions of operators and refusals that wait to be written to the audit, in the order in which
 * they happened. Actions in the log are noted again when a start replays it, and are left out up to
 * where the audit was written. The memory for them is limited: what does not fit is counted, and
 * the next record gives the count.
 */
import type { AuditAction, AuditActions } from "../commands/audit-actions.js";
import type { Clock } from "../ports.js";

export interface NotedAction {
  /** The entry with which it was noted. */
  readonly index: number;
  readonly wallMs: number;
  readonly action: AuditAction;
}

/** Actions that wait; some megabytes. */
const APPLIED_MAX = 16_384;
const HERE_MAX = 1_024;

export class ActionLog implements AuditActions {
  readonly #clock: Pick<Clock, "wallMs">;
  #index: number;
  /** Entries up to here were written. */
  #writtenThrough: number;
  #applied: NotedAction[] = [];
  #here: NotedAction[] = [];
  #leftOut = 0;
  /** How many of them the last `upTo` reported. */
  #toldLeftOut = 0;

  /**
   * @param index the last entry whose effects the table has
   * @param writtenThrough the last entry of which everything was written
   */
  constructor(clock: Pick<Clock, "wallMs">, index: number, writtenThrough: number) {
    this.#clock = clock;
    this.#index = index;
    this.#writtenThrough = writtenThrough;
  }

  /** The actions noted from now on come from that entry. */
  begin(index: number): void {
    this.#index = index;
  }

  onApplied(action: AuditAction, wallMs: number): void {
    const index = this.#index;
    if (index <= this.#writtenThrough) return;
    this.#keep(this.#applied, APPLIED_MAX, { index, wallMs, action });
  }

  onHere(action: AuditAction): void {
    const wallMs = this.#clock.wallMs();
    this.#keep(this.#here, HERE_MAX, { index: this.#index, wallMs, action });
  }

  /** Whether something can be written when everything up to `through` is. */
  isDue(through: number): boolean {
    if (this.#here.length > 0) return true;
    const [first] = this.#applied;
    return first !== undefined && first.index <= through;
  }

  /** What is to be written with everything up to that entry. */
  upTo(through: number): readonly NotedAction[] {
    const due = this.#applied.filter(({ index }) => index <= through);
    const all = [...due, ...this.#here];
    const [first] = all;
    this.#toldLeftOut = first === undefined ? 0 : this.#leftOut;
    if (first === undefined || this.#leftOut === 0) return all;
    const { index, wallMs } = first;
    const action: AuditAction = {
      ...{ kind: "gap", identity: "", credential: "", address: "", key: "", outcome: "lost" },
      ...{ what: "actionsLeftOut", details: { count: this.#leftOut } },
    };
    return [...all, { index, wallMs, action }];
  }

  /** These, which `upTo` returned for that entry, are written. */
  forget(written: readonly NotedAction[], through: number): void {
    if (through > this.#writtenThrough) this.#writtenThrough = through;
    if (written.length === 0) return;
    const gone = new Set(written);
    this.#applied = this.#applied.filter((noted) => !gone.has(noted));
    this.#here = this.#here.filter((noted) => !gone.has(noted));
    // More may have been left out while these were written.
    this.#leftOut -= this.#toldLeftOut;
    this.#toldLeftOut = 0;
  }

  #keep(list: NotedAction[], max: number, noted: NotedAction): void {
    if (list.length < max) list.push(noted);
    else this.#leftOut += 1;
  }
}
