/**
 * Reads a history of one JSON object per line. Lines are decoded one by one directly from the file's
 * bytes, so that a long history is never in memory as text as well.
 */
import { BadHistoryError, type HistoryEvent, toEvent } from "./history-event.js";

const NEWLINE = 0x0a;

/** @throws BadHistoryError naming the first line that is cut off, not JSON or not an event. */
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

/** The beginning of a text that cannot be read, for a message. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length <= 40 ? text : `${text.slice(0, 40)}…`);
}
