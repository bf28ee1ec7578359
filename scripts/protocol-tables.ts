/**
 * Makes the tables of docs/protocol.md that say what a request is made of, from the schema by which
 * requests are read and written.
 */
import type { Form } from "../src/protocol/codec/kinds.js";
import { ITEM_KINDS, OPTION_KINDS, REQUEST_SCHEMAS } from "../src/protocol/codec/schema.js";
import { ACQUIRE_DEFAULTS, ACQUIRE_OPTION, type AcquireTerms } from "../src/protocol/index.js";
import { grouped, tableOf } from "./page-tables.js";

/** As many requests are named by a row that lists them. */
const NAMES_MAX = 8;
/** By the names in their comments. */
export const PROTOCOL_TABLES = {
  requests: requestTable,
  options: optionTable,
  bounds: boundTable,
};

function requestTable(): string {
  const rows = REQUEST_SCHEMAS.map(({ name, op, words, fields }) => {
    const values = fields.map((field) => valueText(field.name, field.form));
    return [name, `\`[${[op, ...values].join(", ")}]\``, words];
  });
  return tableOf(["request", "values", "what it does"], rows);
}

/** How a value is written in the array of its request. */
function valueText(name: string, form: Form): string {
  switch (form.type) {
    case "boolean":
      return `${name}: boolean`;
    case "text":
      return `${name}: string`;
    case "digits":
      return `${name}: bin${form.bytes}`;
    case "numbers":
      return `${name}: [n]`;
    case "keys":
      return `${name}: [string]`;
    case "optional":
      return `${valueText(name, form.of)} \\| nil`;
    case "revision":
      return "index, number";
    default:
      return name;
  }
}

function optionTable(): string {
  const rows = Object.entries(OPTION_KINDS).map(([option, { kind, words }]) => {
    const name = option as keyof AcquireTerms;
    const value = [optionText(kind.form), words].filter((part) => part !== undefined).join(", ");
    return [`\`${name}\``, `${ACQUIRE_OPTION[name]}`, value, defaultText(name, kind.form)];
  });
  return tableOf(["option", "number", "value", "default"], rows);
}

/** What may be said of an option; its default, 0 or "", may not. */
function optionText(form: Form): string {
  if (form.type === "number") return range(Math.max(form.least, 1), form.most);
  return form.type === "text" ? `string, ${range(1, form.bytesMax)} bytes` : form.type;
}

function defaultText(name: keyof AcquireTerms, form: Form): string {
  const value = ACQUIRE_DEFAULTS[name];
  const isNone = form.type === "number" && Number(value) < form.least;
  return isNone ? "none" : JSON.stringify(value);
}

/** Bounds of values by their names, each with the requests in which a value has them. */
function boundTable(): string {
  const bounds = REQUEST_SCHEMAS.flatMap(({ name: request, fields }) =>
    fields.flatMap(({ name, form }) =>
      boundsOf(name, form).map((bound) => ({ ...bound, request })),
    ),
  );
  for (const [name, { form }] of Object.entries(ITEM_KINDS)) {
    bounds.push(...boundsOf(name, form).map((bound) => ({ ...bound, request: "items" })));
  }
  const requests = new Map<string, string[]>();
  for (const { name, bound, request } of bounds) {
    const row = `\`${name}\` | ${bound}`;
    requests.set(row, [...(requests.get(row) ?? []), request]);
  }
  const rows = [...requests].map(([row, names]) => [...row.split(" | "), listed(row, names)]);
  rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : Number(a > b)));
  return tableOf(["value", "bounds", "of"], rows);
}

/** The requests in which a value has these bounds; of many those in which it has not. */
function listed(row: string, names: readonly string[]): string {
  if (names.length <= NAMES_MAX) return names.join(", ");
  const others = REQUEST_SCHEMAS.filter(({ name, fields }) => {
    return fields.some((field) => row.startsWith(`\`${field.name}\``)) && !names.includes(name);
  });
  return ["all that have it", ...others.map(({ name }) => `not ${name}`)].join(", ");
}

interface Bound {
  readonly name: string;
  readonly bound: string;
}

function boundsOf(name: string, form: Form): readonly Bound[] {
  switch (form.type) {
    case "number":
      if (form.most === Number.MAX_SAFE_INTEGER) return [];
      return [{ name, bound: range(form.least, form.most) }];
    case "text":
      return [{ name, bound: `at most ${grouped(form.bytesMax)} bytes` }];
    case "numbers":
      return [{ name, bound: `at most ${grouped(form.countMax)} numbers` }];
    case "choice":
      return [{ name, bound: range(0, form.names.length - 1) }];
    case "optional":
      return boundsOf(name, form.of);
    case "revision":
      return [{ name: "number", bound: range(0, form.numberMax) }];
    case "items":
    case "keys":
    case "steps":
      return [{ name, bound: range(1, form.countMax) }];
    default:
      return [];
  }
}

const range = (least: number, most: number): string => `${grouped(least)} – ${grouped(most)}`;
