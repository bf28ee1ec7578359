/**
 * What a request asks for: the parameters of its query and its headers, checked. Whatever a request
 * does not take is refused, because a misspelled `wait` that is ignored would be a try.
 */
import type { IncomingHttpHeaders } from "node:http";
import { badRequest } from "./problems.js";

const UNITS_MS: Readonly<Record<string, number>> = Object.freeze({
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
});
const DURATION = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)$/;
const MILLISECONDS = /^\d{1,15}$/;
const INTEGER = /^\d{1,16}$/;
const NON_ASCII = /[^\0-\x7f]/;

const OWNER = "Holdfast-Owner";
const DURATION_PROBLEM = "must be a duration: 30s, 500ms, 2m, or a whole number of milliseconds";

/** The parameters of one query, each at most once. */
export class Parameters {
  readonly #values = new Map<string, string>();

  /** `query`: without the question mark. */
  constructor(query: string, known: ReadonlySet<string>) {
    if (query === "") return;
    for (const part of query.split("&")) {
      if (part === "") continue;
      const at = part.indexOf("=");
      const name = decoded(at === -1 ? part : part.slice(0, at));
      if (!known.has(name)) {
        throw badRequest(`the request takes no parameter ${shown(name)}, only ${listOf(known)}`);
      }
      if (this.#values.has(name)) throw badRequest(`the parameter ${name} is given twice`);
      this.#values.set(name, at === -1 ? "" : decoded(part.slice(at + 1)));
    }
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  requiredText(name: string): string {
    const value = this.#values.get(name);
    if (value === undefined) throw badRequest(`the parameter ${name} is missing`);
    return value;
  }

  /** In whole milliseconds. */
  duration(name: string): number | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : durationOf(name, value);
  }

  requiredDuration(name: string): number {
    return durationOf(name, this.requiredText(name));
  }

  integer(name: string): number | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    const number = INTEGER.test(value) ? Number(value) : Number.NaN;
    if (!Number.isSafeInteger(number)) throw badRequest(`${name} must be a whole number`);
    return number;
  }

  requiredInteger(name: string): number {
    this.requiredText(name);
    return this.integer(name) as number;
  }
}

/** A text with a unit, or whole milliseconds as a text or a number. */
export function durationOf(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  if (typeof value !== "string") throw badRequest(`${name} ${DURATION_PROBLEM}`);
  if (MILLISECONDS.test(value)) return Number(value);
  const [, number = "", unit = ""] = DURATION.exec(value) ?? [];
  const exactMs = Number(number) * (UNITS_MS[unit] ?? Number.NaN);
  const wholeMs = Math.round(exactMs);
  // 0.1 s is 100.00000000000001 ms in binary; only a real fraction of a millisecond is refused.
  if (!(Math.abs(exactMs - wholeMs) < 1e-6)) throw badRequest(`${name} ${DURATION_PROBLEM}`);
  return wholeMs;
}

/** A header as UTF-8, which Node.js reads as Latin-1; `undefined` if it is missing or empty. */
export function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  if (value === undefined || value === "") return undefined;
  const text = value as string;
  if (!NON_ASCII.test(text)) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    throw badRequest(`the header ${name} must be UTF-8`);
  }
}

export function requiredHeader(headers: IncomingHttpHeaders, name: string): string {
  const text = headerText(headers, name);
  if (text !== undefined) return text;
  const meant =
    name === OWNER ? ": a secret of your choice, which alone may extend and end the lock" : "";
  throw badRequest(`the header ${name} is missing${meant}`);
}

function decoded(text: string): string {
  const isPlain = !text.includes("%") && !text.includes("+");
  if (isPlain) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw badRequest("the query is not percent-encoded UTF-8");
  }
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 50));
}

function listOf(known: ReadonlySet<string>): string {
  return known.size === 0 ? "none" : [...known].join(", ");
}
