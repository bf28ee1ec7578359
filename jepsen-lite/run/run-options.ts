/** The flags of `npm run jepsen`, and what they mean when they are left out. */
import { parseArgs } from "node:util";
import { SCHEDULES, type Schedule } from "../nemeses/schedule.js";
import { RefusedError } from "../refused-error.js";

export interface RunOptions {
  readonly workloads: readonly string[];
  readonly workloadModules: readonly string[];
  readonly nemeses: readonly string[];
  readonly nemesisModules: readonly string[];
  /** Other systems that run the same beside it, one after the other. */
  readonly peers: readonly string[];
  readonly schedule: Schedule;
  /** How long there is load and faults, beside start, healing and judgement. */
  readonly seconds: number;
  readonly seed: number;
  readonly nodes: number;
  readonly clients: number;
  /** In each client, for each workload. */
  readonly tasks: number;
  readonly keys: number;
  readonly ttlMs: number;
  readonly isFenced: boolean;
  readonly usesNamespaces: boolean;
  /** First port of the nodes' own, or 0: any. */
  readonly basePort: number;
  /** Where everything is written; `undefined`: a directory that is made for the run. */
  readonly directory: string | undefined;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
}

/** Which names stand for what when none is given is decided by whoever knows them. */
export interface KnownNames {
  readonly workloads: readonly string[];
  readonly nemeses: readonly string[];
  /** Those that every machine can do without special rights. */
  readonly usualNemeses: readonly string[];
  readonly peers: readonly string[];
  /** Of the workloads and the usual nemeses, those that peers can do too. */
  readonly peerWorkloads: readonly string[];
  readonly peerNemeses: readonly string[];
}

const FLAGS = {
  workload: { type: "string", short: "w", multiple: true },
  nemesis: { type: "string", short: "n", multiple: true },
  peers: { type: "string", multiple: true },
  schedule: { type: "string" },
  minutes: { type: "string" },
  time: { type: "string" },
  seed: { type: "string" },
  nodes: { type: "string" },
  clients: { type: "string" },
  tasks: { type: "string" },
  keys: { type: "string" },
  ttl: { type: "string" },
  port: { type: "string" },
  out: { type: "string" },
  keep: { type: "string" },
  unfenced: { type: "boolean" },
  netns: { type: "boolean" },
  json: { type: "boolean" },
  quiet: { type: "boolean", short: "q" },
  help: { type: "boolean", short: "h" },
} as const;

const SECONDS_DEFAULT = 60;
const SECONDS_MAX = 7 * 86_400;

/** `undefined`: help was asked for. Throws `RefusedError` in one line for everything else wrong. */
export function parseRunOptions(
  argv: readonly string[],
  known: KnownNames,
): RunOptions | undefined {
  const values = parse(argv);
  if (values.help === true) return undefined;
  const peers = peersIn(values.peers, known.peers);
  const isAlone = peers.length === 0;
  const allWorkloads = isAlone ? known.workloads : known.peerWorkloads;
  const workloads = namesIn(values.workload, allWorkloads, allWorkloads);
  const nemeses = isAlone
    ? namesIn(values.nemesis, known.usualNemeses, known.nemeses)
    : namesIn(values.nemesis, known.peerNemeses, known.peerNemeses);
  if (values.time !== undefined && values.minutes !== undefined) {
    throw new RefusedError("--time and --minutes exclude each other: both say how long");
  }
  if (values.out !== undefined && values.keep !== undefined) {
    throw new RefusedError("--out and --keep are the same: where everything is written");
  }
  const minutes = numberOf("minutes", values.minutes, SECONDS_DEFAULT / 60, 0.05, SECONDS_MAX / 60);
  return {
    workloads: workloads.names,
    workloadModules: workloads.files,
    nemeses: nemeses.names,
    nemesisModules: nemeses.files,
    peers,
    schedule: scheduleOf(values.schedule),
    seconds: numberOf("time", values.time, minutes * 60, 3, SECONDS_MAX),
    seed: wholeNumber("seed", values.seed, 1, 0, 2 ** 31 - 1),
    nodes: nodesOf(values.nodes),
    clients: wholeNumber("clients", values.clients, 4, 1, 50),
    tasks: wholeNumber("tasks", values.tasks, 2, 1, 50),
    keys: wholeNumber("keys", values.keys, 3, 1, 1_000),
    ttlMs: wholeNumber("ttl", values.ttl, 2_000, 1_000, 600_000),
    isFenced: values.unfenced !== true,
    usesNamespaces: values.netns === true,
    basePort: wholeNumber("port", values.port, 0, 0, 65_000),
    directory: values.out ?? values.keep,
    isJson: values.json === true,
    isQuiet: values.quiet === true,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: FLAGS }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [sentence = ""] = error.message.split(/\. |\n/);
    throw new RefusedError(sentence, { cause: error });
  }
}

interface Names {
  readonly names: readonly string[];
  /** Named by path; each stands in `names` by its path until it was loaded. */
  readonly files: readonly string[];
}

/** `all` is every built-in; `a,b` and repeated flags add up; what looks like a path is a module. */
function namesIn(
  texts: readonly string[] | undefined,
  usual: readonly string[],
  all: readonly string[],
): Names {
  const words = (texts ?? []).flatMap((text) => text.split(",")).filter((word) => word !== "");
  if (texts === undefined) return { names: usual, files: [] };
  const files = words.filter(isPath);
  const names = words
    .filter((word) => !isPath(word) && word !== "none")
    .flatMap((word) => (word === "all" ? all : [word]));
  return { names: [...new Set(names)], files };
}

function peersIn(texts: readonly string[] | undefined, all: readonly string[]): readonly string[] {
  const { names, files } = namesIn(texts, [], all);
  const [file] = files;
  if (file === undefined) return names;
  throw new RefusedError(`--peers ${file}: peers are named, not loaded from files`);
}

function isPath(word: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(word);
}

function scheduleOf(text: string | undefined): Schedule {
  const found = SCHEDULES.find((schedule) => schedule === (text ?? "each"));
  if (found !== undefined) return found;
  throw new RefusedError(`--schedule ${text}: ${SCHEDULES.join(", ")} are there`);
}

function nodesOf(text: string | undefined): number {
  const nodes = wholeNumber("nodes", text, 3, 1, 7);
  if (nodes % 2 === 1) return nodes;
  throw new RefusedError(`--nodes ${nodes}: 1, 3, 5 or 7 is needed`);
}

function wholeNumber(
  flag: string,
  text: string | undefined,
  none: number,
  min: number,
  max: number,
): number {
  const value = numberOf(flag, text, none, min, max);
  if (Number.isInteger(value)) return value;
  throw new RefusedError(`--${flag} ${text}: a whole number is needed`);
}

function numberOf(
  flag: string,
  text: string | undefined,
  none: number,
  min: number,
  max: number,
): number {
  if (text === undefined) return none;
  const value = /^\d{1,12}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new RefusedError(`--${flag} ${text}: a number from ${min} to ${max} is needed`);
}
