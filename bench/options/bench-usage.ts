/**
 * What `npm run bench -- --help` prints.
 */

import { PEER_NAMES } from "../peers/peer.js";
import { NUMBER_NAMES, NUMBERS, type NumberName, WORKLOADS } from "./bench-numbers.js";
import { ATTACHMENTS, SYSTEM_NAMES } from "./system-names.js";

/** Where the texts of options begin. */
const COLUMN = 21;
const LINE_LENGTH_MAX = 100;

export const USAGE = `Examples:
  npm run bench -- uncontended --workers 1024   each worker on a lock of its own
  npm run bench -- contended --workers 64       all workers on one lock: hand-overs a second
  npm run bench -- uncontended --rate 5000      5,000 cycles begin each second, come what may
  npm run bench -- uncontended --peers all      the same with Redis, etcd, ZooKeeper, PostgreSQL
  npm run bench -- --all --peers all            everything; tables and a picture in .holdfast/
  npm run bench -- failover --runs 20           time without service when the leader goes
  npm run bench -- snapshot --holds 1000000     stalls while a large table is saved
  npm run bench -- queue --waiters 100000       what a long queue costs beside a short one
  npm run bench -- table --json                 a million held locks, as one JSON object

Usage: npm run bench -- <workload> [options]
       npm run bench -- --all [options]

Workloads:
  uncontended        closed loops of acquire and release, each on a lock of its own
  contended          the same, all on one lock
  hot-set            the same, on many locks of which few are wanted most (Zipf)
  rw                 the same, 90 % shared and 10 % exclusive on a few locks
  semaphore          the same, all on one semaphore
  multi              the same, 2 to 4 locks at once out of a few
  queue              waiters of one lock: enqueue, hand-over, cancel, among 100 and among many
  table              the same load on an empty and on a full table, memory of a held lock
  sessions           connected sessions that only renew, then one that expires with many locks
  failover           the leader is killed, stopped, cut off: longest time without an acquire
  snapshot           a table of held locks is saved under load: longest stall of the event loop

Options:
${NUMBER_NAMES.map(optionText).join("\n")}
${option("endpoints", "urls")}a running cluster; without it three nodes are started for the run
${" ".repeat(COLUMN)}(uncontended, contended, hot-set, rw, semaphore, multi)
${option("attach", "node")}clients go to: ${ATTACHMENTS.join(" (as they do by themselves) or ")}
${option("system", "name")}measured instead of this one (uncontended, contended):
${wrapped(SYSTEM_NAMES.join(", "), " ".repeat(COLUMN))}
${option("json")}one JSON object on standard output

Several measurements, each in a process of its own:
${option("all")}every workload, one after the other
${option("peers", "list")}these systems beside this one (uncontended, contended), or all of:
${wrapped(PEER_NAMES.join(", "), " ".repeat(COLUMN))}
${option("turns", "n")}each load so often with each system, in turns; the middle one counts
${option("markdown", "file")}the tables as a document (--all: .holdfast/bench.md)
${option("svg", "file")}the picture (--all: .holdfast/bench.svg)
${option("save", "file")}keeps results as they come (--all: .holdfast/bench.jsonl)
${option("resume")}goes on with what is saved there: that is not measured again

${option("help")}this`;

/** What it is, and its default for each workload that takes it. */
function optionText(name: NumberName): string {
  const { about, defaults }: { about: string; defaults: Readonly<Record<string, number>> } =
    NUMBERS[name];
  const takers = WORKLOADS.filter((workload) => workload in defaults);
  const values = [...new Set(takers.map((workload) => defaults[workload] ?? 0))];
  const texts = values.map((value) => {
    const names = takers.filter((workload) => defaults[workload] === value);
    return `${names.length === WORKLOADS.length ? "all" : names.join(", ")}: ${value}`;
  });
  const indent = " ".repeat(COLUMN);
  return `${option(name, "n")}${about}\n${wrapped(`(default of ${texts.join("; ")})`, indent)}`;
}

function option(name: string, value?: string): string {
  return `  --${name}${value === undefined ? "" : ` <${value}>`}`.padEnd(COLUMN);
}

function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length + word.length > LINE_LENGTH_MAX) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join("\n");
}
