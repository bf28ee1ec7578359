/**
 * Options from the environment. A variable that is set but empty counts as not set. Other programs
 * set variables with our prefix too: those that Kubernetes sets for a service called holdfast are
 * ignored, and of the rest only likely misspellings are errors.
 */
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { OPTION_TABLE } from "../options/option-table.js";
import { variableOf } from "../text/option-spelling.js";
import { similarName } from "./similar-name.js";

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = variableOf("");
/** Variables that are not options: what a command under a lock gets, and how errors are shown. */
const OTHER_VARIABLES: readonly string[] = ["key", "token", "slot", "session", "held", "debug"].map(
  variableOf,
);
const SERVICE_LINK =
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\//;

/** The text of an option's variable; `undefined` if it is not set. */
export function variableText(environment: Environment, name: string): string | undefined {
  const text = environment[variableOf(name)];
  return text === undefined || text === "" || isServiceLink(variableOf(name), text)
    ? undefined
    : text;
}

/** Fails with exit code 2 for a variable that is probably a misspelt option. */
export function requireKnownVariables(environment: Environment): void {
  const known = knownVariables();
  for (const [variable, text = ""] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || text === "" || known.has(variable)) continue;
    if (isServiceLink(variable, text)) continue;
    const meant = similarName(variable.slice(PREFIX.length), shortNames(known));
    if (meant === undefined) continue;
    throw new Failure(
      EXIT.usage,
      `unknown variable ${variable} in the environment; did you mean ${PREFIX}${meant}?`,
    );
  }
}

function isServiceLink(variable: string, text: string): boolean {
  return SERVICE_LINK.test(variable) || SERVICE_ADDRESS.test(text);
}

function knownVariables(): Set<string> {
  const known = new Set(OTHER_VARIABLES);
  for (const { options } of OPTION_TABLE) {
    for (const name of Object.keys(options)) known.add(variableOf(name));
  }
  return known;
}

function* shortNames(variables: Iterable<string>): Generator<string> {
  for (const variable of variables) yield variable.slice(PREFIX.length);
}
