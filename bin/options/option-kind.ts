/**
 * The kind of an option's value: how its text is read, which JSON represents it in a file, and how
 * it is shown. Flags and the environment give text; a file gives JSON, which is converted to the
 * same text, so that there is one parser and one set of limits for all three.
 */

/** One sentence without capital and full stop, which says what would be right. */
export class ValueProblem extends Error {
  override readonly name = "ValueProblem";
}

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

export type JsonType = "string" | "number" | "boolean" | "array" | "object";

export interface OptionKind<Value> {
  /** For the reference: what to write, with limits. */
  readonly type: string;
  /** As in `--ttl <duration>`; "" for a switch, which takes no value. */
  readonly placeholder: string;
  /** All possible values, if they are a few words: a shell offers them. */
  readonly words?: readonly string[];
  /** The JSON types that it may have in a file. */
  readonly jsonTypes: readonly JsonType[];
  /** Throws `ValueProblem`. */
  parse(text: string): Value;
  /** As it would be written in a file. */
  toJson(value: Value): Json;
  /** Combines the values of a repeated flag; default: the last one counts. */
  merge?(before: Value, next: Value): Value;
}

/** The text for a JSON value; `undefined`: it cannot be one of this kind. */
export function textOfJson(kind: OptionKind<unknown>, json: unknown): string | undefined {
  const type = jsonTypeOf(json);
  if (type === undefined || !kind.jsonTypes.includes(type)) return undefined;
  return plainText(json);
}

/** As it would be written after its flag. */
export function formatValue(kind: OptionKind<unknown>, value: unknown): string {
  return plainText(kind.toJson(value)) ?? "";
}

/** `a string or a list`. */
export function jsonTypesText(kind: OptionKind<unknown>): string {
  return kind.jsonTypes.map((type) => JSON_TYPE_TEXTS[type]).join(" or ");
}

const JSON_TYPE_TEXTS: Readonly<Record<JsonType, string>> = Object.freeze({
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "a list of strings",
  object: "an object of strings",
});

function jsonTypeOf(json: unknown): JsonType | undefined {
  if (json === null || json === undefined) return undefined;
  if (Array.isArray(json)) return "array";
  const type = typeof json;
  return type === "string" || type === "number" || type === "boolean" || type === "object"
    ? type
    : undefined;
}

function plainText(json: unknown): string | undefined {
  if (typeof json === "string") return json;
  if (typeof json === "number" || typeof json === "boolean") return String(json);
  if (Array.isArray(json)) {
    return json.every((item) => typeof item === "string") ? json.join(",") : undefined;
  }
  if (typeof json !== "object" || json === null) return undefined;
  const entries: [string, unknown][] = Object.entries(json);
  if (!entries.every(([, value]) => typeof value === "string")) return undefined;
  return entries.map(([name, value]) => `${name}=${String(value)}`).join(",");
}
