/**
 * Identities, grants and credentials as text, and keys and prefixes as they are typed: what ends in
 * `*` is a prefix. No token and no digest is ever here.
 */
import type { CredentialView, GrantTarget, GrantView, IdentityView } from "../../src/index.js";
import { keyText, printable } from "../../src/text/index.js";
import { type Column, tableLines } from "../output/text-table.js";
import { roughSize } from "../text/sizes.js";
import { expiryText } from "../text/wall-time.js";

const ANY = "*";

const GRANT_COLUMNS: readonly Column[] = [
  { heading: "IDENTITY" },
  { heading: "LEVEL" },
  { heading: "KEYS" },
];

const CREDENTIAL_COLUMNS: readonly Column[] = [
  { heading: "IDENTITY" },
  { heading: "LABEL" },
  { heading: "KIND" },
  { heading: "EXPIRES", style: (cell) => (cell.startsWith("EXPIRED") ? "red" : undefined) },
];

const USAGE_COLUMNS: readonly Column[] = [
  { heading: "IDENTITY" },
  { heading: "SESSIONS", alignment: "right" },
  { heading: "HOLDS", alignment: "right" },
  { heading: "WAITS", alignment: "right" },
  { heading: "SIZE", alignment: "right" },
];

/** `orders/*` is a prefix unless it is meant exactly. */
export function grantTarget(text: string, isExact: boolean): GrantTarget {
  return !isExact && text.endsWith(ANY) ? { prefix: text.slice(0, -ANY.length) } : { key: text };
}

export function isEverything(target: GrantTarget): boolean {
  return "prefix" in target && target.prefix === "";
}

/** As it is typed: `orders/*`, `orders/1`, `5*3 --exact`. */
export function targetText(target: GrantTarget): string {
  if ("prefix" in target) return target.prefix === "" ? ANY : `${keyText(target.prefix)}${ANY}`;
  return target.key.endsWith(ANY) ? `${keyText(target.key)} --exact` : keyText(target.key);
}

/** `acquire on orders/*`. */
export function grantText(grant: GrantView): string {
  return `${grant.level} on ${keysText(grant)}`;
}

/** `admin on *, acquire on orders/*`; "no permission" without any. */
export function grantsText(grants: readonly GrantView[]): string {
  return grants.length === 0 ? "no permission" : grants.map(grantText).join(", ");
}

/** A table of grants, and if there are any, one of credentials and one of what sessions use. */
export function identityLines(identities: readonly IdentityView[], nowMs: number): string[] {
  const grants = identities.flatMap(({ name, grants: own }) =>
    own.length === 0
      ? [[name, "-", "-"]]
      : own.map((grant) => [name, grant.level, keysText(grant)]),
  );
  const credentials = identities.flatMap(({ name, credentials: own }) =>
    own.map((credential) => credentialRow(name, credential, nowMs)),
  );
  const lines = tableLines(GRANT_COLUMNS, grants);
  const usages = identities.filter(({ usage }) => usage.bytes > 0).map(usageRow);
  return [
    lines,
    ...(credentials.length === 0 ? [] : [tableLines(CREDENTIAL_COLUMNS, credentials)]),
    ...(usages.length === 0 ? [] : [tableLines(USAGE_COLUMNS, usages)]),
  ].flatMap((table, at) => (at === 0 ? table : ["", ...table]));
}

function usageRow({ name, usage }: IdentityView): string[] {
  const { sessions, holds, waits, bytes } = usage;
  return [name, ...[sessions, holds, waits].map(String), roughSize(bytes)];
}

function credentialRow(
  name: string,
  { label, kind, expiresWallMs }: CredentialView,
  nowMs: number,
): string[] {
  return [name, printable(label), kind, expiryText(expiresWallMs, nowMs)];
}

function keysText({ key, isPrefix }: GrantView): string {
  return targetText(isPrefix ? { prefix: key } : { key });
}
