/**
 * What was asked for on the command line: one measurement, in this process, or several, each in a
 * process of its own, side by side or all workloads one after the other.
 */
import { parseArgs } from "node:util";
import { PEER_NAMES, type PeerName } from "../peers/peer.js";
import { NUMBERS, type NumberName, type Workload } from "./bench-numbers.js";
import { type BenchOptions, OPTION_TYPES, parseBenchOptions, UsageError } from "./bench-options.js";
import { PLAN } from "./plan.js";
import { OWN_SYSTEM, type SystemName } from "./system-names.js";

/** One workload with its numbers, and all the systems that it is measured with. */
export interface Step {
  /** For a process that measures it; without a system. */
  readonly argv: readonly string[];
  readonly options: BenchOptions;
  /** This system first. */
  readonly systems: readonly SystemName[];
}

export interface Several {
  readonly kind: "several";
  readonly isAll: boolean;
  readonly steps: readonly Step[];
  /** How often each load is measured with each system, in turns. */
  readonly turns: number;
  readonly isJson: boolean;
  readonly markdownFile: string | undefined;
  readonly svgFile: string | undefined;
  /** Where results are kept, one a line. */
  readonly saveFile: string | undefined;
  /** Goes on with what is in there. */
  readonly isResumed: boolean;
}

export interface One {
  readonly kind: "one";
  readonly options: BenchOptions;
  /** Ends when its standard input does: a process of `Several`. */
  readonly isSupervised: boolean;
}

export type Invocation = One | Several | { readonly kind: "help" };

const SEVERAL_TYPES = {
  all: { type: "boolean" },
  peers: { type: "string" },
  turns: { type: "string" },
  markdown: { type: "string" },
  svg: { type: "string" },
  save: { type: "string" },
  resume: { type: "boolean" },
  supervised: { type: "boolean" },
} as const;
const SEVERAL_NAMES = Object.keys(SEVERAL_TYPES);
const TURNS_MAX = 99;
/** Of everything, where nothing else is said. Git ignores the directory. */
const FILES_OF_ALL = {
  save: ".holdfast/bench.jsonl",
  markdown: ".holdfast/bench.md",
  svg: ".holdfast/bench.svg",
} as const;

/** @throws UsageError */
export function parseInvocation(argv: readonly string[]): Invocation {
  const { values, rest, positionals } = split(argv);
  const {
    all: isAll = false,
    resume: isResumed = false,
    supervised: isSupervised = false,
  } = values;
  const turns = turnsOf(values.turns);
  const peers = peersOf(values.peers);
  if (!isAll) {
    const options = parseBenchOptions([...positionals, ...rest]);
    if (options === undefined) return { kind: "help" };
    const isOne = peers.length === 0 && turns === 1 && values.markdown === undefined;
    if (isOne && values.svg === undefined && values.save === undefined) {
      if (isResumed) throw new UsageError("--resume: there is nothing saved, see --save");
      return { kind: "one", options, isSupervised };
    }
  }
  const steps = isAll
    ? stepsOfAll(positionals, rest, peers)
    : [stepOf([...positionals, ...withoutJson(rest)], peers)];
  const files = isAll ? { ...FILES_OF_ALL, ...values } : values;
  if (isResumed && files.save === undefined) {
    throw new UsageError("--resume: which file? --save names it");
  }
  return {
    kind: "several",
    isAll,
    steps,
    turns,
    isJson: rest.includes("--json"),
    markdownFile: files.markdown,
    svgFile: files.svg,
    saveFile: files.save,
    isResumed,
  };
}

/** What is about several measurements, and what is about each. */
function split(argv: readonly string[]) {
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      tokens: true,
      options: { ...OPTION_TYPES, ...SEVERAL_TYPES },
    });
    const rest = tokens.flatMap((token) => {
      if (token.kind !== "option" || SEVERAL_NAMES.includes(token.name)) return [];
      return [token.value === undefined ? `--${token.name}` : `--${token.name}=${token.value}`];
    });
    return { values, positionals, rest };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [sentence = ""] = error.message.split(/\. |\n/);
    throw new UsageError(sentence, { cause: error });
  }
}

function peersOf(text: string | undefined): readonly PeerName[] {
  if (text === undefined) return [];
  if (text === "all") return PEER_NAMES;
  const wanted = text.split(",").filter((name) => name !== "");
  const unknown = wanted.find((name) => !(PEER_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined || wanted.length === 0) {
    throw new UsageError(`--peers ${text}: all, or some of ${PEER_NAMES.join(", ")}, are needed`);
  }
  return PEER_NAMES.filter((name) => wanted.includes(name));
}

function turnsOf(text = "1"): number {
  const turns = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (turns >= 1) return turns;
  throw new UsageError(`--turns ${text}: a whole number from 1 to ${TURNS_MAX} is needed`);
}

function stepOf(argv: readonly string[], peers: readonly PeerName[]): Step {
  const options = parseBenchOptions(argv);
  if (options === undefined) throw new UsageError("--help is for itself alone");
  // Whether the workload can be compared is checked where `--system` is.
  for (const peer of peers) parseBenchOptions([...argv, `--system=${peer}`]);
  return { argv, options, systems: [OWN_SYSTEM, ...peers] };
}

/** Options that the user gave count for each workload that has a use for them. */
function stepsOfAll(
  positionals: readonly string[],
  rest: readonly string[],
  peers: readonly PeerName[],
): Step[] {
  if (positionals.length > 0) throw new UsageError(`--all: ${positionals[0]} is among them`);
  for (const option of withoutJson(rest)) {
    if (!(nameOf(option) in NUMBERS)) throw new UsageError(`${option} is no option of --all`);
  }
  return PLAN.map(({ argv, peers: planned }) => {
    const [workload] = argv;
    const given = withoutJson(rest).filter(
      (option) =>
        takes(workload, nameOf(option)) && !argv.some((each) => nameOf(each) === nameOf(option)),
    );
    const compared = peers.filter((peer) => planned.includes(peer));
    return stepOf([...argv, ...given], compared);
  });
}

function takes(workload: Workload, name: string): boolean {
  return workload in NUMBERS[name as NumberName].defaults;
}

function nameOf(option: string): string {
  return option.replace(/^--/, "").replace(/=.*$/s, "");
}

function withoutJson(rest: readonly string[]): string[] {
  return rest.filter((option) => option !== "--json");
}
