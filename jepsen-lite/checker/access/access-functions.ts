/**
 * The operations of a lock history that concern access: changes of grants and credentials, and what
 * each other operation needs, as documented in docs/internals/checker.md. It knows none of the code
 * of the service.
 */
import { fieldsOf } from "../lock/lock-calls.js";
import { badArgument, badResult } from "../models/model.js";
import type { Operation } from "../operations.js";

export const ACCESS_FUNCTIONS = [
  "open",
  "list",
  "set-limit",
  "grant",
  "put-credential",
  "remove-credential",
] as const;

/** Each level includes those before it. */
const LEVELS = ["none", "observe", "acquire", "operate", "admin"] as const;
export type LevelName = (typeof LEVELS)[number];

export function levelOf(name: LevelName): number {
  return LEVELS.indexOf(name);
}

/** What an operation needs: a level on each of the keys, or on any key if there are none. */
export interface Need {
  readonly level: number;
  readonly keys: readonly string[];
}

/** Only the empty prefix covers the empty key: a grant on all keys. */
const EVERYWHERE = [""];
const NEEDS_EVERYWHERE: ReadonlySet<string> = new Set([
  "grant",
  "put-credential",
  "remove-credential",
  "end-session",
]);

const LEVEL_BY_FUNCTION: Readonly<Record<string, LevelName>> = {
  open: "acquire",
  acquire: "acquire",
  upgrade: "acquire",
  update: "acquire",
  "hand-over": "acquire",
  adopt: "acquire",
  inspect: "observe",
  "set-limit": "operate",
  revoke: "operate",
  "end-session": "operate",
  grant: "admin",
  "put-credential": "admin",
  "remove-credential": "admin",
};

/** `undefined`: it needs nothing, or what it needs does not follow from its lines. */
export function needOf(operation: Operation): Need | undefined {
  const { f } = operation;
  const name = LEVEL_BY_FUNCTION[f];
  if (name === undefined) return undefined;
  if (f === "open") return { level: levelOf(name), keys: [] };
  if (NEEDS_EVERYWHERE.has(f)) return { level: levelOf(name), keys: EVERYWHERE };
  const { items, steal } = fieldsOf(operation.argument);
  const level = levelOf(f === "acquire" && steal === true ? "operate" : name);
  if (Array.isArray(items)) {
    return { level, keys: items.map((item) => String(fieldsOf(item)["key"])) };
  }
  return operation.key === undefined ? undefined : { level, keys: [operation.key] };
}

/** The keys that a successful `list` showed. */
export function keysShown(operation: Operation): readonly string[] {
  if (operation.f !== "list" || operation.outcome !== "ok") return [];
  const { keys } = fieldsOf(operation.completion?.value);
  if (!Array.isArray(keys)) throw badResult(operation, 'an ok without "keys"');
  return keys.map(String);
}

/** A grant that was set, or a credential that was put or removed. */
export type AccessChange =
  | {
      readonly kind: "grant";
      readonly identity: string;
      readonly target: string;
      readonly level: number;
    }
  | {
      readonly kind: "credential";
      readonly credential: string;
      /** `undefined`: it is removed. */
      readonly identity: string | undefined;
    };

/** @throws BadHistoryError for a value that is not documented. */
export function changeOf(operation: Operation): AccessChange | undefined {
  const { f } = operation;
  if (f !== "grant" && f !== "put-credential" && f !== "remove-credential") return undefined;
  const { identity, credential, key, prefix, level } = fieldsOf(operation.argument);
  if (f === "grant") {
    const isNamed = typeof identity === "string";
    const isKnown = LEVELS.some((name) => name === level);
    const of = typeof prefix === "string" ? prefixTarget(prefix) : keyTarget(key);
    if (!isNamed || !isKnown || of === undefined) {
      throw badArgument(operation, 'expected "identity", "level", and "key" or "prefix"');
    }
    return { kind: "grant", identity, target: of, level: levelOf(level as LevelName) };
  }
  if (typeof credential !== "string") throw badArgument(operation, 'it has no "credential"');
  if (f === "remove-credential") return { kind: "credential", credential, identity: undefined };
  if (typeof identity !== "string") throw badArgument(operation, 'it has no "identity"');
  return { kind: "credential", credential, identity };
}

export function prefixTarget(prefix: string): string {
  return `p${prefix}`;
}

function keyTarget(key: unknown): string | undefined {
  return typeof key === "string" ? `k${key}` : undefined;
}

/** Every target that covers the key: itself, and each of its prefixes. */
export function* targetsOver(key: string): Generator<string> {
  yield `k${key}`;
  for (let length = 0; length <= key.length; length += 1) yield prefixTarget(key.slice(0, length));
}
