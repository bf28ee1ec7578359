/**
 * What the commands that ask a cluster share: how they are declared, how they ask, and how they print
 * what they were answered. A command has its own arguments, options and words, and nothing else here
 * may depend on which command it is.
 */
import type { Command } from "commander";
import type { Admin } from "../../src/index.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
} from "../config/command-options.js";
import { print, printJson } from "../output/terminal.js";
import { type About, askCluster, withAdmin } from "./cluster-connections.js";

/** Command lines, each with its meaning. */
export type Examples = readonly (readonly [string, string])[];

export interface CommandHelp {
  readonly examples: Examples;
  readonly notes?: string;
  /** What `--json` does, if it is more than one document. */
  readonly json?: string;
}

/** Help and `--json`. Help lists options in the order in which they were added. */
export function jsonCommand(
  command: Command,
  { examples, notes, json = "print one JSON document" }: CommandHelp,
): Command {
  command.addHelpText("before", examplesText(examples)).addOption(jsonOption(json));
  return notes === undefined ? command : command.addHelpText("after", notes);
}

/** Like `jsonCommand`, for a command that asks a cluster: with the options that name its nodes. */
export function clusterCommand(command: Command, help: CommandHelp): Command {
  return jsonCommand(command, help).addOption(endpointsOption()).addOption(connectTimeoutOption());
}

/** A part of a command that has several, with their options at the head of its own. */
export function subcommand(
  parent: Command,
  name: string,
  summary: string,
  examples: Examples,
  json?: string,
): Command {
  const command = parent.command(name).description(summary);
  return clusterCommand(command, { examples, ...(json === undefined ? {} : { json }) });
}

/** A command that does nothing itself and has subcommands. */
export function commandGroup(command: Command, examples: Examples, notes?: string): void {
  command
    .helpCommand(false)
    .usage("<command> [options]")
    .addHelpText("before", examplesText(examples));
  if (notes !== undefined) command.addHelpText("after", notes);
}

/** Asks the cluster that the options of `command` name. What it is asked about is checked first. */
export function ask<T>(
  command: Command,
  about: About,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  return askCluster(clusterAccessFor(command), work, about);
}

/** Like `ask`, for requests that the leader may refuse because of the state of the cluster. */
export function operate<T>(command: Command, work: (admin: Admin) => Promise<T>): Promise<T> {
  return withAdmin(clusterAccessFor(command), work);
}

/** Prints the document if `--json` was given, otherwise the text or its lines. */
export function tell(command: Command, document: unknown, text: string | readonly string[]): void {
  if (isJson(command)) printJson(document);
  else for (const line of [text].flat()) print(line);
}

export function isJson(command: Command): boolean {
  return command.opts<{ json?: boolean }>().json === true;
}
