/** Describes one line of a history in words, for any model. */
import type { HistoryEvent } from "./input/history-event.js";
import { NEMESIS } from "./operations.js";

const NANOSECONDS = 1_000_000_000;
const VALUE_CHARACTERS_MAX = 80;

type Fields = Readonly<Record<string, unknown>>;

/** Notes of a harness about all clients at once. */
const NEMESIS_NOTES: Readonly<Record<string, string>> = {
  healed: "all faults are over",
  settled: "all leases of dead clients are over",
};

/** `client 3 asks: acquire a`, `client 3 is told: acquire a, token 5`. */
export function eventText(event: HistoryEvent): string {
  const { f, type, error } = event;
  if (event.process === NEMESIS) return NEMESIS_NOTES[f] ?? f;
  const who = event.as === undefined ? fullName(event) : `${fullName(event)} as ${event.as}`;
  const what = operationText(event);
  const why = error === undefined ? "" : ` (${error})`;
  if (type === "invoke") return `${who} asks: ${what}`;
  if (type === "ok") return `${who} gets: ${what}`;
  if (type === "fail") return `${who} is refused: ${what}${why}`;
  return `${who} ${NOTES[f]?.(event) ?? `never learns the outcome of its ${what}${why}`}`;
}

const NOTES: Readonly<Record<string, (event: HistoryEvent) => string>> = {
  queued: ({ key }) => `waits in the queue of ${key === undefined ? "it" : quote(key)}`,
  lost: ({ value }) => `considers token ${fieldsOf(value)["token"]} lost`,
  renewed: () => "has its lease renewed",
  crash: () => "dies",
  change: ({ key, value }) => {
    const { watch, kind, token } = fieldsOf(value);
    const by = token === undefined ? "" : `, token ${token}`;
    return `sees by watch ${watch}: ${quote(key ?? "")} ${kind}${by}`;
  },
};

/** What is asked for, or what became of it, without who it was. */
export function operationText({ f, key, value, type }: HistoryEvent): string {
  const { token, tokens, grants, released, reason, items, level, credential } = fieldsOf(value);
  const keys = key === undefined ? keysOf(items) : [key];
  const name = [f, keys.map(quote).join(" and ")].filter((word) => word !== "").join(" ");
  if (released !== undefined) {
    return released === true ? `${name}, done` : `${name}, it had ended (${reason ?? "unknown"})`;
  }
  if (token !== undefined) return `${name}${type === "ok" ? "," : ""} token ${token}`;
  const several = tokensIn(grants ?? tokens);
  if (several.length > 0) return `${name}${type === "ok" ? "," : ""} tokens ${several.join(", ")}`;
  const isOfAccess = level !== undefined || credential !== undefined;
  if (isOfAccess && type === "invoke") return `${name} ${JSON.stringify(value)}`;
  const isPlain = value === null || typeof value !== "object" || Array.isArray(value);
  const isNoArgument = type === "invoke" && (!isPlain || value === null);
  if (value === undefined || isNoArgument) return name;
  return `${name} ${JSON.stringify(value).slice(0, VALUE_CHARACTERS_MAX)}`;
}

/** The tokens or the grants of holds that go from one client to another as a whole. */
function tokensIn(listed: unknown): unknown[] {
  if (!Array.isArray(listed)) return [];
  return listed.map((each) => (typeof each === "number" ? each : (fieldsOf(each)["token"] ?? "–")));
}

function keysOf(items: unknown): string[] {
  if (!Array.isArray(items)) return [];
  return items.map((item) => String(fieldsOf(item)["key"]));
}

/** Its name for a reader of the whole run. */
export function nameOf({ client, process }: HistoryEvent): string {
  return client === undefined ? `process ${process}` : `client ${client}`;
}

/** With the process, which distinguishes the workers of one client. */
function fullName(event: HistoryEvent): string {
  const { client, process } = event;
  return client === undefined ? nameOf(event) : `client ${client} (process ${process})`;
}

/** What two are called together and one by one, so that they can be told apart. */
export function namesOf(
  one: HistoryEvent,
  other: HistoryEvent,
): readonly [both: string, one: string, other: string] {
  if (one.client === undefined || other.client === undefined) {
    return ["two processes", `process ${one.process}`, `process ${other.process}`];
  }
  if (one.client !== other.client) return ["two clients", nameOf(one), nameOf(other)];
  const workers = `two workers of client ${one.client}`;
  return [workers, `process ${one.process}`, `process ${other.process}`];
}

/** ` from 7.773 s to 7.912 s`; "" if a history has no times. */
export function spanText(fromNs: number | undefined, toNs: number | undefined): string {
  if (fromNs === undefined) return "";
  if (toNs === undefined || toNs <= fromNs) return ` at ${secondsText(fromNs)}`;
  return ` from ${secondsText(fromNs)} to ${secondsText(toNs)}`;
}

export function secondsText(ns: number): string {
  return `${(ns / NANOSECONDS).toFixed(3)} s`;
}

/** A key between backticks; characters that control a terminal are escaped. */
export function quote(key: string): string {
  return `\`${JSON.stringify(key).slice(1, -1)}\``;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}
