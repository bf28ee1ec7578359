/**
 * `holdfast session ls` and `holdfast session end`: lists the clients, and ends one with everything it
 * holds and waits for, or everything that an identity has or left.
 */
import type { Command } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { Admin, SessionView } from "../../../src/index.js";
import { printable } from "../../../src/text/index.js";
import { countText, isAnonymous, SESSION_COLUMNS } from "../../../src/views/index.js";
import {
  ask,
  clusterCommand,
  commandGroup,
  type Examples,
  isJson,
  tell,
} from "../../cluster/cluster-command.js";
import { type EndedOfIdentity, endAllOf } from "../../cluster/identity-end.js";
import { wholeNumberArgument } from "../../config/command-options.js";
import {
  addForceOptions,
  FORCE_NOTES,
  type ForceFlags,
  forceOf,
} from "../../config/force-options.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { isOutputClosed, note, print, printJson } from "../../output/terminal.js";
import { displayWidth } from "../../text/display-width.js";
import { plainViewLines, viewLines } from "../../views/view-table.js";

const EXAMPLES: Examples = [
  ["holdfast session ls", "every client, with its holds and waits"],
  ["holdfast session end 17 --grace 10s", "end session 17 with everything it holds"],
];

const LS_EXAMPLES: Examples = [
  ["holdfast session ls", "a table"],
  ["holdfast session ls --json", "one JSON object per line"],
];

const END_EXAMPLES: Examples = [
  ["holdfast session end 17 --grace 10s", "it has ten seconds to release its locks"],
  ["holdfast session end 17 --now --reason 'host is gone'", "at once"],
  ["holdfast session end --identity ci --now", "everything that ci has or left"],
];

const LS_NOTES = `
LEASE LEFT is how long a session lives if its client sends nothing more. NODE is
the node to which its client attached last, ADDRESS where that client came from;
it is left out if the table would be wider than the terminal.
IDENTITY is left out while all are anonymous.`;

const END_NOTES = `${FORCE_NOTES}

With --identity it ends all sessions of that identity, its leases and what it
has handed over, and the cooldowns of its keys. Cooldowns that begin now stay.
An identity that can still prove itself can come back: first take its access
away (holdfast access remove). Run it again if a key has more than 1,000 holds.

Exit code 5 if there is no such session. The JSON document: {"session":17}, or
{"identity":"ci","sessions":3,"holds":2,"opened":1}`;

const { session, name, identity, node, address, holds, waits, ttl, lease, remarks } =
  SESSION_COLUMNS;
const COLUMNS = [session, name, identity, node, address, holds, waits, ttl, lease, remarks];

export function defineSession(command: Command): void {
  commandGroup(command, EXAMPLES);
  defineLs(command);
  defineEnd(command);
}

function defineLs(parent: Command): void {
  const command = parent
    .command("ls")
    .description("list the sessions, in the order of their numbers");
  clusterCommand(command, {
    examples: LS_EXAMPLES,
    notes: LS_NOTES,
    json: "print one JSON object per line",
  }).action(async () => {
    await ask(command, {}, async (admin) => {
      if (isJson(command)) await printObjects(admin);
      else await printTable(admin);
    });
  });
}

function defineEnd(parent: Command): void {
  const command = parent
    .command("end")
    .description("end a session, or all that an identity has, with everything held and waited for")
    .argument("[id]", "number of the session", wholeNumberArgument(1, Number.MAX_SAFE_INTEGER))
    .option(
      "--identity <name>",
      "all sessions, leases, handed-over holds and cooldowns of this identity",
    );
  addForceOptions(command);
  clusterCommand(command, { examples: END_EXAMPLES, notes: END_NOTES }).action(
    async (session: number | undefined) => {
      const flags = command.opts<ForceFlags & { identity?: string }>();
      const force = forceOf(flags);
      const { identity } = flags;
      if ((session === undefined) === (identity === undefined)) {
        throw new Failure(EXIT.usage, "give the number of a session, or --identity");
      }
      if (session === undefined) {
        const name = identity ?? "";
        const ended = await ask(command, {}, (admin) => endAllOf(admin, name, force));
        tell(command, { identity: name, ...ended }, endedText(name, ended, force.now));
        return;
      }
      await ask(command, {}, (admin) =>
        admin.endSession(session, force).catch((error: unknown) => {
          throw explained(error, session);
        }),
      );
      const what = force.now ? "has ended" : "was asked to end";
      tell(command, { session }, `session ${session} ${what}`);
    },
  );
}

function endedText(identity: string, ended: EndedOfIdentity, isNow: boolean): string {
  const { sessions, holds, opened } = ended;
  const what = `${countText(sessions, "session")} and ${countText(holds, "lease or handed-over hold", "leases and handed-over holds")}`;
  const how = isNow ? "have ended" : "were asked to end";
  return `${printable(identity)}: ${what} ${how}, and ${countText(opened, "cooldown")} ended`;
}

function explained(error: unknown, session: number): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "NOT_HELD") return error;
  return new Failure(EXIT.refused, `there is no session ${session}`, { cause: error });
}

async function printObjects(admin: Admin): Promise<void> {
  for await (const view of admin.sessions()) {
    printJson(view);
    if (isOutputClosed()) return;
  }
}

async function printTable(admin: Admin): Promise<void> {
  const views: SessionView[] = [];
  for await (const view of admin.sessions()) views.push(view);
  if (views.length === 0) note("no client is connected");
  if (views.length === 0) return;
  // In an open cluster everybody may be anonymous.
  const all = views.every(isAnonymous) ? COLUMNS.filter((one) => one !== identity) : COLUMNS;
  const widthMax = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
  const natural = plainViewLines(all, views, Number.POSITIVE_INFINITY);
  const isTooWide = natural.some((line) => displayWidth(line) > widthMax);
  const columns = isTooWide ? all.filter((one) => one !== address) : all;
  for (const line of viewLines(columns, views)) print(line);
}
