/**
 * Histories as Jepsen's own tools write them: EDN maps (`history.edn`, the test data of Knossos and
 * Porcupine), and the operation lines of its console log and of `history.txt`.
 */
import { BadHistoryError, type HistoryEvent, toEvent } from "../checker/index.js";
import { type EdnForm, plainValue, readEdn } from "./edn.js";

/** Maps, one after the other or in one vector or list. */
export function readEdnHistory(text: string): HistoryEvent[] {
  const forms = readEdn(text);
  const outer = forms.length === 1 ? forms[0]?.value : undefined;
  const records = Array.isArray(outer) ? (outer as EdnForm[]) : forms;
  return records.map((form, position) => {
    if (Array.isArray(form.value)) {
      throw new BadHistoryError("expected a map, found a vector or list", form.line);
    }
    return toEvent(form.value, form.line, position);
  });
}

const OPERATION_LINE =
  /^(?:.*\bjepsen\.util\s*[-:]\s+)?(\S+)\s+:(invoke|ok|fail|info)\s+:(\S+)(.*)$/;

export function isJepsenLogLine(line: string): boolean {
  return OPERATION_LINE.test(line);
}

/** Other lines of the log are ignored. */
export function readJepsenLog(text: string): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  for (const [position, line] of text.split(/\r?\n/).entries()) {
    const match = OPERATION_LINE.exec(line);
    if (match === null) continue;
    const [, process, type, f, rest] = match;
    const forms = readEdn(rest ?? "", position + 1);
    if (forms.length === 0) throw new BadHistoryError("the line has no value", position + 1);
    const record = {
      process: process?.replace(/^:/, ""),
      type,
      f,
      value: plainValue(forms[0]?.value),
      error: plainValue(forms[1]?.value),
    };
    events.push(toEvent(record, position + 1, events.length));
  }
  return events;
}
