/**
 * The checks that all calls share. A wrong type or range is a programmer's error and fails with a
 * plain `TypeError` or `RangeError`; a name that the cluster would refuse fails with
 * `INVALID_ARGUMENT`, as if the cluster had refused it. The files next to this one use these checks
 * to turn arguments into complete values; this file knows no particular call.
 */
import { HoldfastError } from "../../errors/index.js";
import {
  isValidAddress,
  isValidKey,
  isValidPrefix,
  isValidTableKey,
  NODE_ID_MAX,
} from "../../protocol/index.js";

/** How much of a wrong value a message shows. */
const SHOWN_LENGTH_MAX = 80;

/** The option of every call that is answered at once. */
export interface CallOptions {
  /** Aborting rejects with the signal's reason; a command that was sent may still take effect. */
  signal?: AbortSignal | undefined;
}

const CALL_OPTIONS: ReadonlySet<string> = new Set(["signal"]);

/** A key that is requested. */
export function requireKey(key: string): void {
  requireText(key, "key", isValidKey);
}

/** A key that is inspected, or taken from its holder: it may be the key of a Web Lock. */
export function requireTableKey(key: string): void {
  requireText(key, "key", isValidTableKey);
}

export function requirePrefix(prefix: string): void {
  requireText(prefix, "prefix", isValidPrefix);
}

export function requireNodeId(id: number): void {
  requireInteger(id, "id", 1, NODE_ID_MAX);
}

/** `host:port`. */
export function requireAddress(address: string): void {
  requireText(address, "address", isValidAddress);
}

export function requireSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal must be an AbortSignal, not ${describe(signal)}`);
  }
}

/**
 * The signal of a call that takes no other option, or only those in `known`, which includes the
 * signal.
 */
export function signalOf(
  options: CallOptions | undefined,
  known: ReadonlySet<string> = CALL_OPTIONS,
): AbortSignal | undefined {
  if (options === undefined) return undefined;
  requireObject(options, "options");
  requireKnown(options, known);
  requireSignal(options.signal);
  return options.signal;
}

export function requireInteger(value: unknown, name: string, min: number, max: number): void {
  const number = requireNumber(value, name, min, max);
  if (!Number.isInteger(number)) throw new RangeError(`${name} must be an integer, not ${number}`);
}

/** A misspelt option would be ignored silently: `timeout` for `waitMs` would wait forever. */
export function requireKnown(options: object, known: ReadonlySet<string>): void {
  for (const name in options) {
    if (known.has(name)) continue;
    throw new TypeError(`unknown option ${name}; the options are ${[...known].join(", ")}`);
  }
}

export function requireBoolean(value: unknown, name: string): void {
  if (typeof value !== "boolean") {
    throw new TypeError(`${name} must be a boolean, not ${describe(value)}`);
  }
}

export function requireNumber(value: unknown, name: string, min: number, max: number): number {
  if (typeof value !== "number") {
    throw new TypeError(`${name} must be a number, not ${describe(value)}`);
  }
  // Written so that NaN fails too.
  if (!(value >= min && value <= max)) {
    throw new RangeError(`${name} must be between ${min} and ${max}, not ${value}`);
  }
  return value;
}

export function requireText(
  value: unknown,
  name: string,
  problemOf: (text: string) => string | undefined,
): void {
  if (typeof value !== "string") {
    throw new TypeError(`${name} must be a string, not ${describe(value)}`);
  }
  const problem = problemOf(value);
  if (problem !== undefined) throw new HoldfastError("INVALID_ARGUMENT", problem);
}

export function requireObject(value: unknown, name: string): void {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${name} must be an object, not ${describe(value)}`);
  }
}

export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "string") return typeof value;
  // A whole document that was passed by mistake is not shown in full.
  const isShort = value.length <= SHOWN_LENGTH_MAX;
  return isShort ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX))}…`;
}
