/**
 * What the command line asks for: one measurement, in this process, or several, each in a process
 * of its own, to compare systems or to run all workloads.
 */
import { findNamed, readCommandLine, UsageError } from "../../lab/command-line.js";
import { PEER_NAMES } from "../peers/peer.js";
import {
  type BenchFlags,
  benchCommand,
  FILES_OF_ALL,
  type MeasureFlags,
  type ResultFlags,
} from "./bench-flags.js";
import { LOAD_WORKLOADS, WORKLOADS, type Workload } from "./bench-numbers.js";
import { type BenchOptions, benchOptions, takes } from "./bench-options.js";
import { DOORS, DOORS_PLAN, DOORS_TURNS, PLAN, type PlannedStep } from "./plan.js";
import {
  COMPARED_SYSTEMS,
  type ComparedSystem,
  OWN_SYSTEM,
  type SystemName,
  UNAWAITED_SYSTEM,
} from "./system-names.js";

/** The name of a row: a system, or this one under another Node.js. */
export type RunName = SystemName | `${typeof OWN_SYSTEM} on Node.js ${string}`;

/** What one process measures. */
export interface Run {
  readonly name: RunName;
  readonly system: SystemName;
  /** The version of Node.js that runs it, as it was asked for; `undefined`: this one. */
  readonly node: string | undefined;
  /** For that process. */
  readonly argv: readonly string[];
  readonly options: BenchOptions;
}

/** One workload with its numbers, and all that it is measured with. */
export interface Step {
  /** Without a system. */
  readonly argv: readonly string[];
  readonly options: BenchOptions;
  /** This system first. */
  readonly runs: readonly Run[];
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

const NODE_VERSION = /^\d+(\.\d+){0,2}$/;

/** @throws UsageError */
export function parseInvocation(argv: readonly string[]): Invocation {
  const read = readCommandLine<BenchFlags>(benchCommand(), argv);
  if (typeof read === "string") return { kind: "help", text: read };
  const [word] = read.words;
  const flags = read.flags.all === true ? { ...FILES_OF_ALL, ...read.flags } : read.flags;
  const { all, turns, json, markdown, svg, save, resume, peers, node, supervised, ...given } =
    flags;
  const results = { all, turns, json, markdown, svg, save, resume };
  const compared = comparedOf(peers);
  const nodes = versionsOf(node);
  if (all === true) {
    if (word !== undefined) throw new UsageError(`--all: includes ${word}; give one or the other`);
    const steps = stepsOf(PLAN, given, [UNAWAITED_SYSTEM, ...compared]);
    return { kind: "several", steps, ...results };
  }
  if (word === DOORS) {
    for (const [name, value] of Object.entries({ peers, node })) {
      if (value === undefined) continue;
      throw new UsageError(`--${name}: ${DOORS} measures those that it has`);
    }
    const steps = stepsOf(DOORS_PLAN, given, PEER_NAMES);
    return { kind: "several", steps, ...results, turns: Math.max(turns, DOORS_TURNS), all: true };
  }
  const workload = workloadOf(word);
  if (resume === true && save === undefined) throw new UsageError("--resume requires --save");
  if (nodes.length > 0 && !(LOAD_WORKLOADS as readonly Workload[]).includes(workload)) {
    throw new UsageError(`--node: is for ${LOAD_WORKLOADS.join(", ")}`);
  }
  const files = [markdown, svg, save];
  const isOne = compared.length === 0 && nodes.length === 0;
  if (isOne && turns === 1 && files.every((file) => file === undefined)) {
    return { kind: "one", options: benchOptions(workload, given), json, supervised };
  }
  return { kind: "several", steps: [stepOf(workload, given, compared, nodes)], ...results };
}

function workloadOf(word: string | undefined): Workload {
  if (word !== undefined) return findNamed("workload", word, named(WORKLOADS)).name;
  throw new UsageError(`a workload is required: ${WORKLOADS.join(", ")}, or ${DOORS}`);
}

/** In the order of the bench, each once. */
function comparedOf(words: readonly string[] = []): readonly ComparedSystem[] {
  if (words.includes("all")) return COMPARED_SYSTEMS;
  const wanted = words.map((word) => findNamed("peer", word, named(COMPARED_SYSTEMS)).name);
  return COMPARED_SYSTEMS.filter((name) => wanted.includes(name));
}

function versionsOf(words: readonly string[] = []): readonly string[] {
  for (const word of words) {
    if (!NODE_VERSION.test(word)) throw new UsageError(`--node ${word}: such as 22 or 22.11.0`);
  }
  return [...new Set(words)];
}

function named<Name extends string>(names: readonly Name[]): { readonly name: Name }[] {
  return names.map((name) => ({ name }));
}

function stepOf(
  workload: Workload,
  flags: MeasureFlags,
  compared: readonly ComparedSystem[],
  nodes: readonly string[] = [],
): Step {
  const argv = [workload, ...Object.entries(flags).map(([name, value]) => flagText(name, value))];
  const options = benchOptions(workload, flags);
  const own = { system: OWN_SYSTEM, argv, options } as const;
  return {
    argv,
    options,
    runs: [
      { ...own, name: OWN_SYSTEM, node: undefined },
      ...nodes.map((node): Run => ({ ...own, name: `${OWN_SYSTEM} on Node.js ${node}`, node })),
      ...compared.map((system): Run => {
        const theirs = benchOptions(workload, { ...flags, system });
        const words = [...argv, `--system=${system}`];
        return { name: system, system, node: undefined, argv: words, options: theirs };
      }),
    ],
  };
}

function flagText(name: string, value: unknown): string {
  return value === true ? `--${name}` : `--${name}=${String(value)}`;
}

/** Numbers of the user apply to every workload that uses them, unless the plan has its own. */
function stepsOf(
  plan: readonly PlannedStep[],
  given: MeasureFlags,
  wanted: readonly ComparedSystem[],
): Step[] {
  return plan.map(({ workload, flags, peers: planned = [] }) => {
    const taken = Object.entries(given).filter(([name]) => takes(workload, name));
    const compared = COMPARED_SYSTEMS.filter((name) => {
      return wanted.includes(name) && planned.includes(name);
    });
    // Twice, so that the plan's own come first and also override.
    return stepOf(workload, { ...flags, ...Object.fromEntries(taken), ...flags }, compared);
  });
}
