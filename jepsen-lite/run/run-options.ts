/** The flags of `npm run jepsen` and their defaults. */
import { type Command, Option } from "commander";
import {
  addNames,
  commandLine,
  nonEmpty,
  numberFrom,
  oneOf,
  readCommandLine,
  UsageError,
  wholeFrom,
  words,
} from "../../lab/command-line.js";
import { NEMESES } from "../nemeses/catalogue.js";
import { SCHEDULES, type Schedule } from "../nemeses/schedule.js";
import { PEERS } from "../systems/catalogue.js";
import { WORKLOADS } from "../workloads/catalogue.js";

export interface RunOptions {
  readonly workloads: readonly string[];
  readonly workloadModules: readonly string[];
  readonly nemeses: readonly string[];
  readonly nemesisModules: readonly string[];
  /** Other systems that run the same, one after the other. */
  readonly peers: readonly string[];
  readonly schedule: Schedule;
  /** Duration of load and faults, without start, healing and judgement. */
  readonly seconds: number;
  readonly seed: number;
  readonly nodes: number;
  readonly clients: number;
  /** In each client, for each workload. */
  readonly workers: number;
  readonly keys: number;
  readonly ttlMs: number;
  readonly isFenced: boolean;
  /** A check that compared nothing leaves the verdict open, where a workload is made for it. */
  readonly isStrict: boolean;
  readonly usesNamespaces: boolean;
  /** First port of the nodes, or 0: any. */
  readonly basePort: number;
  /** Where everything is written; `undefined`: a new temporary directory. */
  readonly directory: string | undefined;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
}

type SameFlags = "schedule" | "seed" | "nodes" | "clients" | "workers" | "keys";

interface RunFlags extends Pick<RunOptions, SameFlags> {
  readonly workload?: readonly string[];
  readonly nemesis?: readonly string[];
  readonly peers?: readonly string[];
  readonly minutes: number;
  readonly time?: number;
  readonly ttl: number;
  readonly port: number;
  readonly unfenced?: true;
  readonly strict?: true;
  readonly netns?: true;
  readonly out?: string;
  readonly keep?: string;
  readonly json?: true;
  readonly quiet?: true;
}

const SECONDS_MAX = 7 * 86_400;
/** Only done on request, because some machines cannot do it. */
const UNUSUAL = NEMESES.filter(({ isUnusual }) => isUnusual === true).map(nameOf);

/** It closes the cluster, and tokens are sent in plain text to loopback only. */
const CLOSING = "identities";
const WORKLOADS_DEFAULT = `default: all; with --netns all but ${CLOSING}`;

const EXAMPLES = `Examples:
  npm run jepsen                 everything, one fault at a time, a minute
  npm run jepsen -- --workload mutex --nemesis kill,partition --minutes 5
  npm run jepsen -- --schedule all --nodes 5 --minutes 30 --seed 7 --out results
  npm run jepsen -- --workload guarded --nemesis pause-clients --unfenced
  npm run jepsen -- --workload ./my-workload.ts --nemesis ./my-nemesis.ts
  npm run jepsen -- --peers redis,etcd --minutes 2
  npm run jepsen -- --workload leases --peers redlock-redis,redlock-door
  npm run jepsen -- check --model lock history.jsonl
`;

const ABOUT =
  "Starts a cluster of the built binary, lets clients work, injects faults, heals, and decides " +
  "whether the answers to the clients can be true; check judges a recorded history. Exit code 0: " +
  "valid, 1: not valid, 3: could not be decided, 2: wrong usage, 70: the run itself failed, " +
  "128+n: interrupted. Ctrl-C ends a run within seconds, with a report of the results so far; a " +
  "second Ctrl-C ends it at once.";

const NAMES = "separated by commas, or files that export one;";
const PEERS_ABOUT =
  "run the same faults on other systems, one after the other, to check the harness itself; " +
  "the verdict is only on Holdfast and its doors; all (default: none)";

const STRICT_ABOUT =
  "exit code 3 if a check compared nothing that one of the workloads is made for";

function runCommandLine(): Command {
  const command = commandLine("npm run jepsen --")
    .usage("[options]\n       npm run jepsen -- check [options] <file>")
    .description(ABOUT)
    .addHelpText("before", EXAMPLES)
    .option("-w, --workload <names>", `${NAMES} all (${WORKLOADS_DEFAULT})`, words)
    .option(
      "-n, --nemesis <names>",
      `${NAMES} all, none (default: all but ${UNUSUAL.join(", ")})`,
      words,
    )
    .option("--peers <names>", PEERS_ABOUT, words)
    .option(
      "--schedule <how>",
      "one fault at a time, two, all at once, or none",
      oneOf(SCHEDULES),
      "each",
    )
    .option("--minutes <m>", "duration of load and faults", numberFrom(0.05, SECONDS_MAX / 60), 1)
    .addOption(
      new Option("--time <seconds>", "the same in seconds")
        .argParser(numberFrom(3, SECONDS_MAX))
        .conflicts("minutes"),
    )
    .option(
      "--seed <n>",
      "determines faults and operations, but not their timing",
      wholeFrom(0, 2 ** 31 - 1),
      1,
    )
    .option("--nodes <n>", "number of nodes", oneOf([1, 3, 5, 7]), 3)
    .option("--clients <n>", "number of client processes", wholeFrom(1, 50), 4)
    .option("--workers <n>", "workers in each client, for each workload", wholeFrom(1, 50), 2)
    .option("--keys <n>", "keys of each workload", wholeFrom(1, 1_000), 3)
    .option("--ttl <ms>", "lease of the clients", wholeFrom(1_000, 600_000), 2_000)
    .option("--unfenced", "the guarded store compares no tokens: updates are expected to be lost")
    .option("--strict", STRICT_ABOUT)
    .option("--netns", "network namespaces with real addresses instead of proxies (root)")
    .option("--port <p>", "first port of the nodes; 0: any free ports", wholeFrom(0, 65_000), 0)
    .option("--out <directory>", "directory for the results (default: a temporary one)", nonEmpty)
    .addOption(new Option("--keep <directory>", "the same").argParser(nonEmpty).conflicts("out"))
    .option("--json", "results as one JSON object on standard output")
    .option("-q, --quiet", "no progress");
  addNames(command, "Workloads:", WORKLOADS);
  addNames(command, "Nemeses:", NEMESES);
  return addNames(command, "Peers:", PEERS);
}

/** Returns the text of the help if that was requested. Throws `UsageError`. */
export function parseRunOptions(argv: readonly string[]): RunOptions | string {
  const read = readCommandLine<RunFlags>(runCommandLine(), argv);
  if (typeof read === "string") return read;
  const { flags } = read;
  const { schedule, seed, nodes, clients, workers, keys } = flags;
  const { peers, workloads, nemeses } = chosenNames(flags);
  return {
    workloads: workloads.names,
    workloadModules: workloads.files,
    nemeses: nemeses.names,
    nemesisModules: nemeses.files,
    peers,
    schedule,
    seconds: flags.time ?? flags.minutes * 60,
    seed,
    nodes,
    clients,
    workers,
    keys,
    ttlMs: flags.ttl,
    isFenced: flags.unfenced !== true,
    isStrict: flags.strict === true,
    usesNamespaces: flags.netns === true,
    basePort: flags.port,
    directory: flags.out ?? flags.keep,
    isJson: flags.json === true,
    isQuiet: flags.quiet === true,
  };
}

/** With peers, `all` means everything that they support too. */
function chosenNames(flags: RunFlags) {
  const { names: peers, files } = namesIn(flags.peers, [], PEERS.map(nameOf));
  const [file] = files;
  if (file !== undefined) {
    throw new UsageError(`--peers ${file}: peers are given by name, not by file`);
  }
  const isAlone = peers.length === 0;
  const workloads = isAlone ? WORKLOADS.map(nameOf) : peerWorkloads();
  const nemeses = isAlone ? NEMESES.map(nameOf) : peerNemeses();
  const usual = nemeses.filter((name) => !UNUSUAL.includes(name));
  const usualWork = workloads.filter((name) => flags.netns !== true || name !== CLOSING);
  return {
    peers,
    workloads: namesIn(flags.workload, usualWork, workloads),
    nemeses: namesIn(flags.nemesis, usual, nemeses),
  };
}

/** The workloads that peers can run. */
export function peerWorkloads(): string[] {
  return WORKLOADS.filter(({ plainStep }) => plainStep !== undefined).map(nameOf);
}

/** The faults that peers can get. */
export function peerNemeses(): string[] {
  return NEMESES.filter(({ isForPeers }) => isForPeers === true).map(nameOf);
}

interface Names {
  readonly names: readonly string[];
  /** Given by path; each is in `names` by its path until it is loaded. */
  readonly files: readonly string[];
}

/** `all` is every built-in; a name that looks like a path is a module. */
function namesIn(
  words: readonly string[] | undefined,
  usual: readonly string[],
  all: readonly string[],
): Names {
  if (words === undefined) return { names: usual, files: [] };
  const names = words
    .filter((word) => !isPath(word) && word !== "none")
    .flatMap((word) => (word === "all" ? all : [word]));
  return { names: [...new Set(names)], files: words.filter(isPath) };
}

function isPath(word: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(word);
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
