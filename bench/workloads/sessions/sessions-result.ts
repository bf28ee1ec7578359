/** The result of `sessions`: its shape, and how it is computed from the measurements. */

import type { Machine } from "../../measures/machine.js";
import { MIB } from "../../measures/resident-memory.js";
import type { StallBound } from "../../measures/stall-windows.js";
import { tenths } from "../../measures/statistics.js";
import type { SessionsOptions } from "../../options/bench-options.js";

/** The shape of `--json`; a contract. */
export interface SessionsResult {
  readonly workload: "sessions";
  readonly machine: Machine;
  /** Connected sessions, and the length of their leases. */
  readonly count: number;
  readonly ttlMs: number;
  readonly connectSeconds: number;
  /** Name of the node that led. */
  readonly leader: string;
  readonly residentMiB: {
    readonly before: Readonly<Record<string, number>>;
    readonly connected: Readonly<Record<string, number>>;
  };
  /** The growth of the node that grew most, per session. */
  readonly residentBytesPerSession: number;
  /** While nothing else happened. */
  readonly idle: {
    readonly seconds: number;
    readonly keepalivesPerSecond: number;
    /** Shares of one core, in percent: `load` is this process with all the clients. */
    readonly cpuPercentPerProcess: Readonly<Record<string, number>>;
    /** CPU time of all nodes together, per keepalive; null if the system does not report it. */
    readonly serverCpuMicrosPerKeepalive: number | null;
    /** The longest stall of each node's event loop. */
    readonly stallMsPerNode: Readonly<Record<string, number>>;
    readonly stallMs: number;
  };
  /** While the session with the locks ended. */
  readonly expiry: {
    readonly holds: number;
    readonly fillSeconds: number;
    /**
     * From its last message until the first lock was free, and from then until all were, on all
     * nodes.
     */
    readonly silentMs: number;
    readonly freeMs: number;
    readonly stallMsPerNode: Readonly<Record<string, number>>;
    readonly stallMs: number;
  };
  /** How many of the connected sessions had to be replaced by new ones. */
  readonly sessionsLost: number;
}

/** Times are on the wall clock of this machine. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface IdleTime extends Span {
  readonly leader: string;
  readonly keepalives: number;
  /** CPU seconds by process. */
  readonly cpuBefore: ReadonlyMap<string, number>;
  readonly cpuAfter: ReadonlyMap<string, number>;
}

/** `fromMs`: when a node still had all; `toMs`: when none had any. */
export interface Expiry extends Span {
  readonly fillSeconds: number;
  /** When its client fell silent. */
  readonly silentMs: number;
}

interface Measured
  extends Pick<
    SessionsResult,
    "machine" | "ttlMs" | "connectSeconds" | "residentMiB" | "sessionsLost"
  > {
  readonly idle: IdleTime;
  readonly expiry: Expiry;
  readonly boundsPerNode: readonly (readonly [node: string, bounds: readonly StallBound[]])[];
}

export function sessionsResult(
  { count, holds }: SessionsOptions,
  { idle, expiry, boundsPerNode, ...measured }: Measured,
): SessionsResult {
  const stallsIn = (span: Span) => {
    const perNode = boundsPerNode.map(
      ([node, bounds]) => [node, largestStall(bounds, span)] as const,
    );
    return {
      stallMsPerNode: Object.fromEntries(perNode),
      stallMs: Math.max(0, ...perNode.map(([, stallMs]) => stallMs)),
    };
  };
  const seconds = (idle.toMs - idle.fromMs) / 1_000;
  const cpu = [...idle.cpuAfter].map(
    ([name, value]) => [name, value - (idle.cpuBefore.get(name) ?? value)] as const,
  );
  const servers = cpu.filter(([name]) => name !== "load");
  const serverSeconds = servers.reduce((sum, [, value]) => sum + value, 0);
  const isCpuKnown = servers.length > 0 && idle.keepalives > 0;
  const { before, connected } = measured.residentMiB;
  const grown = Object.entries(connected).map(([node, mib]) => mib - (before[node] ?? mib));
  return {
    workload: "sessions",
    count,
    leader: idle.leader,
    ...measured,
    residentBytesPerSession: Math.round((Math.max(0, ...grown) * MIB) / count),
    idle: {
      seconds: tenths(seconds),
      keepalivesPerSecond: tenths(idle.keepalives / seconds),
      cpuPercentPerProcess: Object.fromEntries(
        cpu.map(([name, value]) => [name, tenths((value / seconds) * 100)]),
      ),
      serverCpuMicrosPerKeepalive: isCpuKnown
        ? tenths((serverSeconds / idle.keepalives) * 1e6)
        : null,
      ...stallsIn(idle),
    },
    expiry: {
      holds,
      fillSeconds: expiry.fillSeconds,
      silentMs: expiry.fromMs - expiry.silentMs,
      freeMs: expiry.toMs - expiry.fromMs,
      ...stallsIn(expiry),
    },
  };
}

/** The largest of the intervals that overlap the span. */
export function largestStall(bounds: readonly StallBound[], { fromMs, toMs }: Span): number {
  const within = bounds.filter((bound) => bound.fromMs <= toMs && bound.toMs >= fromMs);
  return Math.max(0, ...within.map(({ stallMs }) => stallMs));
}
