/**
 * A process that runs one foreign server and ends with the bench: when its standard input ends,
 * because the bench stops it or because the bench is gone for any reason, the server is asked to
 * end, then killed, and its directory is removed, with the parent directory if that is empty then.
 * Its first line on standard output is the server's process id; when the server ends by itself,
 * this process does too.
 *
 * Arguments: one JSON object, `GuardedServer`.
 */
import { spawn } from "node:child_process";
import { rmdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";

export interface GuardedServer {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Where it runs; removed at the end. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The signal that ends it without leaving anything in the system. */
  readonly stopSignal: NodeJS.Signals;
  /** The user it runs as, if the bench is root and the server must not be. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

const STOP_MS_MAX = 5_000;
const EXIT_FAILED = 1;

function guard(server: GuardedServer): void {
  const child = spawn(server.command, server.arguments, {
    cwd: server.directory,
    env: { ...process.env, ...server.environment },
    // Standard output is reserved for the line with the process id.
    stdio: ["ignore", process.stderr.fd, process.stderr.fd],
    ...(server.user ?? {}),
  });
  const end = (exitCode: number): never => {
    rmSync(server.directory, { recursive: true, force: true, maxRetries: 3 });
    removeIfEmpty(dirname(server.directory));
    process.exit(exitCode);
  };
  child.on("error", (error) => {
    process.stderr.write(`${server.command}: ${error.message}\n`);
    end(EXIT_FAILED);
  });
  child.on("exit", (code, signal) => {
    if (signal !== null) process.stderr.write(`ended by ${signal}\n`);
    end(code ?? EXIT_FAILED);
  });
  // A pipe without a reader must not end this process before the server.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => undefined);
  child.on("spawn", () => process.stdout.write(`${child.pid}\n`));
  process.stdin.on("error", () => undefined);
  process.stdin.on("close", () => {
    child.kill(server.stopSignal);
    setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
  });
  process.stdin.resume();
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Other servers are still in it, or it is gone.
  }
}

guard(JSON.parse(process.argv[2] ?? "") as GuardedServer);
