/**
 * The signals that reach `run`: while it waits for the lock they end the wait; while the command
 * runs they are passed on to it, and it decides. `npm` passes on to its children what they already
 * get from the terminal, so the same ending signal twice within a moment counts once.
 *
 * If this process is stopped (Ctrl-Z) while the command has its own process group, the command is
 * stopped with it: it must not go on working while its lease is not renewed.
 */
import type { CommandProcess } from "./command-process.js";
import { isInForeground } from "./process-tree.js";

const ENDING: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
const PASSED_ON: readonly NodeJS.Signals[] = [...ENDING, "SIGUSR1", "SIGUSR2"];
/** What the terminal itself sends to every process of its foreground job. */
const SENT_BY_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGQUIT"]);
const SAME_SIGNAL_MS = 100;

export class SignalRelay {
  readonly #waiting = new AbortController();
  readonly #leaving = new AbortController();
  readonly #lastMs = new Map<NodeJS.Signals, number>();
  readonly #sharesTerminal: boolean;
  readonly #onSignal = (signal: NodeJS.Signals): void => this.#receive(signal);
  readonly #onStop = (): void => this.#stopBoth();
  readonly #onContinue = (): void => this.#continueCommand();
  #command: CommandProcess | undefined;
  #beforeContinue: () => void = () => undefined;
  #ending: NodeJS.Signals | undefined;

  constructor(sharesTerminal: boolean) {
    this.#sharesTerminal = sharesTerminal;
    // All of them from the start: by default they would end this process while it still has a place
    // in a queue, and SIGUSR1 would open the port of a debugger.
    for (const signal of PASSED_ON) process.on(signal, this.#onSignal);
  }

  /** Aborted by a signal that comes before there is a command. */
  get waiting(): AbortSignal {
    return this.#waiting.signal;
  }

  /** Aborted by a signal that comes after the wait or the command has ended. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** The signal that ended the wait. */
  get ending(): NodeJS.Signals | undefined {
    return this.#ending;
  }

  /** From now on signals go to `command`. `beforeContinue` runs before a stopped one continues. */
  attach(command: CommandProcess, beforeContinue: () => void): void {
    this.#command = command;
    this.#beforeContinue = beforeContinue;
    if (this.#sharesTerminal) return;
    process.on("SIGTSTP", this.#onStop);
    process.on("SIGCONT", this.#onContinue);
  }

  #receive(signal: NodeJS.Signals): void {
    if (ENDING.includes(signal) && this.#isSameAgain(signal)) return;
    if (this.#command === undefined ? this.#ending !== undefined : this.#command.isGone) {
      this.#leaving.abort();
    } else if (this.#command === undefined) {
      this.#ending = signal;
      this.#waiting.abort();
    } else if (!this.#isTheTerminals(signal)) {
      this.#command.forward(signal);
    }
  }

  /**
   * The sender of a signal is not known; one that the terminal may have sent has reached the
   * command.
   */
  #isTheTerminals(signal: NodeJS.Signals): boolean {
    return this.#sharesTerminal && SENT_BY_TERMINAL.has(signal) && isInForeground();
  }

  #isSameAgain(signal: NodeJS.Signals): boolean {
    const nowMs = performance.now();
    const lastMs = this.#lastMs.get(signal) ?? Number.NEGATIVE_INFINITY;
    const isSame = nowMs - lastMs < SAME_SIGNAL_MS;
    if (!isSame) this.#lastMs.set(signal, nowMs);
    return isSame;
  }

  #stopBoth(): void {
    // SIGSTOP: a group without a parent in its own session ignores SIGTSTP.
    this.#command?.forward("SIGSTOP");
    process.kill(process.pid, "SIGSTOP");
  }

  #continueCommand(): void {
    this.#beforeContinue();
    this.#command?.forward("SIGCONT");
  }
}
