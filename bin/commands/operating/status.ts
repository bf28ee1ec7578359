/**
 * `holdfast status`: what each node reports about itself, including nodes that do not answer. Works
 * without a leader; the exit code says whether there is one.
 */
import type { Command } from "commander";
import type { NodeStatus } from "../../../src/index.js";
import { printable } from "../../../src/text/index.js";
import {
  type Finding,
  findingText,
  formatDuration,
  NODE_COLUMNS,
} from "../../../src/views/index.js";
import { healthOf, leaderIn, nodesOf, type SeenNode } from "../../cluster/cluster-findings.js";
import { knownLeader, outageOf, refusalAmong } from "../../cluster/cluster-outage.js";
import {
  type ClusterMember,
  clusterMembers,
  isLocal,
  isReachable,
  leaderOf,
  type NodeReport,
} from "../../cluster/node-report.js";
import {
  clusterAccessFor,
  endpointsOption,
  examplesText,
  jsonOption,
  type NodeAccess,
} from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { print, printJson, type Style, styled } from "../../output/terminal.js";
import { widthOf } from "../../output/text-table.js";
import { wrapped } from "../../text/wrapped.js";
import { type CellStyles, viewLines as tableLines } from "../../views/view-table.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast status", "the nodes of the cluster"],
  ["holdfast status --json", "one JSON document"],
];

const NOTES = `
Shows the given nodes and all nodes that these know of, and what is wrong with
them. Exit code 4 if the cluster grants nothing: no node answers, there is no
leader, or the disks are full; 5 if it refuses who asks. The JSON document:
  {"nodes":[{"id":1,"role":"leader","pid":4711,"term":3,"commitIndex":42,
   "appliedIndex":42,"endpoint":"ws://127.0.0.1:7411",
   "access":{"state":"open","identities":0}}],
   "findings":[{"code":"diskFull","level":"bad","sentence":"…","help":"…"}]}
STATE says in a word the worst that is wrong with a node itself; the lines below
the table say all that is wrong. ROLE is "electing" for a node that has no
leader and asks for votes.
role: leader, follower, learner, preCandidate, candidate, starting, quarantined,
or unreachable; then unknown values are null.
access: whether clients that do not sign in may do everything ("open"),
something ("partlyOpen") or nothing ("closed": the cluster is secured).
findings: the worst first; level is "down" (the cluster grants nothing), "bad"
(it serves, and somebody should act) or "warning".
A quarantined node also has "damage":{"file":"…","reason":"…"}.`;

type AccessState = NonNullable<NodeStatus["access"]>["state"];

const { node, role, state, pid, term, commit, applied, endpoint, problem } = NODE_COLUMNS;
const COLUMNS = [node, role, state, pid, term, commit, applied, endpoint, problem];
const STYLES: CellStyles = {
  role: (cell) => (cell === "leader" ? "green" : undefined),
  state: (cell) => STATE_STYLES[cell] ?? (cell === "answers" ? undefined : "yellow"),
};
const STATE_STYLES: Readonly<Record<string, Style>> = { unreachable: "red", quarantined: "red" };

export function defineStatus(command: Command, finish: Finish): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addHelpText("after", NOTES)
    .action(async () => {
      const { json } = command.opts<{ json?: boolean }>();
      finish(await showStatus(clusterAccessFor(command), json === true));
    });
}

async function showStatus(access: NodeAccess, isJson: boolean): Promise<number> {
  const members = await clusterMembers(access);
  const reports = members.map(({ report }) => report);
  const nodes = nodesOf(members);
  const leader = knownLeaderAt(access, reports) ?? leaderIn(members);
  const { findings } = healthOf(nodes, leader, Date.now());
  if (isJson) printJson({ nodes: members.map(document), findings });
  else for (const line of reportLines(members, nodes, findings)) print(line);
  const refusal = refusalAmong(reports);
  if (refusal !== undefined && !reports.some(isReachable)) throw refusal;
  const outage = await outageOf(members, access.endpoints);
  if (outage !== undefined) {
    const { wayOut } = await import("../../../src/client/index.js");
    const hint = reports.some(isReachable) ? "" : wayOut(access.endpoints);
    throw new Failure(EXIT.noCluster, outage + hint);
  }
  return findings.some(({ level }) => level === "down") ? EXIT.noCluster : EXIT.done;
}

/** Through a local socket one node is asked, which knows who leads. */
function knownLeaderAt(
  { endpoints }: NodeAccess,
  reports: readonly NodeReport[],
): number | undefined {
  return isLocal(endpoints) ? knownLeader(reports.filter(isReachable)) : undefined;
}

function document({ id, report }: ClusterMember): Record<string, unknown> {
  const { role, endpoint } = report;
  if (!report.isReachable) {
    const [pid, term, commitIndex, appliedIndex, access] = [null, null, null, null, null];
    return { id: id ?? null, role, pid, term, commitIndex, appliedIndex, endpoint, access };
  }
  const { pid, term, commitIndex, appliedIndex, damage } = report;
  const access = report.access ?? null;
  const told = { id, role, pid, term, commitIndex, appliedIndex, endpoint, access };
  if (damage === undefined) return told;
  return { ...told, damage: { file: damage.file, reason: damage.reason } };
}

function reportLines(
  members: readonly ClusterMember[],
  nodes: readonly SeenNode[],
  findings: readonly Finding[],
): string[] {
  const lines = tableLines(COLUMNS, nodes, STYLES);
  // That there is no leader, or a node does not answer, is said in the table and at the end.
  const told = findings.filter(({ code }) => code !== "noLeader");
  if (told.length > 0) lines.push("");
  for (const finding of told) {
    lines.push(...textLines(findingText(finding), finding.level === "warning" ? "yellow" : "red"));
  }
  for (const { id, report } of members) {
    if (!report.isReachable || report.damage === undefined) continue;
    const { file, reason } = report.damage;
    const damage = `node ${id} is quarantined: ${printable(file)}: ${printable(reason)}`;
    lines.push("", ...textLines(damage, "red"));
    lines.push(`stop it, then: holdfast recover --id ${id} --data DIRECTORY`);
  }
  for (const { id, report } of members) {
    if (!report.isReachable || report.redis?.redlock === undefined) continue;
    lines.push("", ...textLines(`node ${id}: ${printable(report.redis.redlock)}`, "yellow"));
  }
  const quietMs = quietMsIn(members);
  if (quietMs > 0) {
    const text = `restored from a snapshot: no session is opened for ${formatDuration(quietMs)}`;
    lines.push("", ...textLines(text, "yellow"));
  }
  const open = accessText(members);
  if (open !== undefined) lines.push("", open);
  return lines;
}

/** On a terminal broken between words. */
function textLines(text: string, style: Style): string[] {
  const lines = wrapped(text, widthOf(process.stdout));
  return lines.map((line) => styled(style, line, process.stdout));
}

/**
 * By the leader, otherwise by the first that answers. `undefined` for an open cluster that has no
 * identities.
 */
function accessText(members: readonly ClusterMember[]): string | undefined {
  const reports = members.map(({ report }) => report);
  const told = reports.flatMap((report) => (report.isReachable ? [report.access] : []));
  const access = leaderOf(reports)?.access ?? told.find((one) => one !== undefined);
  if (access === undefined || (access.state === "open" && access.identities === 0))
    return undefined;
  return ACCESS_TEXTS[access.state];
}

const ACCESS_TEXTS: Readonly<Record<AccessState, string>> = {
  open: styled("yellow", "open: clients that do not sign in may do everything", process.stdout),
  partlyOpen: "partly open: clients that do not sign in may do what anonymous may",
  closed: "secured: clients that do not sign in may do nothing",
};

/** By the leader, otherwise the longest: another node may be behind, or just starting. */
function quietMsIn(members: readonly ClusterMember[]): number {
  const reports = members.map(({ report }) => report);
  const told = reports.flatMap((report) => (report.isReachable ? [report.quietMs ?? 0] : []));
  return leaderOf(reports)?.quietMs ?? Math.max(0, ...told);
}
