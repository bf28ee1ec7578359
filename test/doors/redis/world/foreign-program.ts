/**
 * Programs of tests in other languages, compiled into a directory of the test's own. Their libraries come from where Go
 * and Maven get them by default.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findCommand } from "../../../../lab/find-command.js";

const run = promisify(execFile);

/** Runs a program with these arguments. Resolves to the lines that it printed. */
export type ForeignProgram = (...args: readonly string[]) => Promise<readonly string[]>;

/** What runs the module in the folder; `undefined`: Go is not installed. */
export async function compileGo(
  folder: string,
  target: string,
): Promise<ForeignProgram | undefined> {
  const go = findCommand("go", ["/usr/local/go/bin"]);
  if (go === undefined) return undefined;
  const file = join(target, "program");
  await run(go, ["build", "-o", file, "."], { cwd: folder });
  return (...args) => linesOf(file, args);
}

/**
 * The class path of the Maven project in the folder; `undefined`: Java or Maven is not installed.
 *
 * @param properties of the project, next to `target`
 */
export async function compileJava(
  folder: string,
  target: string,
  properties: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const mvn = findCommand("mvn");
  if (mvn === undefined || findCommand("java") === undefined) return undefined;
  const settings = Object.entries({ ...properties, target }).map(
    ([name, text]) => `-D${name}=${text}`,
  );
  const goals = ["compile", "dependency:copy-dependencies", `-DoutputDirectory=${target}/jars`];
  await run(mvn, ["-q", "-B", ...settings, ...goals], { cwd: folder });
  return `${target}/classes:${target}/jars/*`;
}

/** What runs a class of the class path. */
export function javaProgram(classPath: string, main: string): ForeignProgram {
  return (...args) => linesOf("java", ["-cp", classPath, main, ...args]);
}

async function linesOf(command: string, args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(command, args);
  return stdout.trim().split("\n");
}
