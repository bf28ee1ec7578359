/**
 * `holdfast graph`: the wait-for graph of all keys. A cycle in it would be a deadlock; the cluster
 * refuses the request that would close one, unless detection was turned off.
 */
import { type Command, Option } from "commander";
import type { PossibleDeadlock, RefusedDeadlock, WaitGraphView } from "../../../src/index.js";
import {
  cyclePhrases,
  formatDuration,
  possiblePhrases,
  WAIT_COLUMNS,
  waitRows,
} from "../../../src/views/index.js";
import { ask, clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { wholeNumberArgument } from "../../config/command-options.js";
import { note, print, printJson } from "../../output/terminal.js";
import { dotText } from "../../text/printable.js";
import { formatWallTime } from "../../text/wall-time.js";
import { sentenceLines } from "../../views/sentences.js";
import { viewLines } from "../../views/view-table.js";

interface GraphFlags {
  readonly limit: number;
  readonly json?: boolean;
  readonly dot?: boolean;
}

const EDGES_MAX = 2_000;

const EXAMPLES: Examples = [
  ["holdfast graph", "a table: who waits for what and for whom"],
  ["holdfast graph --dot | dot -Tsvg > waits.svg", "a drawing by Graphviz"],
  ["holdfast graph --json", "one JSON document"],
];

const NOTES = `
A task is what an acquire belongs to: each acquire is a task of its own, unless
the client names one. Below stand the deadlocks that the answering node has seen
refused since it was started, at most 16, newest first.

A possible deadlock is a cycle of clients: each waits for a lock or permits that
the next one holds, and it cannot be said whether one task of that client does
both, because the acquires name no task. It is never refused. If it does not
end, ask with tasks (client.task, lock.acquire): then it is refused.`;

export function defineGraph(command: Command): void {
  command
    .addOption(
      new Option("-l, --limit <n>", "the largest number of pairs to show")
        .argParser(wholeNumberArgument(1, EDGES_MAX))
        .default(EDGES_MAX),
    )
    .addOption(new Option("--dot", "print a graph in the DOT language").conflicts("json"));
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async () => {
    const { limit, json, dot } = command.opts<GraphFlags>();
    const view = await ask(command, {}, (admin) => admin.waitGraph({ limit }));
    if (json === true) printJson(view);
    else if (dot === true) print((await dotOf(view)).trimEnd());
    else printTable(view);
  });
}

async function dotOf(view: WaitGraphView): Promise<string> {
  const { toDot } = await import("../../../src/index.js");
  return dotText(toDot(view));
}

function printTable({ tasks, edges, isTruncated, possible, refused }: WaitGraphView): void {
  if (edges.length === 0) note("no request is waiting");
  else {
    const lines = viewLines(Object.values(WAIT_COLUMNS), waitRows(tasks, edges));
    for (const line of lines) print(line);
  }
  if (isTruncated) note("there are more");
  for (const line of possibleLines(possible)) print(line);
  for (const line of refusedLines(refused)) print(line);
}

/** Each possible deadlock: how long it has lasted, and who waits for a lock of whom. */
export function possibleLines(possible: readonly PossibleDeadlock[]): string[] {
  if (possible.length === 0) return [];
  const lines = ["", "POSSIBLE DEADLOCKS"];
  for (const { waitingMs, cycle } of possible) {
    lines.push(`for ${formatDuration(waitingMs)}  perhaps a deadlock of ${cycle.length}`);
    lines.push(...sentenceLines(possiblePhrases(cycle), "  "));
  }
  return lines;
}

/** Each deadlock that was refused lately: when, and who waited for whom in what. */
export function refusedLines(refused: readonly RefusedDeadlock[]): string[] {
  if (refused.length === 0) return [];
  const lines = ["", "REFUSED LATELY"];
  for (const { wallMs, cycle } of refused) {
    lines.push(`${formatWallTime(wallMs)}  a deadlock of ${cycle.length}`);
    lines.push(...sentenceLines(cyclePhrases(cycle), "  "));
  }
  return lines;
}
