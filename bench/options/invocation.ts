/**
 * What the command line asks for: one measurement, in this process, or several, each in a process
 * of its own, to compare systems or to run all workloads.
 */
import { findNamed, readCommandLine, UsageError } from "../../lab/command-line.js";
import { PEER_NAMES, type PeerName } from "../peers/peer.js";
import {
  type BenchFlags,
  benchCommand,
  FILES_OF_ALL,
  type MeasureFlags,
  type ResultFlags,
} from "./bench-flags.js";
import { WORKLOADS, type Workload } from "./bench-numbers.js";
import { type BenchOptions, benchOptions, takes } from "./bench-options.js";
import { DOORS, DOORS_PLAN, DOORS_TURNS, PLAN, type PlannedStep } from "./plan.js";
import { OWN_SYSTEM, type SystemName } from "./system-names.js";

/** One workload with its numbers, and all the systems that it is measured with. */
export interface Step {
  /** For the process that measures it; without a system. */
  readonly argv: readonly string[];
  readonly options: BenchOptions;
  /** This system first. */
  readonly systems: readonly SystemName[];
}

export interface Several extends ResultFlags {
  readonly kind: "several";
  readonly steps: readonly Step[];
}

export interface One extends Pick<BenchFlags, "json" | "supervised"> {
  readonly kind: "one";
  readonly options: BenchOptions;
}

export type Invocation = One | Several | { readonly kind: "help"; readonly text: string };

/** @throws UsageError */
export function parseInvocation(argv: readonly string[]): Invocation {
  const read = readCommandLine<BenchFlags>(benchCommand(), argv);
  if (typeof read === "string") return { kind: "help", text: read };
  const [word] = read.words;
  const flags = read.flags.all === true ? { ...FILES_OF_ALL, ...read.flags } : read.flags;
  const { all, turns, json, markdown, svg, save, resume, peers, supervised, ...given } = flags;
  const results = { all, turns, json, markdown, svg, save, resume };
  const compared = peersOf(peers);
  if (all === true) {
    if (word !== undefined) throw new UsageError(`--all: includes ${word}; give one or the other`);
    return { kind: "several", steps: stepsOf(PLAN, given, compared), ...results };
  }
  if (word === DOORS) {
    if (peers !== undefined) throw new UsageError(`--peers: ${DOORS} measures those that it has`);
    const steps = stepsOf(DOORS_PLAN, given, PEER_NAMES);
    return { kind: "several", steps, ...results, turns: Math.max(turns, DOORS_TURNS), all: true };
  }
  const workload = workloadOf(word);
  if (resume === true && save === undefined) throw new UsageError("--resume requires --save");
  const files = [markdown, svg, save];
  if (compared.length === 0 && turns === 1 && files.every((file) => file === undefined)) {
    return { kind: "one", options: benchOptions(workload, given), json, supervised };
  }
  return { kind: "several", steps: [stepOf(workload, given, compared)], ...results };
}

function workloadOf(word: string | undefined): Workload {
  if (word !== undefined) return findNamed("workload", word, named(WORKLOADS)).name;
  throw new UsageError(`a workload is required: ${WORKLOADS.join(", ")}, or ${DOORS}`);
}

/** In the order of the bench, each once. */
function peersOf(words: readonly string[] = []): readonly PeerName[] {
  if (words.includes("all")) return PEER_NAMES;
  const wanted = words.map((word) => findNamed("peer", word, named(PEER_NAMES)).name);
  return PEER_NAMES.filter((name) => wanted.includes(name));
}

function named<Name extends string>(names: readonly Name[]): { readonly name: Name }[] {
  return names.map((name) => ({ name }));
}

function stepOf(workload: Workload, flags: MeasureFlags, peers: readonly PeerName[]): Step {
  for (const system of peers) benchOptions(workload, { ...flags, system });
  return {
    argv: [workload, ...Object.entries(flags).map(([name, value]) => flagText(name, value))],
    options: benchOptions(workload, flags),
    systems: [OWN_SYSTEM, ...peers],
  };
}

function flagText(name: string, value: unknown): string {
  return value === true ? `--${name}` : `--${name}=${String(value)}`;
}

/** Numbers of the user apply to every workload that uses them, unless the plan has its own. */
function stepsOf(
  plan: readonly PlannedStep[],
  given: MeasureFlags,
  peers: readonly PeerName[],
): Step[] {
  return plan.map(({ workload, flags, peers: planned = [] }) => {
    const taken = Object.entries(given).filter(([name]) => takes(workload, name));
    const compared = peers.filter((peer) => planned.includes(peer));
    // Twice, so that the plan's own come first and also override.
    return stepOf(workload, { ...flags, ...Object.fromEntries(taken), ...flags }, compared);
  });
}
