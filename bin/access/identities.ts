/** `holdfast access add`, `remove`, `ls` and `whoami`: identities, with all that they have. */
import type { Command } from "commander";
import { ask, isJson, subcommand, tell } from "../cluster/cluster-command.js";
import { print, printJson } from "../output/terminal.js";
import { grantsText, identityLines } from "../views/access-view.js";
import { identitiesOf, identityArgument } from "./access-command.js";

const REMOVE_NOTES = `
Without --label, the identity is removed with its permissions and credentials,
and its sessions end. With --label, one credential is removed, and its
connections end. No error if there is none. Exit code 5 if no admin would be
left. The JSON document: {"name":"billing","label":null}`;

const LS_NOTES = `
The first table has the permissions, the second one the access tokens and
certificates by which each identity proves itself, the third one what its
sessions have. Two identities are always there: anonymous, every client that
proves nothing, and local, every client that uses --local. A line of JSON:
  {"name":"billing","grants":[{"key":"orders/","isPrefix":true,
   "level":"acquire"}],"credentials":[{"label":"ci","kind":"token",
   "expiresWallMs":0,"createdWallMs":1795478400000}],
   "usage":{"sessions":2,"holds":5,"waits":1,"bytes":4711}}
kind: token (an access token) or certificate. expiresWallMs: 0 for never.
usage: the third table, which leaves out identities whose sessions have nothing.`;

const WHOAMI_NOTES = `
The JSON document:
  {"name":"billing","grants":[{"key":"orders/","isPrefix":true,
   "level":"acquire"}]}`;

export function defineAdd(parent: Command): void {
  const command = subcommand(parent, "add", "make an identity", [
    ["holdfast access add billing", "it may do nothing until it has permissions"],
  ]);
  command
    .argument("<name>", "letters, digits and ._-@/+:, up to 128")
    .addHelpText("after", '\nNo error if it exists. The JSON document: {"name":"billing"}')
    .action(async (name: string) => {
      await ask(command, { identity: name }, (admin) => admin.access.addIdentity(name));
      tell(command, { name }, `${name} is an identity`);
    });
}

export function defineRemove(parent: Command): void {
  const command = subcommand(parent, "remove", "remove an identity, or one credential of it", [
    ["holdfast access remove billing --label ci", "its access token ci"],
    ["holdfast access remove billing", "the identity with all that it has"],
  ]);
  identityArgument(command)
    .option("--label <label>", "only the access token or certificate of this label (see ls)")
    .addHelpText("after", REMOVE_NOTES)
    .action(async (name: string) => {
      const { label } = command.opts<{ label?: string }>();
      await ask(command, { identity: name, label }, ({ access }) =>
        label === undefined ? access.removeIdentity(name) : access.removeCredential(name, label),
      );
      const what =
        label === undefined
          ? `there is no identity ${name}`
          : `${name} has no credential with the label ${label}`;
      tell(command, { name, label: label ?? null }, `${what} any more`);
    });
}

export function defineLs(parent: Command): void {
  const command = subcommand(
    parent,
    "ls",
    "show identities, their permissions and credentials",
    [
      ["holdfast access ls", "all of them"],
      ["holdfast access ls billing", "one of them"],
      ["holdfast access ls --json", "one JSON object per line"],
    ],
    "print one JSON object per line",
  );
  command
    .argument("[identity]", "only this one")
    .addHelpText("after", LS_NOTES)
    .action(async (name: string | undefined) => {
      const identities = await ask(command, { identity: name }, (admin) =>
        identitiesOf(admin, name),
      );
      if (isJson(command)) for (const identity of identities) printJson(identity);
      else for (const line of identityLines(identities, Date.now())) print(line);
    });
}

export function defineWhoami(parent: Command): void {
  const command = subcommand(parent, "whoami", "show which identity you are", [
    ["holdfast access whoami", "its name and what it may do"],
  ]);
  command.addHelpText("after", WHOAMI_NOTES).action(async () => {
    const view = await ask(command, {}, (admin) => admin.whoAmI());
    tell(command, view, `${view.name}: ${grantsText(view.grants)}`);
  });
}
