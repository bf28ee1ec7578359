/**
 * `holdfast member …`: shows the members of the cluster, and changes them one node at a time. The
 * leader decides whether a change is safe; its refusals are printed in its own words (exit code 5).
 */
import { type Command, Option } from "commander";
import type { Admin, MembersView } from "../../../src/index.js";
import type { HostPort } from "../../../src/server/index.js";
import { majorityText } from "../../../src/views/index.js";
import {
  commandGroup,
  type Examples,
  operate,
  subcommand,
  tell,
} from "../../cluster/cluster-command.js";
import { withAdmin } from "../../cluster/cluster-connections.js";
import { refusalAmong } from "../../cluster/cluster-outage.js";
import { isUrl, nodeReports } from "../../cluster/node-report.js";
import { promoteWhenCaughtUp } from "../../cluster/promotion.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  durationArgument,
  explained,
} from "../../config/command-options.js";
import { addEither } from "../../config/flags.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { ProgressLine } from "../../output/progress-line.js";
import { note, print, printJson } from "../../output/terminal.js";
import { formatHostPort, parseMemberAddress, parseNodeId } from "../../text/addresses.js";
import {
  type JoinProof,
  joinEndpoints,
  memberLines,
  proofLines,
  startCommand,
} from "../../views/member-view.js";

interface WaitFlags {
  readonly json?: boolean;
  /** Milliseconds, or false by `--no-wait`. */
  readonly wait: number | false;
}

interface AddFlags extends WaitFlags {
  readonly promote?: boolean;
  readonly move?: boolean;
}

const WAIT_MS_DEFAULT = 60_000;
/** How long a node has to say whether its pages are only for clients that sign in. */
const ANSWER_MS_MAX = 1_000;

const EXAMPLES: Examples = [
  ["holdfast member ls", "the members of the cluster"],
  ["holdfast member add 4 db-4:7511", "add node 4, which then catches up"],
  ["holdfast member promote 4", "then make it a voter"],
  ["holdfast member remove 2", "remove node 2"],
];

const NOTES = `
A node joins as a learner: it receives every entry and has no vote until it is
promoted. Every command can be repeated; it succeeds if nothing changes.`;

const LS_NOTES = `
LAG: committed entries that are not known to be on the node's disk. STARTS: how
often a process was started on its data. The JSON document:
  {"leaderId":1,"term":3,"commitIndex":42,"isJoint":false,"members":[{"id":1,
   "role":"voter","address":"db-1:7511","endpoint":"ws://db-1:7411",
   "isReachable":true,"lagEntries":0,"incarnation":1}]}
role: voter or learner. isJoint: a change is under way.`;

const CHANGE_NOTES = `
Exit code 5 if the leader refuses it in the current state, 4 if there is no
leader. The JSON document:
  {"id":4,"role":"voter"}
role: voter, learner, or null if the node is not a member.`;

const ADD_NOTES = `
Prints the command that starts the node on its machine, with the certificate or
the access token that it needs to join. HOST:PORT is where the other nodes reach
it; the address of a member is changed only with --move. Exit code 5 if the node
is a member at another address, or if the leader refuses it in the current
state, 4 if there is no leader, 124 if the node has not caught up within --wait.
The JSON document:
  {"id":4,"role":"learner","address":"db-4:7511","start":["holdfast","server",
   "--id=4",…]}`;

const PROMOTE_NOTES = `
Exit code 124 if it has not caught up within --wait; with --no-wait, 5 at once.
The JSON document:
  {"id":4,"role":"voter"}`;

export function defineMember(command: Command): void {
  commandGroup(command, EXAMPLES, NOTES);
  defineLs(command);
  defineAdd(command);
  definePromote(command);
  defineDemote(command);
  defineRemove(command);
}

function defineLs(parent: Command): void {
  const command = subcommand(parent, "ls", "show the members", [
    ["holdfast member ls", "a table"],
    ["holdfast member ls --json", "one JSON document"],
  ]);
  command.addHelpText("after", LS_NOTES).action(async () => {
    const view = await operate(command, (admin) => admin.members());
    tell(command, view, memberLines(view));
  });
}

function defineAdd(parent: Command): void {
  const command = subcommand(parent, "add", "add a node as a learner", [
    ["holdfast member add 4 db-4:7511", "and show how to start it"],
    ["holdfast member add 4 db-4:7511 --promote", "wait until it has caught up, and promote it"],
  ]);
  idArgument(command)
    .argument(
      "<host:port>",
      "address at which the other nodes reach it",
      explained(parseMemberAddress),
    )
    .option("--promote", "wait until it has caught up, and promote it")
    .option("--move", "change the address of a present member")
    .addOption(waitOption("how long to wait with --promote"))
    .addHelpText("after", ADD_NOTES)
    .action(async (id: number, address: HostPort) => {
      await add(clusterAccessFor(command), id, address, command.opts<AddFlags>());
    });
}

function definePromote(parent: Command): void {
  const command = subcommand(parent, "promote", "make a learner a voter, when it has caught up", [
    ["holdfast member promote 4", "wait until it has caught up"],
    ["holdfast member promote 4 --no-wait", "only if it has caught up"],
  ]);
  const noWait = new Option("--no-wait", "refuse at once if it has not caught up");
  addEither(idArgument(command), waitOption("how long to wait until it has caught up"), noWait)
    .addHelpText("after", PROMOTE_NOTES)
    .action(async (id: number) => {
      const { wait } = command.opts<WaitFlags>();
      await operate(command, async (admin) => {
        await promote(admin, id, wait || 0);
        await tellRole(command, admin, id, `node ${id} is a voter`);
      });
    });
}

function defineDemote(parent: Command): void {
  const command = subcommand(parent, "demote", "make a voter a learner", [
    ["holdfast member demote 2", "it still receives entries, but has no vote"],
  ]);
  idArgument(command)
    .addHelpText("after", CHANGE_NOTES)
    .action(async (id: number) => {
      await operate(command, async (admin) => {
        await admin.demoteMember(id);
        await tellRole(command, admin, id, `node ${id} is a learner`);
      });
    });
}

function defineRemove(parent: Command): void {
  const command = subcommand(parent, "remove", "remove a node from the cluster", [
    ["holdfast member remove 2", "forever: its id is not used again"],
  ]);
  idArgument(command)
    .addHelpText("after", CHANGE_NOTES)
    .action(async (id: number) => {
      await operate(command, async (admin) => {
        await admin.removeMember(id);
        const text = `node ${id} is not a member: its process can be stopped and its data deleted`;
        await tellRole(command, admin, id, text);
      });
    });
}

async function add(
  access: ClusterAccess,
  id: number,
  address: HostPort,
  { promote: isPromoted, move, wait, json }: AddFlags,
): Promise<void> {
  const promoteWaitMs = isPromoted === true ? wait || 0 : undefined;
  const view = await withAdmin(access, async (admin) => {
    if (move !== true) requireNotElsewhere(await admin.members(), id, address);
    await admin.addMember(id, formatHostPort(address));
    return admin.members();
  });
  const endpoints = joinEndpoints(id, view, access.endpoints);
  const proof = await joinProof(endpoints);
  const start = startCommand(id, address, endpoints, proof);
  const isVoter = roleIn(view, id) === "voter";
  if (json !== true) {
    printJoining(id, start, proofLines(id, address, proof));
    if (!isVoter && promoteWaitMs === undefined) printPromotion(id);
  } else if (promoteWaitMs !== undefined) note(`start it: ${start.join(" ")}`);
  if (promoteWaitMs !== undefined) {
    await withAdmin(access, (admin) => promote(admin, id, promoteWaitMs));
  }
  const role = isVoter || promoteWaitMs !== undefined ? "voter" : "learner";
  if (json === true) printJson({ id, role, address: formatHostPort(address), start });
  else if (promoteWaitMs !== undefined) print(`node ${id} is a voter`);
}

/** A wrong id must not change the address of a member: the others would lose it. */
function requireNotElsewhere({ members }: MembersView, id: number, address: HostPort): void {
  const member = members.find((candidate) => candidate.id === id);
  const wanted = formatHostPort(address);
  if (member === undefined || member.address === wanted) return;
  const where = `node ${id} is a ${member.role} already, at ${member.address}`;
  const move = `holdfast member add ${id} ${wanted} --move`;
  throw new Failure(EXIT.refused, `${where}; to change its address to ${wanted}: ${move}`);
}

/** Nodes with TLS want a certificate. Others are asked whether they show everyone their pages. */
async function joinProof(endpoints: readonly string[]): Promise<JoinProof> {
  if (endpoints.some((endpoint) => endpoint.startsWith("wss:"))) return "certificate";
  const asked = endpoints.filter((endpoint) => isUrl(endpoint));
  const reports = await nodeReports({ endpoints: asked }, { timeoutMs: ANSWER_MS_MAX });
  return refusalAmong(reports) === undefined ? "none" : "token";
}

function printJoining(id: number, start: readonly string[], more: readonly string[]): void {
  print(`node ${id} is a member. Start it on its machine, with a directory of its own:`);
  print("");
  print(`  ${start.join(" ")}`);
  print("");
  if (more.length === 0) return;
  for (const line of more) print(line);
  print("");
}

function printPromotion(id: number): void {
  print(`It catches up by itself. Then make it a voter: holdfast member promote ${id}`);
}

async function promote(admin: Admin, id: number, waitMs: number): Promise<void> {
  const progress = new ProgressLine();
  try {
    await promoteWhenCaughtUp(admin, id, waitMs, (text) => progress.show(text));
  } finally {
    progress.end();
  }
}

/** Prints the result, and what it means for the cluster. */
async function tellRole(command: Command, admin: Admin, id: number, text: string): Promise<void> {
  const view = await admin.members();
  tell(command, { id, role: roleIn(view, id) ?? null }, [text, majorityText(view.members)]);
}

function roleIn({ members }: MembersView, id: number): string | undefined {
  return members.find((member) => member.id === id)?.role;
}

function idArgument(command: Command): Command {
  return command.argument("<id>", "number of the node", explained(parseNodeId));
}

function waitOption(description: string): Option {
  return new Option("--wait <duration>", description)
    .argParser(durationArgument)
    .default(WAIT_MS_DEFAULT, "60s");
}
