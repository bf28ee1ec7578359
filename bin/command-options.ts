/**
 * Options that several commands share, and the parsers that turn what was typed into values.
 * Parsers throw commander's `InvalidArgumentError`, which becomes one line and exit code 2. An
 * environment variable that is set but empty counts as not set.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { AddressError, DEFAULT_ENDPOINTS, parseEndpoints } from "./addresses.js";
import { parseDuration } from "./durations.js";
import { EXIT } from "./exit-codes.js";
import { Failure } from "./failure.js";

const CONNECT_TIMEOUT_MS_DEFAULT = 10_000;
const CONNECT_TIMEOUT_MS_MAX = 3_600_000;
const ENDPOINTS_VARIABLE = "HOLDFAST_ENDPOINTS";

/** `--endpoints`, before or after the name of the command. */
export function endpointsOption(): Option {
  return new Option(
    "--endpoints <urls>",
    `nodes to connect to, separated by commas (env: ${ENDPOINTS_VARIABLE}, ` +
      "default: ws://127.0.0.1:7411 to :7413)",
  ).argParser(explained(parseEndpoints));
}

/** `--connect-timeout`, of the commands that need a cluster which serves. */
export function connectTimeoutOption(): Option {
  return new Option("--connect-timeout <duration>", "how long to look for a node that serves")
    .argParser(connectTimeoutArgument)
    .default(CONNECT_TIMEOUT_MS_DEFAULT, "10s");
}

/** Where a command connects to, and how long it tries: `connect` takes it as it is. */
export interface ClusterAccess {
  readonly endpoints: readonly string[];
  readonly connectTimeoutMs: number;
}

export function clusterAccessFor(command: Command): ClusterAccess {
  const { connectTimeout } = command.opts<{ connectTimeout: number }>();
  return { endpoints: endpointsFor(command), connectTimeoutMs: connectTimeout };
}

export function jsonOption(description: string): Option {
  return new Option("--json", description);
}

/** What was given nearest: after the command, before it, in the environment, the default. */
export function endpointsFor(command: Command): readonly string[] {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const given: unknown = at.opts()["endpoints"];
    if (Array.isArray(given)) return given.map(String);
  }
  const fromEnvironment = process.env[ENDPOINTS_VARIABLE];
  if (fromEnvironment === undefined || fromEnvironment === "") return DEFAULT_ENDPOINTS;
  try {
    return parseEndpoints(fromEnvironment);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new Failure(EXIT.usage, `${ENDPOINTS_VARIABLE}: ${error.message}`, { cause: error });
  }
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
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    throw new InvalidArgumentError("A duration needs a unit: 250ms, 5s, 1.5m, 1h.");
  }
  return milliseconds;
}

function connectTimeoutArgument(text: string): number {
  const milliseconds = Math.ceil(durationArgument(text));
  if (milliseconds < 1 || milliseconds > CONNECT_TIMEOUT_MS_MAX) {
    throw new InvalidArgumentError("A duration from 1ms to 1h is needed.");
  }
  return milliseconds;
}

/** A whole number between two bounds, both included. */
export function wholeNumberArgument(smallest: number, largest: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (value < smallest || value > largest) {
      throw new InvalidArgumentError(`A whole number from ${smallest} to ${largest} is needed.`);
    }
    return value;
  };
}

/** The examples a command's help begins with. */
export function examplesText(examples: readonly (readonly [string, string])[]): string {
  const widest = examples.reduce((width, [line]) => Math.max(width, line.length), 0);
  const lines = examples.map(([line, meaning]) => `  ${line.padEnd(widest)}  ${meaning}`);
  return ["Examples:", ...lines, ""].join("\n");
}
