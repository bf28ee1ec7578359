/** The command line of the bench, as commander reads it and `--help` shows it. */
import { type Command, Option } from "commander";
import {
  addNames,
  commandLine,
  nonEmpty,
  oneOf,
  wholeFrom,
  words,
} from "../../lab/command-line.js";
import {
  COMPARED_WORKLOADS,
  LOAD_WORKLOADS,
  NUMBER_NAMES,
  NUMBERS,
  type NumberName,
  type NumberRule,
  WORKLOADS,
  type Workload,
} from "./bench-numbers.js";
import {
  ATTACHMENTS,
  type Attachment,
  COMPARED_SYSTEMS,
  SYSTEM_NAMES,
  type SystemName,
} from "./system-names.js";

/** The flags of one measurement; a number that was not given has a default of its workload. */
export interface MeasureFlags extends Readonly<Partial<Record<NumberName, number>>> {
  readonly endpoints?: readonly string[];
  readonly attach?: Attachment;
  readonly tls?: boolean;
  readonly system?: SystemName;
}

/** What to do with the results. */
export interface ResultFlags {
  readonly all?: true | undefined;
  /** How often each load is measured with each system, in turns. */
  readonly turns: number;
  readonly json?: true | undefined;
  readonly markdown?: string | undefined;
  readonly svg?: string | undefined;
  /** Where results are saved, one per line. */
  readonly save?: string | undefined;
  /** Continues with the saved results. */
  readonly resume?: true | undefined;
}

export interface BenchFlags extends MeasureFlags, ResultFlags {
  readonly peers?: readonly string[] | undefined;
  /** Versions of Node.js with which this system is measured too. */
  readonly node?: readonly string[] | undefined;
  /** Ends when its standard input does: a process that another bench has started. */
  readonly supervised?: true | undefined;
}

/** The files of `--all`, by default. Git ignores the directory. */
export const FILES_OF_ALL = {
  save: ".holdfast/bench.jsonl",
  markdown: ".holdfast/bench.md",
  svg: ".holdfast/bench.svg",
} as const;

const EXAMPLES = `Examples:
  npm run bench -- uncontended --workers 1024  1,024 workers with one lock each
  npm run bench -- contended --workers 64      one lock: hand-overs per second
  npm run bench -- uncontended --rate 5000     5,000 cycles begin per second
  npm run bench -- uncontended --peers all     compared with Redis, etcd, others
  npm run bench -- uncontended --node 22,24    with other versions of Node.js
  npm run bench -- --all --peers all           tables and a chart of everything
  npm run bench -- doors                       HTTP, and redlock unchanged
  npm run bench -- failover --runs 20          time without service
  npm run bench -- storm --count 2000 --tls    all clients come back at once
  npm run bench -- floods --rounds 5           what others notice of an attack
  npm run bench -- snapshot --holds 1000000    stalls while a table is saved
  npm run bench -- queue --waiters 100000      cost of a long queue
  npm run bench -- page --rate 5000            cost of a viewer of a node's page
  npm run bench -- table --json                one JSON object
`;

const ABOUT: Readonly<Record<Workload, string>> = {
  uncontended: "acquire and release, each worker with its own lock",
  contended: "the same, all with one lock",
  "hot-set": "the same, with many locks, a few of which are requested most (Zipf)",
  rw: "the same, 90 % shared and 10 % exclusive, with a few locks",
  semaphore: "the same, all with one semaphore",
  multi: "the same, 2 to 4 of a few locks at once",
  queue: "waiters of one lock: enqueue, hand-over, cancel, with 100 and with many",
  table: "the same load on an empty and a full table; memory per held lock",
  sessions: "connected sessions that only renew, then one that expires with many locks",
  failover: "the leader is killed, stopped, cut off: longest time without a grant",
  storm: "many clients come back at once after the leader is killed: until all are served",
  floods: "floods of an identity, and of strangers: how long others wait meanwhile",
  snapshot: "snapshots of a full table under load: longest stall of the event loop",
  page: "a node's page in Chromium under load: how smooth it is, and what it costs",
};
const LOADS = LOAD_WORKLOADS.join(", ");
const COMPARED = COMPARED_WORKLOADS.join(" and ");

export function benchCommand(): Command {
  const command = commandLine("npm run bench --")
    .usage("<workload> [options]\n       npm run bench -- --all [options]")
    .argument("[workload]", "what to measure, see below")
    .addHelpText("before", EXAMPLES);
  for (const name of NUMBER_NAMES) {
    const { min, max } = NUMBERS[name];
    command.option(`--${name} <n>`, numberText(name), wholeFrom(min, max));
  }
  command
    .option("--endpoints <urls>", "loads: use a running cluster instead of starting one", words)
    .option(
      "--attach <node>",
      "loads: the node that clients connect to (default: leader)",
      oneOf(ATTACHMENTS),
    )
    .option("--tls", "loads, storm: TLS between all, with client certificates")
    .option("--system <name>", `measure this system instead, with ${COMPARED}`, oneOf(SYSTEM_NAMES))
    .option("--json", "print one JSON object")
    .optionsGroup("Several measurements, each in a process of its own:")
    .addOption(
      new Option("--all", "every workload, one after the other").conflicts([
        "endpoints",
        "attach",
        "system",
      ]),
    )
    .addOption(
      new Option(
        "--peers <names>",
        `measure these systems too, with ${COMPARED} (all, ${COMPARED_SYSTEMS.join(", ")})`,
      )
        .argParser(words)
        .conflicts("system"),
    )
    .addOption(
      new Option(
        "--node <versions>",
        "loads: measure this system with these versions of Node.js too, such as 22,24",
      )
        .argParser(words)
        .conflicts(["system", "endpoints", "all"]),
    )
    .option(
      "--turns <n>",
      "times to measure each load with each system; the median counts",
      wholeFrom(1, 99),
      1,
    )
    .option(
      "--markdown <file>",
      `write the tables as a document (--all: ${FILES_OF_ALL.markdown})`,
      nonEmpty,
    )
    .option("--svg <file>", `write the chart (--all: ${FILES_OF_ALL.svg})`, nonEmpty)
    .option("--save <file>", `save results as they come (--all: ${FILES_OF_ALL.save})`, nonEmpty)
    .option("--resume", "continue with the saved results, which are not measured again")
    .addOption(new Option("--supervised").hideHelp());
  const named = WORKLOADS.map((name) => ({ name, about: ABOUT[name] }));
  const loadCount = LOAD_WORKLOADS.length;
  addNames(command, "Workloads: loads, closed or (with --rate) open:", named.slice(0, loadCount));
  return addNames(command, "Other workloads:", named.slice(loadCount));
}

/** With its default for each workload that takes it. */
function numberText(name: NumberName): string {
  const { about, defaults }: NumberRule = NUMBERS[name];
  const takers = WORKLOADS.filter((workload) => defaults[workload] !== undefined);
  const texts = [...new Set(takers.map((workload) => defaults[workload]))].map((value) => {
    const names = takers.filter((workload) => defaults[workload] === value);
    if (names.length === WORKLOADS.length) return value;
    return `${value} for ${names.join(", ").replace(LOADS, "loads")}`;
  });
  return `${about} (default: ${texts.join("; ")})`;
}
