/** The output for a person during a run, and at its end. */

import type { Progress } from "../attack/attack-plan.js";
import { named } from "../text/wrapped-text.js";
import { resultText, verdictText } from "./result-text.js";
import type { Outcome } from "./results.js";

const TICK_MS = 1_000;
const PHASE_COLUMNS = 11;
const COLOURS: Readonly<Record<string, number>> = { true: 32, false: 31, unknown: 33 };

export class Console {
  readonly #isQuiet: boolean;
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #colours = this.#isTerminal && !process.env["NO_COLOR"];

  constructor(isQuiet: boolean) {
    this.#isQuiet = isQuiet;
  }

  phase(phase: string, note: string): void {
    if (this.#isQuiet) return;
    this.#clear();
    process.stderr.write(`${named(phase, note, PHASE_COLUMNS)}\n`);
  }

  interrupted(): void {
    this.phase("interrupt", "ends within seconds, with a report; a second one ends it at once");
  }

  /** Shows the progress on a terminal every second; returns a function that stops it. */
  tick(progressOf: () => Progress): () => void {
    if (this.#isQuiet || !this.#isTerminal) return () => undefined;
    const timer = setInterval(() => {
      const { seconds, operations, faults } = progressOf();
      this.#clear();
      const active = faults.length === 0 ? "no fault" : faults.join(" + ");
      process.stderr.write(
        `${String(seconds).padStart(6)} s   ${operations} operations   ${active}`,
      );
    }, TICK_MS);
    return () => {
      clearInterval(timer);
      this.#clear();
    };
  }

  result({ results }: Outcome, directory: string, isJson: boolean): void {
    if (isJson) {
      process.stdout.write(`${JSON.stringify({ ...results, directory })}\n`);
      return;
    }
    const verdict = verdictText(results);
    const colour = COLOURS[String(results.valid)] ?? 0;
    const last = this.#colours ? `\u001b[1;${colour}m${verdict}\u001b[0m` : verdict;
    process.stdout.write(`${resultText(results, directory)}${last}\n`);
  }

  #clear(): void {
    if (this.#isTerminal) process.stderr.write("\r\u001b[K");
  }
}
