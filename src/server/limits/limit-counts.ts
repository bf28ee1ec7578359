/**
 * How often each limit was exceeded, and the lines about it in the log: at most one in ten seconds
 * for each limit, however many clients there are. Refuses nothing itself.
 */
import type { LimitedBy } from "../../net/index.js";
import type { ClientLimits } from "../options.js";
import type { Clock, NodeLogger } from "../ports.js";

const LINE_EVERY_MS = 10_000;

/** `loopShare` is not an option: the meter of the node's input keeps it. */
export type LimitName = keyof ClientLimits | "loopShare";

/** As labels of the metric, and as the options call them. */
export const LIMIT_LABELS: Readonly<Record<LimitName, string>> = Object.freeze({
  connectionsMax: "connections",
  commandsPerSecondMax: "commands",
  readCostPerSecondMax: "reads",
  watchesMax: "watches",
  unfinishedBytesMax: "unfinished",
  loopShare: "loop",
});

interface Exceeded {
  total: number;
  /** Without a line of their own yet. */
  untold: number;
  tellAtMs: number;
}

export class LimitCounts {
  /** Whether what exceeds a limit is refused; otherwise it is only counted. */
  readonly isEnforced: boolean;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #logger: NodeLogger;
  readonly #exceeded = new Map<string, Exceeded>();

  constructor(isEnforced: boolean, clock: Pick<Clock, "nowMs">, logger: NodeLogger) {
    this.isEnforced = isEnforced;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * @param name of the identity or address
   * @param max `undefined`: the limit is a share, and no number
   */
  note(by: LimitedBy, limit: LimitName, name: string, max: number | undefined): void {
    const key = `${by} ${limit}`;
    let exceeded = this.#exceeded.get(key);
    if (exceeded === undefined) {
      exceeded = { total: 0, untold: 0, tellAtMs: Number.NEGATIVE_INFINITY };
      this.#exceeded.set(key, exceeded);
    }
    exceeded.total += 1;
    exceeded.untold += 1;
    const nowMs = this.#clock.nowMs();
    if (nowMs < exceeded.tellAtMs) return;
    const count = exceeded.untold;
    exceeded.untold = 0;
    exceeded.tellAtMs = nowMs + LINE_EVERY_MS;
    const event = this.isEnforced ? "limit exceeded" : "limit exceeded, only observed";
    this.#logger("warn", event, { limit: LIMIT_LABELS[limit], [by]: name, max, count });
  }

  /** Since the start. */
  total(by: LimitedBy, limit: LimitName): number {
    return this.#exceeded.get(`${by} ${limit}`)?.total ?? 0;
  }
}
