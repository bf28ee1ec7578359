/**
 * Reads a history from JSON: one object a line, or one array of objects. Lines are decoded one by
 * one straight from the file's bytes, so that a long history is never in memory twice as text.
 */
import { BadHistoryError, type HistoryEvent, toEvent } from "./history-event.js";

const NEWLINE = 0x0a;

/** @throws BadHistoryError naming the first line that is cut off, no JSON or no event. */
export function readJsonLines(bytes: Buffer): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  let line = 0;
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    line += 1;
    const text = bytes.toString("utf8", start, end).trim();
    start = end + 1;
    if (text === "") continue;
    events.push(toEvent(parseLine(text, line, newline === -1), line, events.length));
  }
  return events;
}

function parseLine(text: string, line: number, isCutOff: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (isCutOff && text.startsWith("{") && !text.endsWith("}")) {
      throw new BadHistoryError("the file is truncated: its last line ends inside an event", line);
    }
    throw new BadHistoryError(`not JSON: ${excerpt(text)}`, line);
  }
}

/** Reads a history that is one JSON array; positions are reported as lines of a laid out array. */
export function readJsonArray(text: string): HistoryEvent[] {
  const lines = elementLines(text);
  let decoded: unknown;
  try {
    decoded = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const last = text.trimEnd();
    const line = last.split("\n").length;
    if (!last.endsWith("]")) {
      throw new BadHistoryError("the file is truncated: its array is not closed", line);
    }
    throw new BadHistoryError(`not JSON: ${error.message.replace(/\s+/g, " ")}`);
  }
  if (!Array.isArray(decoded)) throw new BadHistoryError("expected an array of events", 1);
  return decoded.map((record, position) => toEvent(record, lines[position] ?? 1, position));
}

/** The line on which each element of the outermost array begins. */
function elementLines(text: string): number[] {
  const lines: number[] = [];
  let line = 1;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "\n") line += 1;
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') {
      isInString = true;
    } else if (character === "{" || character === "[") {
      if (depth === 1) lines.push(line);
      depth += 1;
    } else if (character === "}" || character === "]") {
      depth -= 1;
    }
  }
  return lines;
}

function excerpt(text: string): string {
  return JSON.stringify(text.length <= 40 ? text : `${text.slice(0, 40)}…`);
}
