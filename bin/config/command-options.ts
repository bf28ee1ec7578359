/**
 * Options that several commands share, and the parsers that turn what was typed into values.
 * Parsers throw commander's `InvalidArgumentError`, which becomes one line and exit code 2. Options
 * that are not typed may come from the environment or a file: see `config/configuration.ts`.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { TlsOptions, TokenSource } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { CONNECTION_OPTIONS, FILE_OPTIONS } from "../options/option-table.js";
import { AddressError } from "../text/addresses.js";
import {
  DURATION_MS_MAX,
  DURATION_PROBLEM,
  formatDuration,
  parseDuration,
} from "../text/durations.js";
import { flagOf, variableOf } from "../text/option-spelling.js";
import { accessTokenFrom } from "./access-token.js";
import { certificateVariables, readCertificates } from "./certificate-files.js";
import { Configuration } from "./configuration.js";
import { flagOption, sentence } from "./flags.js";

/** `--endpoints`, before or after the name of the command. */
export function endpointsOption(): Option {
  return flagOption("endpoints", CONNECTION_OPTIONS.endpoints);
}

/** `--connect-timeout`, for commands that need a cluster with a leader. */
export function connectTimeoutOption(): Option {
  return flagOption("connectTimeout", CONNECTION_OPTIONS.connectTimeout);
}

/** `--config`, before or after the name of the command. */
export function configOption(): Option {
  return flagOption("config", FILE_OPTIONS.config);
}

/**
 * Adds to a command and its subcommands what many of them share: `--config`, and the files of
 * certificates if the command has `--endpoints`.
 */
export function addSharedOptions(command: Command): void {
  const { endpoints: _endpoints, connectTimeout: _connectTimeout, ...files } = CONNECTION_OPTIONS;
  if (hasOption(command, "endpoints")) {
    for (const [name, definition] of Object.entries(files)) {
      if (definition.reach === "secret" || hasOption(command, name)) continue;
      command.addOption(flagOption(name, definition));
    }
    for (const name of ["token", "accessToken"]) {
      if (!hasOption(command, name)) refuseSecret(command, flagOf(name));
    }
  }
  if (!hasOption(command, "config")) command.addOption(configOption());
  for (const below of command.commands) addSharedOptions(below);
}

/** Says why there is no such flag, without its value. */
function refuseSecret(command: Command, flag: string): void {
  const option = new Option(`${flag} [text]`).hideHelp();
  command.addOption(option).on(`option:${option.name()}`, () => {
    command.error(
      `there is no ${flag}, because every user of this machine can read command lines: ` +
        `put an access token in ${variableOf("accessToken")}, or in a file for --token-file`,
    );
  });
}

function hasOption(command: Command, name: string): boolean {
  return command.options.some((option) => option.attributeName() === name);
}

/** The nodes to connect to, the certificates for `wss:` endpoints, and the access token. */
export interface NodeAccess extends Readonly<TlsOptions> {
  readonly endpoints: readonly string[];
  readonly token?: TokenSource | undefined;
}

/** The same with the time to find a node. `connect` takes it as it is. */
export interface ClusterAccess extends NodeAccess {
  readonly connectTimeoutMs: number;
  /** For a question to one node: the others are not learned. Default true. */
  readonly followLeader?: boolean;
}

/** From the flags after the command, those before it, the environment, a file, or the defaults. */
export function clusterAccessFor(command: Command): ClusterAccess {
  const configuration = Configuration.of(command);
  const local = localAccessFor(configuration);
  if (local !== undefined) return local;
  const { endpoints, connectTimeout, ...files } = configuration.settle(CONNECTION_OPTIONS);
  const token = accessTokenFrom(configuration);
  return {
    endpoints,
    connectTimeoutMs: connectTimeout,
    ...readCertificates(files, endpoints),
    ...(token === undefined ? {} : { token }),
  };
}

/** With `--local`; whatever else is configured to find nodes and to prove an identity does not count. */
function localAccessFor(configuration: Configuration): ClusterAccess | undefined {
  const { local, connectTimeout } = configuration.settle(CONNECTION_OPTIONS);
  if (local === undefined) return undefined;
  const [endpoints] = configuration.settings({ endpoints: CONNECTION_OPTIONS.endpoints });
  if (endpoints?.source === "flag") {
    throw new Failure(
      EXIT.usage,
      "--local and --endpoints exclude each other: a command connects to that one node, or to any",
    );
  }
  requireDirectory(local);
  return { endpoints: [`unix:${resolve(local)}`], connectTimeoutMs: connectTimeout };
}

/** Waits for no directory: a node that starts makes it long before it serves. */
function requireDirectory(path: string): void {
  let problem = "it is a file";
  try {
    if (statSync(path).isDirectory()) return;
  } catch (error) {
    // Whether this user may use the socket is found out when it is opened.
    if (!["ENOENT", "ENOTDIR"].includes(systemCodeOf(error))) return;
    problem = "there is no such directory";
  }
  throw new Failure(
    EXIT.usage,
    `--local ${path}: ${problem}; give the data directory of a node (its --data)`,
  );
}

/** The variables with which a command that this one starts finds the same certificates. */
export function certificateVariablesFor(command: Command): Record<string, string> {
  return certificateVariables(Configuration.of(command).settle(CONNECTION_OPTIONS));
}

export function jsonOption(description: string): Option {
  return new Option("--json", description);
}

/** Turns the address parsers' errors into usage errors. */
export function explained<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      throw new InvalidArgumentError(`${error.message}.`);
    }
  };
}

/** A duration with a unit. */
export function durationArgument(text: string): number {
  const milliseconds = parseDuration(text, Number.MAX_SAFE_INTEGER);
  if (milliseconds === undefined) throw new InvalidArgumentError(sentence(DURATION_PROBLEM));
  if (milliseconds <= DURATION_MS_MAX) return milliseconds;
  throw new InvalidArgumentError(`It is longer than ${formatDuration(DURATION_MS_MAX)}.`);
}

/** A whole number between two bounds, both inclusive. */
export function wholeNumberArgument(smallest: number, largest: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : -1;
    if (value < smallest || value > largest || !Number.isSafeInteger(value)) {
      throw new InvalidArgumentError(`A whole number from ${smallest} to ${largest} is required.`);
    }
    return value;
  };
}

/** Width of an example with its meaning. */
const HELP_COLUMNS = 80;
/** The meaning of an example is at least this far to the right of it. */
const MEANING_INDENT = 4;

/**
 * The examples at the beginning of a command's help. The meaning of an example is to the right of
 * its last line, in one column for all, or below it if there is no room.
 */
export function examplesText(examples: readonly (readonly [string, string])[]): string {
  const lengths = examples.map(([text]) => lastLineOf(text).length);
  const hasRoom = (width: number): boolean =>
    examples.every(
      ([, meaning], at) => (lengths[at] ?? 0) > width || width + meaning.length + 4 <= HELP_COLUMNS,
    );
  const width = Math.max(MEANING_INDENT, ...lengths.filter(hasRoom));
  const lines = examples.flatMap(([text, meaning], at) => {
    const shown = text.split("\n").map((line) => `  ${line}`);
    const isBeside = (lengths[at] ?? 0) <= width;
    const before = isBeside ? (shown.pop() ?? "") : "";
    return [...shown, `${before.padEnd(width + 2)}  ${meaning}`];
  });
  return ["Examples:", ...lines, ""].join("\n");
}

function lastLineOf(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}
