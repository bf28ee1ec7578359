/**
 * Checks the arguments of `locks.request` as the Web Locks API does. First it converts them as Web
 * IDL does, from left to right and members by name, each failing with a `TypeError`; then come the
 * steps of the method in order ("The request() method", steps 3 to 8).
 */
import {
  isLockMode,
  keyOfLockName,
  LOCK_NAME_BYTES_MAX,
  type LockMode,
} from "../../protocol/index.js";
import { describe, requireSignal } from "../options/checks.js";
import type { LockGrantedCallback } from "./types.js";

export interface LockRequest<T> {
  readonly name: string;
  readonly key: string;
  readonly mode: LockMode;
  readonly ifAvailable: boolean;
  readonly steal: boolean;
  readonly signal: AbortSignal | undefined;
  readonly callback: LockGrantedCallback<T>;
}

type Options = Pick<LockRequest<unknown>, "mode" | "ifAvailable" | "steal" | "signal">;

/** `more`: the arguments after the second one. */
export function resolveRequest<T>(
  name: unknown,
  optionsOrCallback: unknown,
  more: readonly unknown[],
): LockRequest<T> {
  const text = toText(name, "name");
  const options = resolveOptions(more.length === 0 ? undefined : optionsOrCallback);
  const callback = more.length === 0 ? optionsOrCallback : more[0];
  if (typeof callback !== "function") {
    throw new TypeError(`request needs a callback, which is a function, not ${describe(callback)}`);
  }
  const key = requireName(text);
  requireTogether(options);
  return { name: text, key, ...options, callback: callback as LockGrantedCallback<T> };
}

function resolveOptions(options: unknown): Options {
  const isObject = typeof options === "object" || typeof options === "function";
  if (options !== undefined && !isObject) {
    throw new TypeError(`options must be an object, not ${describe(options)}`);
  }
  // Members in the order of their names, since getters can observe it.
  const given = (options ?? {}) as Readonly<Record<string, unknown>>;
  const ifAvailable = Boolean(given["ifAvailable"]);
  const mode = resolveMode(given["mode"]);
  const signal = given["signal"];
  requireSignal(signal);
  const steal = Boolean(given["steal"]);
  return { mode, ifAvailable, steal, signal: signal as AbortSignal | undefined };
}

function resolveMode(mode: unknown): LockMode {
  if (mode === undefined) return "exclusive";
  const text = toText(mode, "mode");
  if (isLockMode(text)) return text;
  throw new TypeError(`mode must be "exclusive" or "shared", not ${describe(mode)}`);
}

function requireName(name: string): string {
  if (name.startsWith("-")) throw notSupported('names that begin with "-" are reserved');
  const key = keyOfLockName(name);
  if (key !== undefined) return key;
  throw notSupported(
    `a name has at most ${LOCK_NAME_BYTES_MAX} bytes of UTF-8, where control characters, lone ` +
      "surrogates and ~ count five",
  );
}

function requireTogether({ mode, ifAvailable, steal, signal }: Options): void {
  if (steal && ifAvailable) throw notSupported("steal and ifAvailable exclude each other");
  if (steal && mode !== "exclusive") throw notSupported("only exclusive locks can be stolen");
  if (signal === undefined) return;
  if (steal || ifAvailable) {
    throw notSupported(`signal and ${steal ? "steal" : "ifAvailable"} exclude each other`);
  }
  signal.throwIfAborted();
}

/** Converts to a DOMString as Web IDL does: anything but a symbol. */
function toText(value: unknown, what: string): string {
  if (typeof value === "symbol") throw new TypeError(`${what} must be a string, not symbol`);
  return `${value}`;
}

function notSupported(text: string): DOMException {
  return new DOMException(text, "NotSupportedError");
}
