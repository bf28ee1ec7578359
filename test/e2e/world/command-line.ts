/**
 * Runs the built `holdfast` command as a shell would, with arguments, environment and standard
 * input, and returns its exit code, signal and output. `HOLDFAST_TEST_COMMAND` names another build.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { endWithProcess } from "../../../lab/end-with-process.js";

export const COMMAND =
  process.env["HOLDFAST_TEST_COMMAND"] ??
  fileURLToPath(new URL("../../../dist/bin/holdfast.js", import.meta.url));

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; without it the standard input is empty. */
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  /** Another user to run as, which only root can choose. */
  readonly uid?: number;
  /** Leads a process group of its own, so that a test can signal it as a terminal would. */
  readonly ownGroup?: boolean;
  /** Keeps standard input open until the test closes `child.stdin`. */
  readonly keepInputOpen?: boolean;
}

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as it came. */
  readonly stdoutBytes: Buffer;
}

export interface RunningCli {
  readonly child: ChildProcess;
  readonly pid: number;
  /** What it wrote so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when it ended and its streams were read to the end. */
  readonly result: Promise<CliResult>;
  /** Resolves when its standard output contains `text`; rejects when it ends before that. */
  printed(text: string): Promise<void>;
  /** Resolves when its standard error contains `text`. */
  noted(text: string): Promise<void>;
}

/** Starts the command without waiting for it. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...bareEnvironment(), ...options.env },
    detached: options.ownGroup === true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  const chunks: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  const written = (name: "stdout" | "stderr"): string => Buffer.concat(chunks[name]).toString();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      chunks[name].push(chunk);
      child.emit("written");
    });
  }
  // The command may end without reading its input.
  child.stdin.on("error", () => undefined);
  if (options.input !== undefined) child.stdin.write(options.input);
  if (options.keepInputOpen !== true) child.stdin.end();
  endWithProcess(child);
  const result = once(child, "close").then(([code, signal]): CliResult => {
    child.emit("written");
    const [stdout, stderr] = [written("stdout"), written("stderr")];
    return { code, signal, stdout, stderr, stdoutBytes: Buffer.concat(chunks.stdout) };
  });
  const seen = async (name: "stdout" | "stderr", text: string): Promise<void> => {
    while (!written(name).includes(text)) {
      if (child.exitCode !== null || child.signalCode !== null) {
        const end = await result;
        if (end[name].includes(text)) return;
        throw new Error(`it ended without "${text}" on ${name}: ${JSON.stringify(end)}`);
      }
      await once(child, "written");
    }
  };
  return {
    child,
    pid: child.pid ?? 0,
    get stdout() {
      return written("stdout");
    },
    get stderr() {
      return written("stderr");
    },
    result,
    printed: (text) => seen("stdout", text),
    noted: (text) => seen("stderr", text),
  };
}

/** Runs the command to its end. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).result;
}

/** The environment without anything that the shell of the tests has set for Holdfast. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_")),
  );
}
