/**
 * Servers that a test starts for itself: on a loopback port, in a temporary directory, stopped by
 * its own process id. They may be missing on a machine; then it is said so that nobody overlooks it.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithProcess } from "../../../lab/end-with-process.js";
import { findCommand, versionedDirectories } from "../../../lab/find-command.js";

export interface StartedServer extends AsyncDisposable {
  readonly port: number;
}

/** Whom to run as: some servers refuse to be root. */
interface User {
  readonly uid: number;
  readonly gid: number;
}

interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  /** What it writes when it serves. */
  readonly ready: string;
  readonly directory: string;
  readonly port: number;
  readonly user: User | undefined;
}

const START_MS_MAX = 30_000;
const STOP_MS_MAX = 10_000;

/** The path of the first of these programs that is there; `undefined`: none, and says so. */
export function installed(product: string, ...programs: readonly string[]): string | undefined {
  const hidden = ["/usr/sbin", ...versionedDirectories("/usr/lib/postgresql", "bin")];
  for (const program of programs) {
    const file = findCommand(program, hidden);
    if (file !== undefined) return file;
  }
  process.stderr.write(
    `\n!!! ${product} is NOT installed (${programs.join(", ")}): what is tested with it is SKIPPED\n\n`,
  );
  return undefined;
}

/** The user itself, unless it is root. */
export function unprivileged(name: string): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync("id", [flag, name]).toString());
  return { uid: id("-u"), gid: id("-g") };
}

export function serverDirectory(product: string, user: User | undefined): string {
  const directory = mkdtempSync(join(tmpdir(), `holdfast-${product}-`));
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  return directory;
}

/** Runs a preparing program to its end. */
export function prepare(program: string, args: readonly string[], user: User | undefined): void {
  execFileSync(program, args, { cwd: "/", stdio: "pipe", ...user });
}

/** Resolves when it serves. */
export async function launch(options: Launch): Promise<StartedServer> {
  const { program, args, directory, port, user } = options;
  const child = spawn(program, args, { cwd: "/", stdio: ["ignore", "pipe", "pipe"], ...user });
  endWithProcess(child);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      // In good order, once its clients have left.
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
      await ended;
      clearTimeout(timer);
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await serving(child, options.ready);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, [Symbol.asyncDispose]: stop };
}

function serving(child: ChildProcess, ready: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let written = "";
    const fail = (why: string): void => reject(new Error(`${why}:\n${written.slice(-4_000)}`));
    const timer = setTimeout(() => fail(`not ready in ${START_MS_MAX} ms`), START_MS_MAX);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        written += chunk.toString();
        if (!written.includes(ready)) return;
        clearTimeout(timer);
        resolve();
      });
    }
    child.once("error", (error) => fail(error.message));
    child.once("exit", () => {
      clearTimeout(timer);
      fail("it ended at once");
    });
  });
}
