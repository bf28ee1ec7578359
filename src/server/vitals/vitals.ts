/**
 * How this node is, by what it knows itself: the answer to `vitals`. It asks no other node and waits
 * for nothing, so that a node without a leader answers too. Decides nothing, and must never change
 * what it reads.
 */

import type { VitalsPeer, VitalsView } from "../../protocol/index.js";
import { MODEL_VERSION } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import type { Clock } from "../ports.js";
import { VERSION } from "../version.js";
import { EventList, type WatchedState } from "./event-list.js";
import { type PointDistributions, PointRing, type PointTotals } from "./point-ring.js";

/** How often the state is compared with what it was. */
const COMPARE_MS = 1_000;

/** What only the process around the driver knows. */
export interface ProcessFigures {
  /** When the process began, in milliseconds since 1970. */
  readonly startedWallMs: number;
  /** The longest stall of the event loop within the last ten seconds. */
  readonly loopDelayMaxMs: () => number;
  /** When the TLS certificate of the node expires; `null` without TLS. */
  readonly certificateEndsWallMs: () => number | null;
  readonly isDraining: () => boolean;
}

/** What the rest of the answer is made of. */
export type VitalsFacts = Omit<
  VitalsView,
  | "node"
  | "version"
  | "modelVersion"
  | "startedWallMs"
  | "wallMs"
  | "isDraining"
  | "loopDelayMaxMs"
  | "certificateEndsWallMs"
  | "points"
  | "events"
>;

/** Where the figures come from, read again each time. */
export interface VitalsSource {
  /** Grows with each change of term, leader and links: reading it must cost nothing. */
  readonly revision: () => number;
  /** Whether what it applies now is work of this process, and not a replay. */
  readonly isCaughtUp: () => boolean;
  readonly watched: () => WatchedState;
  readonly totals: () => PointTotals;
  /** The distributions of what was measured since the last call, without the event loop. */
  readonly takeTimes: () => Omit<PointDistributions, "loopDelayMaxMs">;
  readonly facts: () => VitalsFacts;
}

export class Vitals {
  readonly #nodeId: NodeId;
  readonly #clock: Clock;
  readonly #source: VitalsSource;
  readonly #process: ProcessFigures;
  readonly #events: EventList;
  /** `undefined` until the node has caught up. */
  #points: PointRing | undefined;
  #revision: number;
  #compareAtMs: number;

  constructor(nodeId: NodeId, clock: Clock, source: VitalsSource, process?: ProcessFigures) {
    const wallMs = clock.wallMs();
    const nowMs = clock.nowMs();
    this.#nodeId = nodeId;
    this.#clock = clock;
    this.#source = source;
    this.#process = process ?? withoutProcess(wallMs);
    this.#revision = source.revision();
    this.#compareAtMs = nowMs + COMPARE_MS;
    this.#events = new EventList(nodeId, source.watched(), `version ${VERSION} started`, wallMs);
  }

  /** At the end of each turn, with the time at which the turn began. */
  onTurn(nowMs: number): void {
    const revision = this.#source.revision();
    if (nowMs < this.#compareAtMs && revision === this.#revision) return;
    this.#revision = revision;
    this.#compareAtMs = nowMs + COMPARE_MS;
    this.#look(nowMs);
  }

  /** `after`: only points and events after this wall time. */
  view(after: number): VitalsView {
    this.#look(this.#clock.nowMs());
    const process = this.#process;
    return {
      node: this.#nodeId,
      version: VERSION,
      modelVersion: MODEL_VERSION,
      startedWallMs: process.startedWallMs,
      wallMs: this.#clock.wallMs(),
      isDraining: process.isDraining(),
      loopDelayMaxMs: rounded(process.loopDelayMaxMs()),
      certificateEndsWallMs: process.certificateEndsWallMs(),
      ...this.#source.facts(),
      points: this.#points?.after(after) ?? [],
      events: this.#events.after(after),
    };
  }

  #firstPoint(nowMs: number): PointRing | undefined {
    const { isCaughtUp, totals, takeTimes } = this.#source;
    if (!isCaughtUp()) return undefined;
    const takeDistributions = (): PointDistributions => {
      return { ...takeTimes(), loopDelayMaxMs: rounded(this.#process.loopDelayMaxMs()) };
    };
    return new PointRing({ totals, takeDistributions }, nowMs);
  }

  #look(nowMs: number): void {
    const wallMs = this.#clock.wallMs();
    this.#points ??= this.#firstPoint(nowMs);
    this.#points?.end(nowMs, wallMs);
    this.#events.compare(this.#source.watched(), wallMs);
  }
}

/** In the order of their ids. */
export function peersInOrder(peers: readonly VitalsPeer[]): VitalsPeer[] {
  return [...peers].sort((a, b) => a.node - b.node);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** In worlds without processes, such as the simulator's. */
function withoutProcess(startedWallMs: number): ProcessFigures {
  return {
    startedWallMs,
    loopDelayMaxMs: () => 0,
    certificateEndsWallMs: () => null,
    isDraining: () => false,
  };
}
