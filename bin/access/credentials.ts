/**
 * `holdfast access token` and `certificate`: how an identity proves who it is. A token is shown once,
 * by the command that makes it, and by nothing else.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { makeToken, type TokenOutput } from "../cluster/access-token-output.js";
import { ask, isJson, subcommand, tell } from "../cluster/cluster-command.js";
import { sentence } from "../config/flags.js";
import { DURATION_PROBLEM, parseDuration } from "../text/durations.js";
import { expiryText } from "../text/wall-time.js";
import { identityArgument, labelOption } from "./access-command.js";

const DAY_MS = 86_400_000;
const EXPIRES_MS_MAX = 3_650 * DAY_MS;

/** The default, as help shows it. */
export const TOKEN_LABEL = "token- and random digits";

const TOKEN_NOTES = `
Prints the access token, which nothing can show again; with --out it is only
written to the file. A program shows it by --token-file or
HOLDFAST_ACCESS_TOKEN_FILE, or by the option token of the SDK. An access token
replaces the one with the same label, which then stops working. The JSON
document:
  {"name":"billing","label":"token-5f1c09aa","token":"hf_…","file":null,
   "expiresWallMs":0}
token: null with --out. expiresWallMs: 0 for never.`;

const CERTIFICATE_NOTES = `
The certificate must name the identity, as "holdfast cert client IDENTITY" makes
it, and its CA must be the --client-ca of the nodes. The JSON document:
  {"name":"billing","label":"certificate","expiresWallMs":0}`;

export function defineToken(parent: Command): void {
  const command = subcommand(parent, "token", "make an access token for an identity", [
    ["holdfast access token billing", "print it"],
    ["holdfast access token billing --label ci --expires 90d", "for 90 days"],
    ["holdfast access token billing --out billing.token", "write it to a new file"],
  ]);
  identityArgument(command)
    .addOption(labelOption(TOKEN_LABEL))
    .addOption(expiresOption())
    .addOption(outOption())
    .addHelpText("after", TOKEN_NOTES)
    .action(async (name: string) => {
      const { label } = command.opts<{ label?: string }>();
      const options = { label, expiresWallMs: expiresWallMs(command) };
      await ask(command, { identity: name, label }, (admin) =>
        makeToken(admin, name, options, outputOf(command)),
      );
    });
}

export function defineCertificate(parent: Command): void {
  const command = subcommand(parent, "certificate", "accept client certificates for an identity", [
    ["holdfast access certificate billing", "every certificate that names billing"],
    ["holdfast access certificate billing --expires 365d", "for a year at most"],
  ]);
  identityArgument(command)
    .addOption(labelOption("certificate"))
    .addOption(expiresOption())
    .addHelpText("after", CERTIFICATE_NOTES)
    .action(async (name: string) => {
      const given = command.opts<{ label?: string }>().label;
      const expires = expiresWallMs(command);
      const label = await ask(command, { identity: name, label: given }, (admin) =>
        admin.access.addCertificate(name, { label: given, expiresWallMs: expires }),
      );
      const until = expires === 0 ? "" : ` until ${expiryText(expires, 0)}`;
      const text = `certificates for ${name} are accepted${until}, label ${label}`;
      tell(command, { name, label, expiresWallMs: expires }, text);
    });
}

export function outOption(): Option {
  return new Option("--out <file>", "write the access token to a new file that only you can read");
}

function expiresOption(): Option {
  return new Option("--expires <duration>", "how long it is valid (default: forever)").argParser(
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

export function outputOf(command: Command): TokenOutput {
  return { out: command.opts<{ out?: string }>().out, isJson: isJson(command) };
}
