/**
 * Programs of tests in other languages, built into a directory of the test's own. Their libraries come from where Go,
 * Maven, npm and pip get them by default; libraries of PHP are Debian's packages.
 */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { endWithProcess } from "../../../../lab/end-with-process.js";
import { findCommand } from "../../../../lab/find-command.js";

const run = promisify(execFile);

export class ForeignProgram {
  readonly #command: string;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;

  /**
   * @param args come before the arguments of a run
   * @param env is added to the environment of the tests
   */
  constructor(command: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.#command = command;
    this.#args = args;
    this.#env = { ...process.env, ...env };
  }

  /** Runs it to its end. Resolves to the lines that it printed; rejects if it fails. */
  run(...args: readonly string[]): Promise<readonly string[]> {
    return this.start(...args).ended;
  }

  start(...args: readonly string[]): RunningProgram {
    return new RunningProgram(
      spawn(this.#command, [...this.#args, ...args], { env: this.#env, stdio: "pipe" }),
    );
  }
}

export class RunningProgram implements Disposable {
  /** Resolves to the lines that it printed when it is over; rejects if it fails. */
  readonly ended: Promise<readonly string[]>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: string[] = [];
  #errors = "";
  #wake = (): void => {};

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    endWithProcess(child);
    child.stdin.on("error", () => undefined);
    child.stderr.on("data", (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    this.ended = this.#end();
    // Who waits for a line or for the end hears of a failure there.
    this.ended.catch(() => undefined);
  }

  /** Resolves to the line with this beginning when it has printed `count` of them. */
  async printed(beginning: string, count = 1): Promise<string> {
    for (;;) {
      const line = this.#lines.filter((each) => each.startsWith(beginning))[count - 1];
      if (line !== undefined) return line;
      const isOver = await Promise.race([
        this.ended.then(() => true),
        new Promise<false>((resolve) => {
          this.#wake = () => resolve(false);
        }),
      ]);
      if (isOver) throw new Error(`it ended without "${beginning}":\n${this.#lines.join("\n")}`);
    }
  }

  /** Gives it a line to read. */
  say(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** There are no further lines. */
  end(): void {
    this.#child.stdin.end();
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }

  async #end(): Promise<readonly string[]> {
    const [code, signal] = (await once(this.#child, "close")) as [number | null, string | null];
    if (code === 0) return this.#lines;
    const printed = this.#lines.join("\n");
    throw new Error(`it ended with ${code ?? signal}:\n${printed}\n${this.#errors.slice(-4_000)}`);
  }
}

/** The Go module in the folder; `undefined`: Go is not installed. */
export async function compileGo(
  folder: string,
  target: string,
): Promise<ForeignProgram | undefined> {
  const go = findCommand("go", ["/usr/local/go/bin"]);
  if (go === undefined) return undefined;
  const file = join(target, "program");
  await run(go, ["build", "-o", file, "."], { cwd: folder });
  return new ForeignProgram(file);
}

/**
 * The classes of the Maven project in the folder, by name; `undefined`: Java or Maven is not installed.
 *
 * @param properties of the project, next to `target`
 */
export async function compileJava(
  folder: string,
  target: string,
  properties: Readonly<Record<string, string>> = {},
): Promise<((main: string) => ForeignProgram) | undefined> {
  const mvn = findCommand("mvn");
  if (mvn === undefined || findCommand("java") === undefined) return undefined;
  const settings = Object.entries({ ...properties, target }).map(
    ([name, text]) => `-D${name}=${text}`,
  );
  const goals = ["compile", "dependency:copy-dependencies", `-DoutputDirectory=${target}/jars`];
  await run(mvn, ["-q", "-B", ...settings, ...goals], { cwd: folder });
  const classPath = `${target}/classes:${target}/jars/*`;
  return (main) => new ForeignProgram("java", ["-cp", classPath, main]);
}

/** `main.mjs` of the npm package in the folder; `undefined`: npm is not installed. */
export async function installNpm(
  folder: string,
  target: string,
): Promise<ForeignProgram | undefined> {
  const npm = findCommand("npm");
  if (npm === undefined) return undefined;
  await cp(folder, target, { recursive: true });
  await run(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: target });
  return new ForeignProgram(process.execPath, [join(target, "main.mjs")]);
}

/** `main.py` in the folder, with its requirements; `undefined`: Python or pip is not installed. */
export async function installPython(
  folder: string,
  target: string,
): Promise<ForeignProgram | undefined> {
  const python = findCommand("python3");
  if (python === undefined) return undefined;
  const pip = ["-m", "pip"];
  try {
    await run(python, [...pip, "--version"]);
  } catch {
    return undefined;
  }
  const options = ["--quiet", "--no-compile", "--disable-pip-version-check", "--target", target];
  await run(python, [...pip, "install", ...options, "-r", join(folder, "requirements.txt")]);
  const env = { PYTHONPATH: target, PYTHONDONTWRITEBYTECODE: "1" };
  return new ForeignProgram(python, [join(folder, "main.py")], env);
}

/**
 * `main.php` in the folder; `undefined`: PHP, its extension redis or one of the libraries is not installed.
 *
 * @param libraries files of the include path
 */
export async function findPhp(
  folder: string,
  libraries: readonly string[],
): Promise<ForeignProgram | undefined> {
  const php = findCommand("php");
  if (php === undefined) return undefined;
  const libraryTests = libraries.map((file) => ` && stream_resolve_include_path('${file}')`);
  try {
    await run(php, ["-r", `exit(extension_loaded('redis')${libraryTests.join("")} ? 0 : 1);`]);
  } catch {
    return undefined;
  }
  return new ForeignProgram(php, [join(folder, "main.php")]);
}
