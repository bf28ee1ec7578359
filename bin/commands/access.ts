/**
 * `holdfast access …`: who may do what. Makes identities, their tokens and their grants, and opens and
 * closes the cluster to clients that prove nothing. A token is shown once, by the command that makes
 * it, and by nothing else.
 */
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { HoldfastError } from "../../src/errors.js";
import type { Admin, GrantLevel, GrantTarget, IdentityView } from "../../src/index.js";
import { makeToken } from "../cluster/access-token-output.js";
import { askCluster } from "../cluster/cluster-queries.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
} from "../config/command-options.js";
import { sentence } from "../config/flags.js";
import { variableOf } from "../config/option-definition.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { note, print, printJson } from "../output/terminal.js";
import { DURATION_PROBLEM, parseDuration } from "../text/durations.js";
import { shellWord } from "../text/shell-word.js";
import { expiryText } from "../text/wall-time.js";
import {
  grantsText,
  grantTarget,
  grantText,
  identityLines,
  isEverything,
  targetText,
} from "../views/access-view.js";

type Finish = (exitCode: number) => void;
type Examples = readonly (readonly [string, string])[];

const ANONYMOUS = "anonymous";
const EVERYTHING: GrantTarget = Object.freeze({ prefix: "" });
const LEVELS: readonly GrantLevel[] = ["observe", "acquire", "operate", "admin"];
const DAY_MS = 86_400_000;
const EXPIRES_MS_MAX = 3_650 * DAY_MS;

const EXAMPLES: Examples = [
  ["holdfast access init --out admin.token", "the first admin, and its token"],
  ["holdfast access add billing", "an identity for a program"],
  ["holdfast access grant billing acquire 'orders/*'", "what it may do"],
  ["holdfast access token billing --out b.token", "how it proves who it is"],
  ["holdfast access anonymous deny", "close the cluster to all others"],
];

const NOTES = `
An identity has a level on a key, or on all keys with a prefix:
  observe  read and watch
  acquire  also acquire locks
  operate  also take locks from others, set limits, end sessions
  admin    also settings, members, snapshots and access; on all keys only
A KEY that ends in * is a prefix: quote it, since shells expand it.

Clients that prove nothing are anonymous, which has admin in a new cluster.`;

const INIT_NOTES = `
Makes an identity, grants it admin on all keys, and prints its token, which
nothing can show again. The cluster stays open until anonymous is denied. Exit
code 5 if an identity has a credential already: use "access token" or "access
add". After an interruption, execute it again. The JSON document is that of
"access token".`;

const TOKEN_NOTES = `
Prints the token, which nothing can show again; with --out it is only written
to the file. A token replaces that of the same label, which then no longer
works. The JSON document:
  {"name":"billing","label":"token-5f1c09aa","token":"hf_…","file":null,
   "expiresWallMs":0}
token: null with --out. expiresWallMs: 0 for never.`;

const CERTIFICATE_NOTES = `
The name in the certificate must be NAME ("holdfast cert client NAME"), and the
CA one of the nodes' --client-ca. The JSON document:
  {"name":"billing","label":"certificate","expiresWallMs":0}`;

const REMOVE_NOTES = `
Without --label, the identity is removed with its grants and credentials, and
its sessions end. With --label, one credential is removed, and its connections
end. No error if there is none. Exit code 5 if no admin would be left. The JSON
document: {"name":"billing","label":null}`;

const GRANT_NOTES = `
A grant replaces that on the same key or prefix. Of several that cover a key the
highest counts. KEY defaults to * for admin. The JSON document:
  {"name":"billing","level":"acquire","key":"orders/","isPrefix":true}`;

const REVOKE_NOTES = `
Removes the grant on exactly that key or prefix, and says what the identity may
still do there. Locks that are held stay held. The JSON document:
  {"name":"billing","key":"orders/","isPrefix":true}`;

const CHECK_NOTES = `
Exit code 0 if it is allowed, 1 if not. About oneself every identity may ask,
about others an admin. The JSON document:
  {"name":"billing","level":"acquire","key":"orders/1","isPrefix":false,
   "isKnown":true,"isAllowed":true,"grant":{"key":"orders/","isPrefix":true,
   "level":"acquire"}}
grant: the highest that covers the key, or null.`;

const LS_NOTES = `
A line of JSON:
  {"name":"billing","grants":[{"key":"orders/","isPrefix":true,
   "level":"acquire"}],"credentials":[{"label":"ci","kind":"token",
   "expiresWallMs":0,"createdWallMs":1795478400000}],
   "usage":{"sessions":2,"holds":5,"waits":1,"bytes":4711}}
kind: token or certificate. expiresWallMs: 0 for never. usage: what its sessions
have in the table of locks; the last table leaves out who has nothing there.`;

const WHOAMI_NOTES = `
The JSON document:
  {"name":"billing","grants":[{"key":"orders/","isPrefix":true,
   "level":"acquire"}]}`;

const ANONYMOUS_NOTES = `
deny removes the grant of everything, which closes the cluster; allow grants it
again. Smaller grants of anonymous stay. deny tells on standard error how many
sessions are still anonymous. It is refused with exit code 5 if you are
anonymous yourself, unless --force is given, and always if no identity has admin
and a credential that does not expire. The JSON document:
  {"isOpen":false}`;

export function defineAccess(command: Command, finish: Finish): void {
  command
    .helpCommand(false)
    .usage("<command> [options]")
    .addHelpText("before", examplesText(EXAMPLES))
    .addHelpText("after", NOTES);
  defineInit(command, finish);
  defineAdd(command, finish);
  defineRemove(command, finish);
  defineToken(command, finish);
  defineCertificate(command, finish);
  defineGrant(command, finish);
  defineRevoke(command, finish);
  defineLs(command, finish);
  defineCheck(command, finish);
  defineWhoami(command, finish);
  defineAnonymous(command, finish);
}

function defineInit(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "init", "make the first admin and its token", [
    ["holdfast access init", "print the token of a new identity admin"],
    ["holdfast access init ops --out ops.token", "another name, the token in a file"],
  ]);
  command
    .argument("[name]", "name of the identity (default: admin)")
    .addOption(outOption())
    .addHelpText("after", INIT_NOTES)
    .action(async (name = "admin") => {
      await ask(command, { name }, (admin) =>
        makeToken(admin, name, {}, outputOf(command), async () => {
          await requireNoCredential(admin).catch((error: unknown) => {
            throw initFailure(error);
          });
          await admin.access.addIdentity(name);
          await admin.access.grant(name, "admin", EVERYTHING);
        }),
      );
      if (!isJson(command)) {
        note(`${name} has admin on all keys, and the cluster is still open to everyone`);
        const { out } = outputOf(command);
        const assignment =
          out === undefined
            ? `${variableOf("accessToken")}=TOKEN`
            : `${variableOf("tokenFile")}=${shellWord(out)}`;
        note(`to close it: export ${assignment}, then holdfast access anonymous deny`);
      }
      finish(EXIT.done);
    });
}

function defineAdd(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "add", "make an identity", [
    ["holdfast access add billing", "it may do nothing until it has grants"],
  ]);
  command
    .argument("<name>", "letters, digits and ._-@/+:, up to 128")
    .addHelpText("after", '\nNo error if it exists. The JSON document: {"name":"billing"}')
    .action(async (name: string) => {
      await ask(command, { name }, (admin) => admin.access.addIdentity(name));
      tell(command, { name }, `${name} is an identity`);
      finish(EXIT.done);
    });
}

function defineRemove(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "remove", "remove an identity, or one credential of it", [
    ["holdfast access remove billing --label ci", "the token ci"],
    ["holdfast access remove billing", "the identity with all that it has"],
  ]);
  identityArgument(command)
    .option("--label <label>", "only the credential of this label")
    .addHelpText("after", REMOVE_NOTES)
    .action(async (name: string) => {
      const { label } = command.opts<{ label?: string }>();
      await ask(command, { name, label }, ({ access }) =>
        label === undefined ? access.removeIdentity(name) : access.removeCredential(name, label),
      );
      const what = label === undefined ? `there is no identity ${name}` : `${name} has no ${label}`;
      tell(command, { name, label: label ?? null }, `${what} any more`);
      finish(EXIT.done);
    });
}

function defineToken(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "token", "make a token for an identity", [
    ["holdfast access token billing", "print it"],
    ["holdfast access token billing --label ci --expires 90d", "for 90 days"],
    ["holdfast access token billing --out billing.token", "write it to a new file"],
  ]);
  identityArgument(command)
    .addOption(labelOption("token- and random digits"))
    .addOption(expiresOption())
    .addOption(outOption())
    .addHelpText("after", TOKEN_NOTES)
    .action(async (name: string) => {
      const { label } = command.opts<{ label?: string }>();
      const options = { label, expiresWallMs: expiresWallMs(command) };
      await ask(command, { name, label }, (admin) =>
        makeToken(admin, name, options, outputOf(command)),
      );
      finish(EXIT.done);
    });
}

function defineCertificate(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "certificate", "accept client certificates for an identity", [
    ["holdfast access certificate billing", "any certificate for billing"],
    ["holdfast access certificate billing --expires 365d", "for a year at most"],
  ]);
  identityArgument(command)
    .addOption(labelOption("certificate"))
    .addOption(expiresOption())
    .addHelpText("after", CERTIFICATE_NOTES)
    .action(async (name: string) => {
      const given = command.opts<{ label?: string }>().label;
      const expires = expiresWallMs(command);
      const label = await ask(command, { name, label: given }, (admin) =>
        admin.access.addCertificate(name, { label: given, expiresWallMs: expires }),
      );
      const until = expires === 0 ? "" : ` until ${expiryText(expires, 0)}`;
      const text = `certificates for ${name} are accepted${until}, label ${label}`;
      tell(command, { name, label, expiresWallMs: expires }, text);
      finish(EXIT.done);
    });
}

function defineGrant(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "grant", "allow an identity something", [
    ["holdfast access grant billing acquire 'orders/*'", "on keys that begin so"],
    ["holdfast access grant billing observe orders", "on one key"],
    ["holdfast access grant ops admin", "everything"],
  ]);
  levelArgument(identityArgument(command))
    .argument("[key]", "a key, or a prefix that ends in *")
    .addOption(exactOption())
    .addHelpText("after", GRANT_NOTES)
    .action(async (name: string, level: GrantLevel, key: string | undefined) => {
      const target = grantedTarget(command, level, key);
      await ask(command, { name, target }, ({ access }) => access.grant(name, level, target));
      const text = `${name} has ${level} on ${targetText(target)}`;
      tell(command, { name, level, ...fieldsOf(target) }, text);
      finish(EXIT.done);
    });
}

function defineRevoke(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "revoke", "remove a grant of an identity", [
    ["holdfast access revoke billing 'orders/*'", "the grant on that prefix"],
  ]);
  keyArgument(identityArgument(command))
    .addHelpText("after", REVOKE_NOTES)
    .action(async (name: string, key: string) => {
      const target = targetOf(command, key);
      const left = await ask(command, { name, target }, async ({ access }) => {
        await access.revoke(name, target);
        return access.check(name, "observe", target);
      });
      const rest = left.grant === null ? "" : `; it still has ${grantText(left.grant)}`;
      const text = `${name} has no grant on ${targetText(target)}${rest}`;
      tell(command, { name, ...fieldsOf(target) }, text);
      finish(EXIT.done);
    });
}

function defineLs(parent: Command, finish: Finish): void {
  const command = subcommand(
    parent,
    "ls",
    "show identities, their grants and credentials",
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
      const identities = await ask(command, { name }, (admin) => identitiesOf(admin, name));
      if (isJson(command)) for (const identity of identities) printJson(identity);
      else for (const line of identityLines(identities, Date.now())) print(line);
      finish(EXIT.done);
    });
}

function defineCheck(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "check", "say whether an identity may do something", [
    ["holdfast access check billing acquire orders/1", "exit code 0 if it may, else 1"],
    ["holdfast access check billing observe 'orders/*'", "on all keys that begin so"],
  ]);
  keyArgument(levelArgument(identityArgument(command)))
    .addHelpText("after", CHECK_NOTES)
    .action(async (name: string, level: GrantLevel, key: string) => {
      const target = targetOf(command, key);
      const view = await ask(command, { name, target }, ({ access }) =>
        access.check(name, level, target),
      );
      const { isKnown, isAllowed, grant } = view;
      const none = isKnown
        ? `no grant of ${name} covers ${targetText(target)}`
        : `there is no identity ${name}`;
      const why = grant === null ? none : `${name} has ${grantText(grant)}`;
      const text = `${isAllowed ? "yes" : "no"}: ${why}`;
      tell(command, { name, level, ...fieldsOf(target), ...view }, text);
      finish(isAllowed ? EXIT.done : EXIT.failed);
    });
}

function defineWhoami(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "whoami", "show which identity you are", [
    ["holdfast access whoami", "its name and what it may do"],
  ]);
  command.addHelpText("after", WHOAMI_NOTES).action(async () => {
    const view = await ask(command, {}, (admin) => admin.whoAmI());
    tell(command, view, `${view.name}: ${grantsText(view.grants)}`);
    finish(EXIT.done);
  });
}

function defineAnonymous(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "anonymous", "open or close the cluster to everyone", [
    ["holdfast access anonymous deny", "close it: clients need a token or certificate"],
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
        isOpen ? open(admin) : close(command, admin),
      );
      tell(command, { isOpen }, text);
      finish(EXIT.done);
    });
}

async function open({ access }: Admin): Promise<string> {
  await access.grant(ANONYMOUS, "admin", EVERYTHING);
  return "the cluster is open: every client may do everything";
}

async function close(command: Command, admin: Admin): Promise<string> {
  const { force } = command.opts<{ force?: boolean }>();
  const { name } = await admin.whoAmI();
  if (name === ANONYMOUS && force !== true) {
    const way = "give a token of an admin (HOLDFAST_ACCESS_TOKEN or --token-file)";
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
  return `the cluster is closed: anonymous has ${grantsText(grants)}, and ${others}`;
}

/** Identities without any cannot have closed the cluster; an interrupted `init` leaves one behind. */
async function requireNoCredential(admin: Admin): Promise<void> {
  const all = await identitiesOf(admin, undefined);
  const made = all.filter(({ credentials }) => credentials.length > 0);
  const isAdmin = ({ grants }: IdentityView): boolean =>
    grants.some(({ level }) => level === "admin");
  const shown = made.find(isAdmin) ?? made[0];
  if (shown === undefined) return;
  const others = made.length === 1 ? "" : ` and ${made.length - 1} more`;
  const lost = isAdmin(shown)
    ? `; if the token of ${shown.name} is lost: holdfast access token ${shown.name} --local DIR`
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

/** Clients that are still connected without a name. */
function noteLeft({ sessions, holds }: IdentityView["usage"]): void {
  const who = sessions === 1 ? "1 session is" : `${sessions} sessions are`;
  const locks = holds === 1 ? "1 lock" : `${holds} locks`;
  note(`${who} still anonymous: what they hold stays (${locks}), without a grant they get no more`);
  note("to see them: holdfast session ls; to open again: holdfast access anonymous allow");
}

/** All of them, or the one of that name. */
async function identitiesOf(admin: Admin, name: string | undefined): Promise<IdentityView[]> {
  const all: IdentityView[] = [];
  for await (const identity of admin.access.list()) {
    if (name === undefined || identity.name === name) all.push(identity);
  }
  if (all.length > 0) return all;
  throw new Failure(EXIT.refused, `there is no identity ${name}: see holdfast access ls`);
}

interface Named {
  readonly name?: string | undefined;
  readonly label?: string | undefined;
  readonly target?: GrantTarget;
}

/** Names are checked before a cluster is looked for. */
async function ask<T>(
  command: Command,
  { name, label, target }: Named,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const access = clusterAccessFor(command);
  const { requireIdentity, requireLabel } = await import("../../src/client/index.js");
  if (name !== undefined) requireIdentity(name);
  if (label !== undefined) requireLabel(label);
  return askCluster(access, work, target);
}

function tell(command: Command, document: object, text: string): void {
  if (isJson(command)) printJson(document);
  else print(text);
}

function grantedTarget(command: Command, level: GrantLevel, key: string | undefined): GrantTarget {
  if (key === undefined && level !== "admin") {
    throw new Failure(EXIT.usage, `give a key, or a prefix as 'orders/*', or '*' for all keys`);
  }
  const target = key === undefined ? EVERYTHING : targetOf(command, key);
  if (level !== "admin" || isEverything(target)) return target;
  throw new Failure(EXIT.usage, "admin is granted on all keys only: leave KEY out");
}

function targetOf(command: Command, key: string): GrantTarget {
  return grantTarget(key, command.opts<{ exact?: boolean }>().exact === true);
}

/** As views have them. */
function fieldsOf(target: GrantTarget): { readonly key: string; readonly isPrefix: boolean } {
  return "prefix" in target
    ? { key: target.prefix, isPrefix: true }
    : { key: target.key, isPrefix: false };
}

function subcommand(
  parent: Command,
  name: string,
  summary: string,
  examples: Examples,
  json = "print one JSON document",
): Command {
  return parent
    .command(name)
    .description(summary)
    .addHelpText("before", examplesText(examples))
    .addOption(jsonOption(json))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption());
}

function identityArgument(command: Command): Command {
  return command.argument("<identity>", "name of the identity");
}

function levelArgument(command: Command): Command {
  return command.addArgument(
    new Argument("<level>", "what it allows: holdfast access --help").choices(LEVELS),
  );
}

function keyArgument(command: Command): Command {
  return command.argument("<key>", "a key, or a prefix that ends in *").addOption(exactOption());
}

function exactOption(): Option {
  return new Option("--exact", "KEY is one key, even if it ends in *");
}

function labelOption(shown: string): Option {
  return new Option("--label <label>", `distinguishes it from others (default: ${shown})`);
}

function outOption(): Option {
  return new Option("--out <file>", "write the token to a new file that only you can read");
}

function expiresOption(): Option {
  return new Option("--expires <duration>", "how long it is valid (default: for ever)").argParser(
    (text) => {
      const milliseconds = parseDuration(text, Number.MAX_SAFE_INTEGER);
      if (milliseconds === undefined) throw new InvalidArgumentError(sentence(DURATION_PROBLEM));
      if (milliseconds >= 1_000 && milliseconds <= EXPIRES_MS_MAX) return milliseconds;
      throw new InvalidArgumentError("A duration from 1s to 3650d is required.");
    },
  );
}

function expiresWallMs(command: Command): number {
  const { expires } = command.opts<{ expires?: number }>();
  return expires === undefined ? 0 : Date.now() + expires;
}

function outputOf(command: Command): {
  readonly out: string | undefined;
  readonly isJson: boolean;
} {
  return { out: command.opts<{ out?: string }>().out, isJson: isJson(command) };
}

function isJson(command: Command): boolean {
  return command.opts<{ json?: boolean }>().json === true;
}
