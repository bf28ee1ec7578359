/** `holdfast access init`: makes the first admin of a cluster and its access token. Never a second. */
import type { Command } from "commander";
import { HoldfastError } from "../../src/errors/index.js";
import type { Admin, IdentityView } from "../../src/index.js";
import { makeToken, type TokenOutput } from "../cluster/access-token-output.js";
import { ask, isJson, subcommand } from "../cluster/cluster-command.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import { variableOf } from "../text/option-spelling.js";
import { shellWord } from "../text/shell-word.js";
import { ANONYMOUS, EVERYTHING, identitiesOf, labelOption } from "./access-command.js";
import { outOption, outputOf, TOKEN_LABEL } from "./credentials.js";

const INIT_NOTES = `
Makes an identity, grants it admin on all keys, and prints its access token,
which nothing can show again. What anonymous may do stays as it is: "access
anonymous deny" secures the cluster. Exit code 5 if an identity has a credential
already: use "access token" or "access add". After an interruption, execute it
again. The JSON document has the form of "access token".`;

export function defineInit(parent: Command): void {
  const command = subcommand(parent, "init", "make the first admin and its access token", [
    ["holdfast access init", "print the access token of a new identity admin"],
    ["holdfast access init ops --out ops.token", "another name, the access token in a file"],
  ]);
  command
    .argument("[name]", "name of the identity (default: admin)")
    .addOption(labelOption(TOKEN_LABEL))
    .addOption(outOption())
    .addHelpText("after", INIT_NOTES)
    .action(async (name = "admin") => {
      const { label } = command.opts<{ label?: string }>();
      let isOpen = false;
      await ask(command, { identity: name, label }, (admin) =>
        makeToken(admin, name, { label }, outputOf(command), async () => {
          await requireNoCredential(admin).catch((error: unknown) => {
            throw initFailure(error);
          });
          ({ isAllowed: isOpen } = await admin.access.check(ANONYMOUS, "admin", EVERYTHING));
          await admin.access.addIdentity(name);
          await admin.access.grant(name, "admin", EVERYTHING);
        }),
      );
      if (!isJson(command)) noteNext(name, isOpen, outputOf(command));
    });
}

/** The cluster does not know which nodes were started with `--access required`. */
function noteNext(name: string, isOpen: boolean, { out }: TokenOutput): void {
  note(`${name} has admin on all keys`);
  if (!isOpen) return;
  const assignment =
    out === undefined
      ? `${variableOf("accessToken")}=TOKEN`
      : `${variableOf("tokenFile")}=${shellWord(out)}`;
  note("so has everyone else, except at nodes with --access required");
  note(`to secure the cluster: export ${assignment}, then holdfast access anonymous deny`);
}

/** Identities without any cannot have secured the cluster; an interrupted `init` leaves one behind. */
async function requireNoCredential(admin: Admin): Promise<void> {
  const all = await identitiesOf(admin, undefined);
  const made = all.filter(({ credentials }) => credentials.length > 0);
  const isAdmin = ({ grants }: IdentityView): boolean =>
    grants.some(({ level }) => level === "admin");
  const shown = made.find(isAdmin) ?? made[0];
  if (shown === undefined) return;
  const others = made.length === 1 ? "" : ` and ${made.length - 1} more`;
  const lost = isAdmin(shown)
    ? `; if the access token of ${shown.name} is lost: ` +
      `holdfast access token ${shown.name} --local DIR`
    : "";
  throw new Failure(
    EXIT.refused,
    `there are identities with credentials already (${shown.name}${others}): ` +
      `make others with holdfast access add${lost}`,
  );
}

/** The first admin of a cluster that is not open is made where no credential is needed. */
function initFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) return error;
  if (error.code !== "UNAUTHENTICATED" && error.code !== "FORBIDDEN") return error;
  const what = error.code === "FORBIDDEN" ? "you have no admin here" : "the cluster is not open";
  const way = "on the machine of a node, with its data directory: holdfast access init --local DIR";
  return new Failure(EXIT.refused, `${what}: ${way} (${error.code})`, { cause: error });
}
