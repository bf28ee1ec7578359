/** The arguments of calls that change or show who may do what, checked and complete. */
import {
  ACCESS_LEVEL,
  type AccessLevel,
  isValidIdentityName,
  isValidLabel,
  WALL_MS_MAX,
} from "../../protocol/index.js";
import {
  describe,
  requireInteger,
  requireKnown,
  requireObject,
  requirePrefix,
  requireTableKey,
  requireText,
  signalOf,
} from "./checks.js";
import type { AdminCallOptions } from "./operator-options.js";

/** What a grant allows; each level includes those before it. */
export type GrantLevel = Exclude<AccessLevel, "none">;

/** One key, or all keys that begin so: `{ prefix: "" }` means every key. */
export type GrantTarget = { readonly key: string } | { readonly prefix: string };

/** The options of `createToken` and `addCertificate`. */
export interface CredentialOptions extends AdminCallOptions {
  /**
   * Distinguishes the credentials of one identity; 1 – 64 bytes, no control characters. Default:
   * "token-" and eight random digits, or "certificate".
   */
  label?: string | undefined;
  /**
   * From when on it is not accepted, in milliseconds of wall time, as `Date.now()`. 0 means never.
   * Nodes compare it with their own clocks. Default 0.
   */
  expiresWallMs?: number | undefined;
}

const TARGET_OPTIONS: ReadonlySet<string> = new Set(["key", "prefix"]);
const CREDENTIAL_OPTIONS: ReadonlySet<string> = new Set(["expiresWallMs", "label", "signal"]);
const GRANT_LEVELS = Object.keys(ACCESS_LEVEL).filter(
  (level): level is GrantLevel => level !== "none",
);

export function requireIdentity(name: string): void {
  requireText(name, "name", isValidIdentityName);
}

export function requireLabel(label: string): void {
  requireText(label, "label", isValidLabel);
}

export function requireLevel(level: unknown): void {
  if (typeof level === "string" && GRANT_LEVELS.includes(level as GrantLevel)) return;
  throw new TypeError(`level must be one of ${GRANT_LEVELS.join(", ")}, not ${describe(level)}`);
}

/** As on the wire. */
export function resolveGrantTarget(target: GrantTarget): {
  readonly key: string;
  readonly isPrefix: boolean;
} {
  requireObject(target, "target");
  requireKnown(target, TARGET_OPTIONS);
  const { key, prefix } = target as { readonly key?: string; readonly prefix?: string };
  if ((key === undefined) === (prefix === undefined)) {
    throw new TypeError("target must have a key or a prefix: one of them");
  }
  if (prefix !== undefined) {
    requirePrefix(prefix);
    return { key: prefix, isPrefix: true };
  }
  requireTableKey(key as string);
  return { key: key as string, isPrefix: false };
}

export function resolveCredential(options: CredentialOptions | undefined): {
  readonly label: string | undefined;
  readonly expiresWallMs: number;
  readonly signal: AbortSignal | undefined;
} {
  const signal = signalOf(options, CREDENTIAL_OPTIONS);
  const { label, expiresWallMs = 0 } = options ?? {};
  if (label !== undefined) requireLabel(label);
  requireInteger(expiresWallMs, "expiresWallMs", 0, WALL_MS_MAX);
  return { label, expiresWallMs, signal };
}
