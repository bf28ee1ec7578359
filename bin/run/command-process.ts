/**
 * The command that runs under the lock, and the signals it gets. It has the standard streams of
 * `run`.
 *
 * If standard input is a terminal, the command stays in the terminal's foreground job: a group of
 * its own would be stopped (SIGTTIN) as soon as it reads, and only a process of the terminal could
 * bring it to the foreground. It gets Ctrl-C and Ctrl-Z from the terminal itself, so these are not
 * passed on a second time. Other signals are passed on to it and to its descendants that are in its
 * group, one by one, because other processes of the job are in that group as well; to
 * end it means to end all of its descendants. Otherwise it leads a session and process group of its
 * own, which gets every signal as a whole.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Ending } from "../exit/ending.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { variableOf } from "../text/option-spelling.js";
import { descendantsOf, groupBelow, isAlive, type ProcessMark } from "./process-tree.js";
import { carried, givenWords } from "./raw-words.js";

/** What proves who this process is, by the names of the options. */
const SECRETS = ["accessToken", "tokenFile", "leaseOwner"];

export interface CommandOptions {
  /** Put in front of the command: see `parent-death.ts`. Default: nothing. */
  readonly prefix?: readonly string[];
  /** Name or path of the command, and its arguments. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Whether it stays in this process's group: see above. */
  readonly sharesTerminal: boolean;
}

export class CommandProcess {
  /** Resolves with the exit code of the command, or the signal that ended it. */
  readonly ended: Promise<Ending>;
  readonly #pid: number;
  readonly #sharesTerminal: boolean;
  readonly #marked = new Map<number, ProcessMark>();
  #isGone = false;

  private constructor(child: ChildProcess, pid: number, sharesTerminal: boolean) {
    this.#pid = pid;
    this.#sharesTerminal = sharesTerminal;
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#isGone = true;
        resolve(signal ?? code ?? EXIT.internal);
      });
    });
  }

  /** Resolves when the command runs; fails with 125, 126 or 127 if it cannot be started. */
  static start(options: CommandOptions): Promise<CommandProcess> {
    const [name = ""] = options.argv;
    return new Promise((resolve, reject) => {
      let child: ChildProcess;
      try {
        child = spawnCommand(options);
      } catch (error) {
        // The system reports some errors by throwing, for example for arguments that are too long.
        reject(notStarted(name, error));
        return;
      }
      child.on("error", (error) => {
        if (child.pid === undefined) reject(notStarted(name, error));
      });
      if (child.pid !== undefined) {
        resolve(new CommandProcess(child, child.pid, options.sharesTerminal));
      }
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Passes a signal on unchanged, to all processes that would be in a group of the command's own.
   */
  forward(signal: NodeJS.Signals): void {
    if (this.#isGone) return;
    if (!this.#sharesTerminal) {
      send(-this.#pid, signal);
      return;
    }
    // Listed first: after the command has ended, they can no longer be found by their parent.
    const others = groupBelow(this.#pid);
    send(this.#pid, signal);
    for (const mark of others) if (isAlive(mark)) send(mark.pid, signal);
  }

  /** Asks the command and its descendants to end. */
  terminate(): void {
    this.#sendToAll("SIGTERM");
    // A stopped process would end only when it is continued.
    this.#sendToAll("SIGCONT");
  }

  /**
   * Kills the command and its descendants that can still be found; also after the command ended.
   */
  kill(): void {
    this.#sendToAll("SIGKILL");
  }

  #sendToAll(signal: NodeJS.Signals): void {
    if (!this.#sharesTerminal) {
      send(-this.#pid, signal);
      return;
    }
    if (!this.#isGone) {
      // After the command has ended, its descendants can no longer be found by their parent.
      for (const mark of descendantsOf(this.#pid)) this.#marked.set(mark.pid, mark);
      send(this.#pid, signal);
    }
    for (const mark of this.#marked.values()) {
      if (isAlive(mark)) send(mark.pid, signal);
    }
  }
}

function spawnCommand(options: CommandOptions): ChildProcess {
  // Last, so that a nested run sees its own lock and not the lock of the outer one.
  const env = { ...inheritedEnvironment(), ...options.environment };
  const words = carried({ argv: options.argv, environment: env }, givenWords());
  const [file = "", ...rest] = [...(options.prefix ?? []), ...words];
  return spawn(file, rest, { stdio: "inherit", detached: !options.sharesTerminal, env });
}

/** Without what proves who this process is: it is given to `run`, and not to what runs under it. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const environment = { ...process.env };
  for (const name of SECRETS) delete environment[variableOf(name)];
  return environment;
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // Gone already, or it changed its user: then no parent could reach it.
    const code = systemCodeOf(error);
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

function notStarted(name: string, error: unknown): Failure {
  const code = systemCodeOf(error);
  if (code === "ENOENT") return new Failure(EXIT.notFound, `${name}: command not found`);
  if (code === "EACCES" || code === "ENOEXEC") {
    return new Failure(EXIT.notExecutable, `${name}: cannot be executed`);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new Failure(EXIT.notStarted, `${name}: cannot be started: ${reason}`, { cause: error });
}
