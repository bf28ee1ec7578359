/** What a person sees while a run goes on, and when it is over. */
import type { Progress } from "./attack.js";
import type { Outcome } from "./outcome-file.js";

const TICK_MS = 1_000;

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
    process.stderr.write(`${phase.padEnd(10)} ${note}\n`);
  }

  /** Shows on a terminal how far it is, every second; returns how to stop. */
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
    const { valid, figures, checks } = results;
    const lines = checks.map(
      (check) => `  ${mark(check.valid)} ${check.subject.padEnd(16)} ${check.summary}`,
    );
    process.stdout.write(
      [
        ...lines,
        "",
        `  operations ${figures.operations}, faults ${figures.faults}, elections ${figures.elections}` +
          `, sessions lost ${figures.sessionsLost}, longest without success ${figures.longestGapMs} ms`,
        `  report     ${directory}/report.html`,
        "",
        this.#verdict(valid),
        "",
      ].join("\n"),
    );
  }

  #verdict(valid: true | false | "unknown"): string {
    const text = { true: "valid", false: "NOT VALID", unknown: "unknown" }[String(valid)] ?? "";
    const colour = { true: 32, false: 31, unknown: 33 }[String(valid)] ?? 0;
    return this.#colours ? `  \u001b[1;${colour}m${text}\u001b[0m` : `  ${text}`;
  }

  #clear(): void {
    if (this.#isTerminal) process.stderr.write("\r\u001b[K");
  }
}

function mark(valid: true | false | "unknown"): string {
  if (valid === "unknown") return "?";
  return valid ? "✓" : "✗";
}
