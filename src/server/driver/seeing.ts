/**
 * What clients see of the table besides the answers to their commands: watches, reads, the history and
 * its audit. One place, so that the loop has one thing to do for all of it, behind what it applied:
 * first what happened is told, then how things are.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { NodeTuning } from "../options.js";
import { Answering, type AnsweringRooms } from "../reads/answering.js";
import { Audit } from "../reads/audit.js";
import { History } from "../reads/history.js";
import type { Reads } from "../reads/reads.js";
import { TransitionLog } from "../reads/transition-log.js";
import { Watches } from "../reads/watches.js";
import type { DriverPorts, SeeingStatus } from "./driver-ports.js";

/** What one turn spends on answering reads; the others wait for the next one. */
const READ_COST_PER_TURN_MAX = 1_024;

export interface SeeingRooms {
  readonly table: LockTable;
  readonly reads: Reads;
  readonly audit: DriverPorts["audit"];
  readonly clock: DriverPorts["clock"];
  readonly logger: DriverPorts["logger"];
  /** A turn should follow. */
  readonly wake: () => void;
  readonly save: AnsweringRooms["save"];
}

export class Seeing {
  readonly transitions: TransitionLog;
  readonly watches: Watches;
  readonly #rooms: SeeingRooms;
  readonly #answering: Answering;
  readonly #audit: Audit | undefined;

  /** `index`: the table holds the effects of everything up to there. */
  constructor(rooms: SeeingRooms, tuning: NodeTuning, index: number) {
    const { table, audit, wake, logger, save } = rooms;
    this.#rooms = rooms;
    const transitions = new TransitionLog(tuning, index);
    table.listen((change) => transitions.add(change));
    this.transitions = transitions;
    this.watches = new Watches(transitions, tuning, index);
    this.#audit =
      audit === undefined
        ? undefined
        : new Audit({ store: audit.store, transitions, wake, logger }, audit);
    const history = new History({ table, transitions, audit: this.#audit });
    this.#answering = new Answering({ table, transitions, history, save });
  }

  get status(): SeeingStatus {
    const { watches, transitions } = this;
    return {
      watches: watches.count,
      watchesCompactedTotal: watches.compactedTotal,
      changes: transitions.count,
      changeBytes: transitions.bytes,
      changesAfter: transitions.floor.index,
      changesByType: transitions.totals,
      endsByReason: transitions.endsByReason,
      audit: this.#audit?.status,
    };
  }

  /** Whether there is something to do that nothing else will announce. */
  get hasWork(): boolean {
    return this.#rooms.reads.hasReady || this.watches.hasWork || this.#audit?.hasWork === true;
  }

  get nextDeadlineMs(): number {
    const auditMs = this.#audit?.nextDeadlineMs ?? Number.POSITIVE_INFINITY;
    return Math.min(this.#rooms.reads.nextDeadlineMs, this.watches.nextDeadlineMs, auditMs);
  }

  /** Once a turn. `index`: the last applied entry. */
  work(index: number, isTakingSnapshot: boolean, nowMs: number): void {
    const { reads, clock } = this.#rooms;
    this.watches.serve(index, nowMs);
    reads.expire(nowMs);
    reads.onApplied(index);
    reads.answer(this.#answering, READ_COST_PER_TURN_MAX);
    this.#audit?.work(index, isTakingSnapshot, nowMs, clock.wallMs());
  }

  /** Resolves when nothing of it is under way in the store. */
  async stop(): Promise<void> {
    await this.#audit?.stop();
  }
}
