/**
 * The log of a node on standard error: text for people, JSON lines for collectors. One line per
 * event; values that could break a line are quoted, and characters that control a terminal are
 * escaped, because many values come from others. The format of the text is not a contract.
 */

import type { NodeLogger } from "../../src/server/index.js";
import { printable } from "../../src/text/index.js";
import { jsonLine } from "../text/printable.js";

/** What a collector relies on in every line. */
const LINE_NAMES: ReadonlySet<string> = new Set(["time", "level", "event"]);

export type LogFormat = "text" | "json";

/** A logger that writes to `stream`; the wall clock is for display only. */
export function createLogger(
  format: LogFormat,
  stream: NodeJS.WritableStream = process.stderr,
  wallMs: () => number = Date.now,
): NodeLogger {
  const line = format === "json" ? documentLine : textLine;
  return (level, event, fields = {}) => {
    stream.write(`${line(new Date(wallMs()).toISOString(), level, event, fields)}\n`);
  };
}

function documentLine(
  time: string,
  level: string,
  event: string,
  fields: Readonly<Record<string, unknown>>,
): string {
  const free = Object.entries(fields).map(([name, value]) => [freeName(name), value] as const);
  return jsonLine({ time, level, event, ...Object.fromEntries(free) }, plainValue);
}

/** What an event says of itself never takes the place of what every line has. */
function freeName(name: string): string {
  return LINE_NAMES.has(name) ? `field.${name}` : name;
}

function textLine(
  time: string,
  level: string,
  event: string,
  fields: Readonly<Record<string, unknown>>,
): string {
  let line = `${time} ${level.toUpperCase().padEnd(5)} ${event}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${name}=${textValue(value)}`;
  }
  return line;
}

function textValue(value: unknown): string {
  const plain = plainValue("", value);
  const text = typeof plain === "string" ? plain : (JSON.stringify(plain, plainValue) ?? "");
  return /^[^\s"=\p{Cc}]+$/u.test(text) ? printable(text) : jsonLine(text);
}

/** Errors have no enumerable properties and big integers no JSON: both become text. */
function plainValue(_name: string, value: unknown): unknown {
  if (value instanceof Error) return value.message;
  return typeof value === "bigint" ? value.toString() : value;
}
