/** What a person sees while a run goes on, and when it is over. */
import type { Progress } from "./attack.js";
import { type ComparedSystem, comparisonRows } from "./comparison.js";
import type { Outcome } from "./outcome-file.js";
import type { CheckResult } from "./verdict.js";

const TICK_MS = 1_000;
const WORDS: Readonly<Record<string, string>> = {
  true: "valid",
  false: "NOT VALID",
  unknown: "unknown",
};

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
    const { valid, figures, checks, comparison } = results;
    const lines = checks.map(
      (check) => `  ${mark(check.valid)} ${check.subject.padEnd(16)} ${check.summary}`,
    );
    process.stdout.write(
      [
        ...lines,
        "",
        `  compared   ${comparedText(checks)}`,
        `  operations ${figures.operations}, faults ${figures.faults}, elections ${figures.elections}` +
          `, sessions lost ${figures.sessionsLost}, longest without success ${figures.longestGapMs} ms`,
        `  report     ${directory}/report.html`,
        ...comparison.slice(1).map(({ name }) => `             ${directory}/${name}/report.html`),
        "",
        ...this.#comparison(comparison),
        this.#verdict(valid),
        "",
      ].join("\n"),
    );
  }

  /** Side by side, one column a system. */
  #comparison(systems: readonly ComparedSystem[]): string[] {
    if (systems.length === 0) return [];
    const table: (readonly [string, readonly string[]])[] = [
      ["side by side", systems.map(({ name }) => name)],
      ["verdict", systems.map(({ valid }) => WORDS[String(valid)] ?? "")],
      ...comparisonRows(systems).map(
        ({ name, cells }) => [name, cells.map(({ text }) => text)] as const,
      ),
    ];
    const nameWidth = Math.max(...table.map(([name]) => name.length));
    const width = 2 + Math.max(...table.flatMap(([, cells]) => cells.map(({ length }) => length)));
    const lines = table.map(([name, cells]) => {
      return `  ${name.padEnd(nameWidth)}${cells.map((cell) => cell.padStart(width)).join("")}`;
    });
    return [...lines, ""];
  }

  #verdict(valid: true | false | "unknown"): string {
    const text = WORDS[String(valid)] ?? "";
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

/** How much each check had to look at, over all histories; a check of nothing has shown nothing. */
function comparedText(checks: readonly CheckResult[]): string {
  const totals = new Map<string, number>();
  for (const { parts = [] } of checks) {
    for (const { name, compared } of parts) totals.set(name, (totals.get(name) ?? 0) + compared);
  }
  const full = [...totals].filter(([, total]) => total > 0).map((each) => each.join(" "));
  const empty = [...totals].filter(([, total]) => total === 0).map(([name]) => name);
  if (empty.length > 0) full.push(`NOTHING by ${empty.join(" and ")}`);
  return full.join(", ");
}
