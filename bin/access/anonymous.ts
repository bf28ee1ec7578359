/**
 * `holdfast access anonymous`: opens the cluster to clients that prove nothing, or secures it. Must
 * not let its user lock themselves out unasked.
 */
import { Argument, type Command } from "commander";
import type { Admin, IdentityView } from "../../src/index.js";
import { ask, subcommand, tell } from "../cluster/cluster-command.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import { grantsText } from "../views/access-view.js";
import { ANONYMOUS, EVERYTHING, identitiesOf } from "./access-command.js";

const ANONYMOUS_NOTES = `
anonymous is every client that proves nothing. deny removes its permission
to do everything, which secures the cluster; allow grants it again. Smaller
permissions of anonymous stay. deny says on standard error how many sessions are
still anonymous. It is refused with exit code 5 if you are anonymous yourself,
unless --force is given, and always if no identity has admin and a credential
that does not expire. The JSON document:
  {"isOpen":false}`;

export function defineAnonymous(parent: Command): void {
  const command = subcommand(parent, "anonymous", "open the cluster to everyone, or secure it", [
    ["holdfast access anonymous deny", "secure it: clients need an access token or certificate"],
    ["holdfast access anonymous allow", "open it: everyone may do everything"],
  ]);
  command
    .addArgument(
      new Argument("<what>", "whether everyone may do everything").choices(["allow", "deny"]),
    )
    .option("--force", "deny, even if you are anonymous yourself")
    .addHelpText("after", ANONYMOUS_NOTES)
    .action(async (what: "allow" | "deny") => {
      const isOpen = what === "allow";
      const text = await ask(command, {}, (admin) =>
        isOpen ? open(admin) : secure(command, admin),
      );
      tell(command, { isOpen }, text);
    });
}

async function open({ access }: Admin): Promise<string> {
  await access.grant(ANONYMOUS, "admin", EVERYTHING);
  return "the cluster is open: every client may do everything";
}

async function secure(command: Command, admin: Admin): Promise<string> {
  const { force } = command.opts<{ force?: boolean }>();
  const { name } = await admin.whoAmI();
  if (name === ANONYMOUS && force !== true) {
    const way = "give the access token of an admin (--token-file or HOLDFAST_ACCESS_TOKEN_FILE)";
    throw new Failure(
      EXIT.refused,
      `you are anonymous, and would lock yourself out: first ${way}, or use --force`,
    );
  }
  await admin.access.revoke(ANONYMOUS, EVERYTHING);
  const all = await identitiesOf(admin, undefined);
  const { grants = [], usage } = all.find((identity) => identity.name === ANONYMOUS) ?? {};
  if (usage !== undefined && usage.sessions > 0) noteLeft(usage);
  const known = all.filter(({ credentials }) => credentials.length > 0).length;
  const others = `${known} ${known === 1 ? "identity has" : "identities have"} credentials`;
  return `the cluster is secured: anonymous has ${grantsText(grants)}, and ${others}`;
}

/** Clients that are still connected without a name. */
function noteLeft({ sessions, holds }: IdentityView["usage"]): void {
  const who = sessions === 1 ? "1 session is" : `${sessions} sessions are`;
  const locks = holds === 1 ? "1 lock" : `${holds} locks`;
  note(`${who} still anonymous: they keep what they hold (${locks}), and get no more`);
  note("to see them: holdfast session ls; to open again: holdfast access anonymous allow");
}
