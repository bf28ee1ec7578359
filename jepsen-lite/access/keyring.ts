/**
 * What the clients of a closed cluster need: their access tokens, and the keys on which grants are
 * given and taken. The harness writes it to a file whenever it changes, and clients read the file
 * before they act, so it never waits for a client.
 */
import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";

/** By name of the credential, which is also its label: `amber/1`. */
export interface Keyring {
  readonly tokens: Readonly<Record<string, string>>;
  /** By identity: the number of its present area. */
  readonly areas: Readonly<Record<string, number>>;
  /** The credential that the leaver has now, and its last ones, which were removed. */
  readonly leaver: string;
  readonly removed: readonly string[];
}

/** Each works in its own area, and the administrator changes what it may do there. */
export const LOCK_IDENTITIES = ["amber", "birch", "cedar"] as const;
/** Does what every other workload does, and may do that on all keys. */
export const WORKER = "worker";
export const ADMIN = "admin";
/** Those in whose name the intruder comes: its right to an area is given and taken. */
export const FICKLE = "fickle";
/** May observe the area of the first lock identity, or nothing. */
export const OBSERVER = "observer";
/** Has a right to its area, and a credential that is removed and replaced. */
export const LEAVER = "leaver";

export function credentialOf(identity: string, number = 1): string {
  return `${identity}/${number}`;
}

/** The keys of an identity: nobody else has a right to them, except to observe. */
export function areaOf(identity: string, number: number): string {
  return `identities/${identity}/${number}/`;
}

export function readKeyring(file: string): Keyring {
  return JSON.parse(readFileSync(file, "utf8")) as Keyring;
}

/** As a whole or not at all: a reader never sees half of it. */
export async function writeKeyring(file: string, keyring: Keyring): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(keyring), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
