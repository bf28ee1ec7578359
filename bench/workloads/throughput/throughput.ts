/**
 * `uncontended`, `contended`, `hot-set`, `rw`, `semaphore`, `multi`: closed loops, or cycles at a
 * fixed rate, for a fixed time. Clients, warm-up, measured time, result; limited in time even if
 * the servers hang.
 */
import { setTimeout as delay } from "node:timers/promises";
import { drained } from "../../cluster/bench-clients.js";
import type { Rule } from "../../load/grant-witness.js";
import type { LoadSubject } from "../../load/load-subject.js";
import {
  type Latencies,
  type LoadWindow,
  latenciesOf,
  measureLoad,
} from "../../load/load-window.js";
import { OpenLoop } from "../../load/open-loop.js";
import { withOwnSubject } from "../../load/own-subject.js";
import { withPeerSubject } from "../../load/peer-subject.js";
import { describeMachine, type Machine } from "../../measures/machine.js";
import { hundredths } from "../../measures/statistics.js";
import type { LoadWorkload } from "../../options/bench-numbers.js";
import type { LoadOptions } from "../../options/bench-options.js";
import { type Attachment, isPeer, type SystemName } from "../../options/system-names.js";

/** The measured workers run at least this long before they are counted. */
const SETTLING_SECONDS = 1;

/** The figures of an open loop. */
interface OpenLoad {
  /** Cycles per second that were due. */
  readonly rate: number;
  /** By how much they began late; part of `acquireMs`, which counts from when they were due. */
  readonly startDelayMs: Latencies;
  /** Cycles that were due and had not begun at the end: the rate is too high. */
  readonly backlog: number;
}

/** The shape of `--json`; a contract. */
export interface ThroughputResult extends LoadWindow {
  readonly workload: LoadWorkload;
  /** `holdfast`, or what was loaded instead. */
  readonly system: SystemName;
  /** What runs the servers and the load. */
  readonly versions: string;
  readonly machine: Machine;
  readonly workers: number;
  readonly connections: number;
  /** The node to which clients were attached. */
  readonly attach: Attachment;
  /** Everything through TLS, with client certificates. */
  readonly tls: boolean;
  /** For `hot-set`, `rw` and `multi`: how many locks; otherwise 0. */
  readonly keys: number;
  /** For `semaphore`: its permits; otherwise 0. */
  readonly limit: number;
  /** `null`: closed loops. */
  readonly open: OpenLoad | null;
  /** Name of the node that led when the run ended, if there was one. */
  readonly leader: string | null;
  /** Synced writes of all servers' logs per cycle; null if they do not report them. */
  readonly syncsPerCycle: number | null;
  readonly errors: Readonly<Record<string, number>>;
  /** Violations by rule; see `grant-witness.ts`. */
  readonly violations: Readonly<Record<Rule, number>>;
  /** The sum of all violations. */
  readonly fencingViolations: number;
}

/** `signal` ends the run early, by rejecting. */
export async function runThroughput(
  options: LoadOptions,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const { system } = options;
  const machine = describeMachine();
  const run = (subject: LoadSubject) => measureSubject(subject, options, machine, signal);
  return isPeer(system)
    ? withPeerSubject(system, options, signal, run)
    : withOwnSubject(options, signal, run);
}

/** The servers are warmed up by the load that is then measured, and by no other. */
async function measureSubject(
  subject: LoadSubject,
  options: LoadOptions,
  machine: Machine,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const { workload, system, attach, tls, workers, keys, limit, rate, seconds } = options;
  const load = await subject.begin();
  try {
    const unmeasuredSeconds = Math.max(SETTLING_SECONDS, options.warmupSeconds);
    await delay(unmeasuredSeconds * 1_000, undefined, { signal });
    const processes = await subject.processes();
    const syncsBefore = await subject.syncs();
    const window = await measureLoad(load, processes, seconds * 1_000, signal);
    if (window.cyclesPerSecond === 0) {
      throw new Error(`not one cycle was completed in ${seconds} s: ${errorsText(load.errors)}`);
    }
    const open = load instanceof OpenLoop ? openLoadOf(load, rate) : null;
    const errors = Object.fromEntries(load.errors);
    const syncsAfter = await subject.syncs();
    const violations = { ...load.violations };
    return {
      workload,
      system,
      versions: subject.versions,
      machine,
      workers,
      connections: subject.connections,
      attach,
      tls,
      keys,
      limit,
      open,
      ...window,
      leader: await subject.leader(),
      syncsPerCycle: perCycle(syncsBefore, syncsAfter, window),
      errors,
      violations,
      fencingViolations: Object.values(violations).reduce((sum, count) => sum + count, 0),
    };
  } finally {
    await drained(load.stop());
  }
}

function errorsText(errors: ReadonlyMap<string, number>): string {
  const parts = [...errors].map(([code, count]) => `${code} ${count}`);
  return parts.length === 0 ? "and no error" : parts.join(", ");
}

function openLoadOf<Client>(loop: OpenLoop<Client>, rate: number): OpenLoad {
  return { rate, startDelayMs: latenciesOf(loop.startDelays), backlog: loop.backlog };
}

function perCycle(
  before: number | undefined,
  after: number | undefined,
  { cyclesPerSecond, seconds }: LoadWindow,
): number | null {
  const cycles = cyclesPerSecond * seconds;
  if (before === undefined || after === undefined || cycles === 0) return null;
  return hundredths((after - before) / cycles);
}
