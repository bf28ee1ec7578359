/**
 * One line of a history as the rest of the checker sees it, for any file format, and the only error
 * that a reader of histories throws. docs/internals/checker.md describes the fields.
 */

export type EventType = "invoke" | "ok" | "fail" | "info";

export interface HistoryEvent {
  /** Line in the file, from 1; without a file, the position plus 1. */
  readonly line: number;
  /** Its number in reports: the `index` field, otherwise the position from 0. */
  readonly index: number;
  readonly process: string;
  readonly type: EventType;
  readonly f: string;
  readonly key: string | undefined;
  /** `undefined` if the line has no value, which is not the value `null`. */
  readonly value: unknown;
  /** Nanoseconds of the history's one monotonic clock. */
  readonly timeNs: number | undefined;
  readonly error: string | undefined;
  readonly session: string | undefined;
  readonly task: string | undefined;
  /** For a `fail`: only the client says that it did not happen, and no answer of the service. */
  readonly denied: boolean;
  /** The credential that the process has shown; without one its rights are not judged. */
  readonly as: string | undefined;
  /** The program that the process is a part of; it is only used in names. */
  readonly client: string | undefined;
}

/** A history that cannot be checked because it is malformed. Exit code 2. */
export class BadHistoryError extends Error {
  override readonly name = "BadHistoryError";
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`);
    this.line = line;
  }
}

const EVENT_TYPES: ReadonlySet<string> = new Set(["invoke", "ok", "fail", "info"]);

/** Checks the fields of one decoded line. @throws BadHistoryError with the line's number. */
export function toEvent(record: unknown, line: number, position: number): HistoryEvent {
  if (typeof record !== "object" || record === null || Array.isArray(record)) {
    throw new BadHistoryError(`expected an object, found ${kindOf(record)}`, line);
  }
  const fields = record as Readonly<Record<string, unknown>>;
  const type = name(fields, "type", line);
  if (!EVENT_TYPES.has(type)) {
    const found = JSON.stringify(type);
    throw new BadHistoryError(`"type" is ${found}, expected invoke, ok, fail or info`, line);
  }
  return {
    line,
    index: optionalNumber(fields, "index", line) ?? position,
    process: name(fields, "process", line),
    type: type as EventType,
    f: name(fields, "f", line),
    key: optionalName(fields, "key", line),
    value: fields["value"],
    timeNs: optionalNumber(fields, "time", line) ?? optionalNumber(fields, "timeNs", line),
    error: errorText(fields["error"]),
    session: optionalName(fields, "session", line),
    task: optionalName(fields, "task", line),
    denied: fields["denied"] === true,
    as: optionalName(fields, "as", line),
    client: clientIn(fields),
  };
}

function name(fields: Readonly<Record<string, unknown>>, field: string, line: number): string {
  const found = optionalName(fields, field, line);
  if (found === undefined) throw new BadHistoryError(`"${field}" is missing`, line);
  return keyword(found);
}

function optionalName(
  fields: Readonly<Record<string, unknown>>,
  field: string,
  line: number,
): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw new BadHistoryError(`"${field}" is ${kindOf(value)}, expected a string or number`, line);
}

/**
 * Other harnesses may use the word for something else; it decides nothing, so it is not an error.
 */
function clientIn({ client }: Readonly<Record<string, unknown>>): string | undefined {
  const isName = typeof client === "string" || typeof client === "number";
  return isName ? String(client) : undefined;
}

function optionalNumber(
  fields: Readonly<Record<string, unknown>>,
  field: string,
  line: number,
): number | undefined {
  const value = fields[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  // Nanoseconds since an epoch exceed the exact range of a JSON number: some write them as text.
  if (typeof value === "string" && /^\d+$/.test(value)) return Number(value);
  throw new BadHistoryError(`"${field}" is ${kindOf(value)}, expected a number`, line);
}

/** A keyword of EDN that was copied to JSON with its colon. */
function keyword(text: string): string {
  return text.length > 1 && text.startsWith(":") ? text.slice(1) : text;
}

function errorText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
