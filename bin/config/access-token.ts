/**
 * The access token of a command: from HOLDFAST_ACCESS_TOKEN or a file, never from a flag, which every user of
 * the machine could read. No message contains it.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import type { TokenSource } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { TOKEN_OPTIONS } from "../options/token-options.js";
import { fileFailure } from "../output/new-file.js";
import { note } from "../output/terminal.js";
import { variableOf } from "../text/option-spelling.js";
import type { Configuration, Setting } from "./configuration.js";

/** Permissions of those who are neither the owner nor in the group. */
const OTHERS = 0o007;
/** Of all tokens that Holdfast makes. */
const PREFIX = "hf_";
/** Such a path may be one of another machine, or misspelt. */
const PATH = /^(?:\.{0,2}|~)\//;

/**
 * The token in the file of `--token-file`, else the token that was given itself, else the token in
 * a file that was not typed. `undefined` if there is none. Fails with exit code 2 for a file that
 * cannot be used.
 */
export function accessTokenFrom(configuration: Configuration): TokenSource | undefined {
  const [token, file] = configuration.settings(TOKEN_OPTIONS);
  const path = file?.value as string | undefined;
  const text = token?.value as string | undefined;
  if (path !== undefined && (file?.source === "flag" || text === undefined)) return fromFile(path);
  if (token !== undefined && text !== undefined) refusePath(text.trim(), token);
  return text?.trim();
}

/** The name of a file is easily given as a token. Never shown: it can be a token after all. */
function refusePath(text: string, { source, origin }: Setting): void {
  if (text.startsWith(PREFIX) || !(PATH.test(text) || existsSync(text))) return;
  const isVariable = source === "environment";
  const what = isVariable ? origin : `accessToken in ${origin}`;
  const way = isVariable ? variableOf("tokenFile") : "tokenFile";
  throw new Failure(
    EXIT.usage,
    `${what} must be the access token itself, and seems to be the name of a file: give it as ${way}`,
  );
}

/** A regular file is read at each connection, since its token may be replaced; a pipe only once. */
function fromFile(path: string): TokenSource {
  const token = tokenIn(path);
  const { mode } = statSync(path);
  if (!isRegular(mode)) return token;
  if ((mode & OTHERS) !== 0) {
    note(`other users of this machine can read the access token in ${path}: chmod 600 ${path}`);
  }
  return () => tokenIn(path);
}

function isRegular(mode: number): boolean {
  return (mode & 0o170000) === 0o100000;
}

function tokenIn(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, "utf8").trim();
  } catch (error) {
    if (systemCodeOf(error) === "") throw error;
    throw new Failure(EXIT.usage, fileFailure("read", path, error).message, { cause: error });
  }
  if (token !== "") return token;
  throw new Failure(EXIT.usage, `${path} is empty: an access token is required`);
}
