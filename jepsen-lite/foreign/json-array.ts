/** Reads a history that is one JSON array; positions are reported as lines of the file. */
import { BadHistoryError, excerpt, type HistoryEvent, toEvent } from "../checker/index.js";

/** @throws BadHistoryError for the first element that is not JSON or not an event. */
export function readJsonArray(text: string): HistoryEvent[] {
  const elements = outerElements(text);
  let decoded: unknown;
  try {
    decoded = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new BadHistoryError(...whatIsWrong(text, elements));
  }
  if (!Array.isArray(decoded)) throw new BadHistoryError("expected an array of events", 1);
  const lastLine = elements.at(-1)?.line ?? 1;
  return decoded.map((record, position) =>
    toEvent(record, elements[position]?.line ?? lastLine, position),
  );
}

/** An object or array directly inside the outermost array. */
interface Element {
  readonly line: number;
  readonly start: number;
  /** After its last character; absent if it is never closed. */
  end?: number;
}

function outerElements(text: string): Element[] {
  const elements: Element[] = [];
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
      if (depth === 1) elements.push({ line, start: at });
      depth += 1;
    } else if (character === "}" || character === "]") {
      depth -= 1;
      const last = elements.at(-1);
      if (depth === 1 && last !== undefined) last.end = at + 1;
    }
  }
  return elements;
}

/** The first syntax error in what should be an array, with its line. */
function whatIsWrong(text: string, elements: readonly Element[]): [message: string, line: number] {
  let endBefore = text.indexOf("[") + 1;
  for (const [position, { line, start, end }] of elements.entries()) {
    const between = text.slice(endBefore, start).trim();
    if (between !== (position === 0 ? "" : ",")) {
      return [`not JSON: expected a comma, found ${excerpt(between)}`, line];
    }
    if (end === undefined) break;
    if (!isJson(text.slice(start, end))) {
      return [`not JSON: ${excerpt(text.slice(start, end))}`, line];
    }
    endBefore = end;
  }
  const rest = text.slice(endBefore).trimStart();
  const line = text.trimEnd().split("\n").length;
  return rest.startsWith("]")
    ? [`not JSON: text after the array: ${excerpt(rest.slice(1).trim())}`, line]
    : ["the file is truncated: its array is not closed", line];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
