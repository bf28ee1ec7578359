/**
 * The origin of each option's value: the flag, otherwise the environment, otherwise the file,
 * otherwise the default. Every value is checked by its kind wherever it came from, and an error
 * message names its origin.
 */
import type { Command } from "commander";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import type {
  OptionDefinition,
  OptionDefinitions,
  SettledOptions,
} from "../options/option-definition.js";
import { jsonTypesText, textOfJson, ValueProblem } from "../options/option-kind.js";
import { flagOf, variableOf } from "../text/option-spelling.js";
import { type ConfigFile, readConfigFile } from "./config-file.js";
import { type Environment, requireKnownVariables, variableText } from "./environment.js";
import { flagText } from "./flags.js";

export type OptionSource = "flag" | "environment" | "file" | "default";

/** One option with its value, `undefined` if it has none. */
export interface Setting {
  readonly name: string;
  readonly definition: OptionDefinition<unknown>;
  readonly value: unknown;
  readonly source: OptionSource;
  /** Flag, variable or file; `undefined` for a default. */
  readonly origin: string | undefined;
}

/** The value that was typed for an option; `undefined` if none was. */
export type TypedFlags = (name: string) => unknown;

export class Configuration {
  readonly #typed: TypedFlags;
  readonly #environment: Environment;
  readonly #file: ConfigFile | undefined;

  constructor(typed: TypedFlags, environment: Environment, file: ConfigFile | undefined) {
    this.#typed = typed;
    this.#environment = environment;
    this.#file = file;
  }

  /** For a command that was parsed: the flag nearest to it counts. */
  static of(...commands: readonly Command[]): Configuration {
    return Configuration.from(typedIn(commands), process.env);
  }

  /** Fails with exit code 2 for an unknown variable or an invalid file. */
  static from(typed: TypedFlags, environment: Environment): Configuration {
    requireKnownVariables(environment);
    const path = typed("config") ?? variableText(environment, "config");
    const file = path === undefined ? undefined : readConfigFile(String(path));
    return new Configuration(typed, environment, file);
  }

  get filePath(): string | undefined {
    return this.#file?.path;
  }

  /** The values of a section. Fails with exit code 2 for an invalid or missing one. */
  settle<Options extends OptionDefinitions>(options: Options): SettledOptions<Options> {
    const values: Record<string, unknown> = {};
    for (const { name, definition, value } of this.settings(options)) {
      if (value === undefined && definition.isRequired) throw missing(name, definition);
      values[name] = value;
    }
    // One value for each name, of that option's kind.
    return values as SettledOptions<Options>;
  }

  /** Each option with its origin. Fails with exit code 2 for an invalid value. */
  settings(options: OptionDefinitions): Setting[] {
    return Object.entries(options).map(([name, definition]) => this.#setting(name, definition));
  }

  #setting(name: string, definition: OptionDefinition<unknown>): Setting {
    const typed = definition.reach === "secret" ? undefined : this.#typed(name);
    if (typed !== undefined) {
      return { name, definition, value: typed, source: "flag", origin: flagOf(name) };
    }
    const text = definition.reach === "flag" ? undefined : variableText(this.#environment, name);
    if (text !== undefined) {
      const origin = variableOf(name);
      const value = parsed(definition, text, origin);
      return { name, definition, value, source: "environment", origin };
    }
    const file = this.#file;
    const json = file?.values.get(name);
    if (file !== undefined && json !== undefined && json !== null) {
      const value = parsedJson(name, definition, json, file);
      return { name, definition, value, source: "file", origin: file.path };
    }
    const value = definition.defaultValue;
    return { name, definition, value, source: "default", origin: undefined };
  }
}

/** The most specific value: after the name of the command, otherwise before it. */
function typedIn(commands: readonly Command[]): TypedFlags {
  return (name) => {
    for (const command of commands) {
      for (let at: Command | null = command; at !== null; at = at.parent) {
        if (at.getOptionValueSource(name) === "cli") return at.getOptionValue(name);
      }
    }
    return undefined;
  };
}

function parsed(definition: OptionDefinition<unknown>, text: string, origin: string): unknown {
  try {
    return definition.kind.parse(text);
  } catch (error) {
    if (!(error instanceof ValueProblem)) throw error;
    if (definition.reach === "secret") {
      // Neither the text nor a message or cause that quotes it, since it may be secret.
      throw new Failure(EXIT.usage, `${origin}: invalid value (not shown)`);
    }
    throw new Failure(EXIT.usage, `${origin}=${text}: ${error.message}`, { cause: error });
  }
}

function parsedJson(
  name: string,
  definition: OptionDefinition<unknown>,
  json: unknown,
  { path, lines }: ConfigFile,
): unknown {
  const place = `${path}:${lines.get(name)}: ${name}`;
  const text = textOfJson(definition.kind, json);
  if (text === undefined) {
    throw new Failure(EXIT.usage, `${place}: ${jsonTypesText(definition.kind)} is required`);
  }
  return parsed(definition, text, place);
}

function missing(name: string, definition: OptionDefinition<unknown>): Failure {
  return new Failure(
    EXIT.usage,
    `required option '${flagText(name, definition)}' not specified ` +
      `(nor ${variableOf(name)}, nor ${name} in a file)`,
  );
}
