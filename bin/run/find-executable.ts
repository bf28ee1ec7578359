/**
 * Finds the file of a command by the rules of the shell: a name with a slash is a path, any other
 * is looked up in PATH. Looked up before the command is started, because a command that is started
 * through `setpriv` would report a missing file with its own exit code.
 */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";

const PATH_DEFAULT = "/usr/local/bin:/usr/bin:/bin";

type Finding = "executable" | "notExecutable" | "missing";

/** The path to start, or a `Failure` with 126 or 127. */
export function findExecutable(name: string, path = process.env["PATH"] ?? PATH_DEFAULT): string {
  const candidates = name.includes("/")
    ? [name]
    : path.split(delimiter).map((directory) => join(directory === "" ? "." : directory, name));
  let wasFound = false;
  for (const candidate of name === "" ? [] : candidates) {
    const finding = lookAt(candidate);
    if (finding === "executable") return candidate;
    wasFound ||= finding === "notExecutable";
  }
  if (wasFound) throw new Failure(EXIT.notExecutable, `${name}: cannot be executed`);
  throw new Failure(EXIT.notFound, `${name}: command not found`);
}

/** The path of `name`, or `undefined`: for optional tools. */
export function findTool(name: string): string | undefined {
  try {
    return findExecutable(name);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function lookAt(path: string): Finding {
  try {
    if (!statSync(path).isFile()) return "notExecutable";
    accessSync(path, constants.X_OK);
    return "executable";
  } catch (error) {
    const code = systemCodeOf(error);
    return code === "EACCES" || code === "EPERM" ? "notExecutable" : "missing";
  }
}
