/**
 * `holdfast graph`: the wait-for graph of all keys. A cycle in it would be a deadlock; the cluster
 * refuses the request that would close one, unless detection was turned off.
 */
import { type Command, Option } from "commander";
import type { CycleMember, RefusedDeadlock, WaitGraphView } from "../../../src/index.js";
import { keyText } from "../../../src/text/index.js";
import { ask, clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { wholeNumberArgument } from "../../config/command-options.js";
import { note, print, printJson } from "../../output/terminal.js";
import { type Column, tableLines } from "../../output/text-table.js";
import { dotText } from "../../text/printable.js";
import { sessionText } from "../../text/session-names.js";
import { formatWallTime } from "../../text/wall-time.js";

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
A task is what an acquire belongs to: acquires of a client with the same owner
belong to one task. Below stand the deadlocks that the answering node has seen
refused since it was started, at most 16, newest first.`;

const COLUMNS: readonly Column[] = [
  { heading: "WHO WAITS" },
  { heading: "TASK", alignment: "right" },
  { heading: "KEY" },
  { heading: "MODE" },
  { heading: "BEHIND" },
  { heading: "TASK", alignment: "right" },
  { heading: "WHICH" },
];

const CYCLE_COLUMNS: readonly Column[] = [
  { heading: "" },
  { heading: "WHO WAITED" },
  { heading: "TASK", alignment: "right" },
  { heading: "KEY" },
  { heading: "MODE" },
  { heading: "BEHIND" },
  { heading: "TASK", alignment: "right" },
];

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

function printTable(view: WaitGraphView): void {
  if (view.edges.length === 0) note("no request is waiting");
  else printWaits(view);
  for (const line of refusedLines(view.refused)) print(line);
}

/** Each deadlock that was refused lately: when, and who waited for whom in what. */
export function refusedLines(refused: readonly RefusedDeadlock[]): string[] {
  if (refused.length === 0) return [];
  const lines = ["", "REFUSED LATELY"];
  for (const { wallMs, cycle } of refused) {
    lines.push(`${formatWallTime(wallMs)}  a deadlock of ${cycle.length}`);
    const rows = cycle.map((member, at) => [
      at === 0 ? "refused" : "",
      ...taskOf(member),
      member.key === "" ? "another key" : keyText(member.key),
      member.mode,
      ...taskOf(cycle[(at + 1) % cycle.length] ?? member),
    ]);
    lines.push(...tableLines(CYCLE_COLUMNS, rows));
  }
  return lines;
}

/** Of a member in a key that may not be observed nothing is known. */
function taskOf({ sessionName, session, identity, owner, key }: CycleMember): [string, string] {
  if (key === "") return ["somebody", "-"];
  return [sessionText(sessionName, session, identity), String(owner)];
}

function printWaits({ owners, edges, isTruncated }: WaitGraphView): void {
  const byId = new Map(owners.map((owner) => [owner.id, owner]));
  const nameOf = (id: number): [string, string] => {
    const { sessionName = "", session = 0, identity = "", owner } = byId.get(id) ?? {};
    return [sessionText(sessionName, session, identity), owner === undefined ? "-" : String(owner)];
  };
  const rows = edges.map(({ from, to, key, mode, why }) => [
    ...nameOf(from),
    keyText(key),
    mode,
    ...nameOf(to),
    why === "holds" ? "holds it" : "waits before",
  ]);
  for (const line of tableLines(COLUMNS, rows)) print(line);
  if (isTruncated) note("there are more");
}
