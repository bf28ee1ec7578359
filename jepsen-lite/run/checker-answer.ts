/**
 * What the checker said about one history, as one result with a story: the operations that nobody
 * can put into an order, or the lines that break a rule, each with the time at which it happened.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { CheckResult as Answer, Counterexample, OperationView } from "../checker/index.js";
import type { CheckPart, CheckResult, StoryStep } from "./verdict.js";

const NANOSECONDS = 1_000_000;
const VIOLATIONS_TOLD = 3;

interface TellingLine {
  readonly text: string;
  /** Of the history, from 1; 0: it has no place in it. */
  readonly line: number;
}

/** `file`: the history, where the times of lines are looked up. */
export async function resultOfAnswer(
  subject: string,
  answer: Answer,
  file: string,
): Promise<CheckResult> {
  const { valid, model, counts, checks } = answer;
  const telling = tellingLines(answer);
  const times = await timesOf(file, new Set(telling.map(({ line }) => line)));
  const story = telling.map(({ text, line }): StoryStep => {
    const timeMs = times.get(line);
    return { text: line === 0 ? text : `${text} (line ${line})`, ...optionalTime(timeMs) };
  });
  const parts = checks.map((finding): CheckPart => {
    const { check, valid: holds, compared, violations, more, figures = {} } = finding;
    return { name: check, valid: holds, compared, violations: violations.length + more, figures };
  });
  const figures = parts.flatMap((part) => Object.entries(part.figures));
  const extra = figures
    .filter(([, value]) => value !== 0)
    .map(([name, value]) => `, ${wordsOf(name)}: ${value}`)
    .join("");
  const empty = parts.filter(({ compared }) => compared === 0).map(({ name: part }) => part);
  const broken = parts.filter((part) => part.valid !== true).map(({ name }) => name);
  const summary =
    `${counts.ok} ok, ${counts.fail} refused, ${counts.info} of unknown outcome${extra}` +
    (empty.length === 0 ? "" : `; compared nothing: ${empty.join(", ")}`) +
    (broken.length === 0
      ? ""
      : `; ${valid === false ? "broken" : "undecided"}: ${broken.join(", ")}`);
  return { subject, name: `model ${model}`, valid, summary, story, parts, details: answer };
}

function optionalTime(timeMs: number | undefined): { timeMs?: number } {
  return timeMs === undefined ? {} : { timeMs };
}

function tellingLines({ checks, counterexample, undecided = [] }: Answer): TellingLine[] {
  const violations = checks
    .filter(({ check }) => check !== "linearizable")
    .flatMap(({ check, violations: all }) =>
      all.slice(0, VIOLATIONS_TOLD).map(({ text, lines }) => {
        return { text: `${check}: ${text}`, line: lines.at(-1) ?? 0 };
      }),
    );
  const impossible = counterexample === undefined ? [] : counterexampleLines(counterexample);
  return [...impossible, ...violations, ...undecided.map((text) => ({ text, line: 0 }))];
}

function counterexampleLines(counterexample: Counterexample): TellingLine[] {
  const { keys, operation, previous, concurrent, lastStates } = counterexample;
  const about = keys.length === 0 ? "" : `${keys.join(", ")}: `;
  const views = [...(previous === undefined ? [] : [previous]), ...concurrent, operation];
  const lines = views.flatMap(linesOf).sort((one, other) => one.line - other.line);
  const upTo = lines.filter(({ line }) => line <= counterexample.line);
  const [best] = lastStates;
  const ends =
    best === undefined
      ? []
      : [
          {
            text: `${about}no order explains that answer: the best one is in the state ${best.state}`,
            line: 0,
          },
          ...best.refused.map((text) => ({ text, line: 0 })),
        ];
  return [...upTo, ...ends];
}

function linesOf({ process, text, invokeLine, completeLine, outcome }: OperationView) {
  const asks = { text: `process ${process} asks: ${text}`, line: invokeLine };
  if (completeLine === undefined) return [asks];
  return [asks, { text: `process ${process} is told ${outcome}: ${text}`, line: completeLine }];
}

async function timesOf(file: string, wanted: ReadonlySet<number>): Promise<Map<number, number>> {
  const times = new Map<number, number>();
  if (wanted.size === 0) return times;
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    number += 1;
    if (!wanted.has(number)) continue;
    const { time } = JSON.parse(line) as { time?: number };
    if (time !== undefined) times.set(number, time / NANOSECONDS);
  }
  return times;
}

/** `overlapsWithoutDeadline` → `overlaps without deadline`. */
function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
