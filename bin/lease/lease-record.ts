/**
 * What a later step needs to know of a lease: its keys and its owner, in a file that `lease take`
 * wrote, or named one by one. The owner proves the lease, so no message and no argument contains
 * it: other users of the machine see the arguments of a command while it runs.
 */
import { readFileSync, statSync } from "node:fs";
import type { Configuration } from "../config/configuration.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { LEASE_OPTIONS } from "../options/option-table.js";
import { fileFailure } from "../output/new-file.js";
import { note } from "../output/terminal.js";
import { variableOf } from "../text/option-spelling.js";

/** The options that say whose lease it is. */
export interface OwnerFlags {
  readonly ownerFile?: string;
}

export interface LeaseFlags extends OwnerFlags {
  readonly lease?: string;
}

export interface LeaseRecord {
  readonly keys: readonly string[];
  readonly owner: string;
}

const OWNER_BYTES_MAX = 1_024;
/** Permissions of those who are neither the owner nor in the group. */
const OTHERS = 0o007;

/** The lease of a file, or the keys and the owner that were given. Fails with exit code 2. */
export function leaseFrom(
  keys: readonly string[],
  flags: LeaseFlags,
  configuration: Configuration,
): LeaseRecord {
  const { lease, ownerFile } = flags;
  if (lease === undefined) {
    if (keys.length === 0) throw usage("give the keys of the lease, or --lease with its file");
    return { keys, owner: requireOwner(flags, configuration) };
  }
  if (keys.length > 0) throw usage("keys and --lease exclude each other: the file has the keys");
  if (ownerFile !== undefined) throw usage("--lease has the owner: it excludes --owner-file");
  return recordIn(lease);
}

/** The owner that was given; `undefined`: none was. */
export function ownerFrom(
  { ownerFile }: OwnerFlags,
  configuration: Configuration,
): string | undefined {
  if (ownerFile !== undefined) {
    return requireOwnerText(requireText(textIn(ownerFile).trim(), ownerFile));
  }
  const given = configuration.settle({ leaseOwner: LEASE_OPTIONS.leaseOwner }).leaseOwner;
  return given === undefined ? undefined : requireOwnerText(given);
}

function requireOwnerText(owner: string): string {
  const bytes = Buffer.byteLength(owner);
  if (bytes > 0 && bytes <= OWNER_BYTES_MAX) return owner;
  throw usage(`an owner has 1 to ${OWNER_BYTES_MAX} bytes, not ${bytes}`);
}

function requireOwner(flags: OwnerFlags, configuration: Configuration): string {
  const owner = ownerFrom(flags, configuration);
  if (owner !== undefined) return owner;
  const variable = variableOf("leaseOwner");
  throw usage(`no owner: give --lease, --owner-file, or ${variable} in the environment`);
}

function requireText(text: string, path: string): string {
  if (text === "") throw usage(`${path} is empty: the owner of a lease is required`);
  return text;
}

function recordIn(path: string): LeaseRecord {
  const record = parsed(textIn(path));
  if (record === undefined) throw usage(`${path} is not a file of lease take --out`);
  return record;
}

/** `undefined`: it is something else. */
function parsed(text: string): LeaseRecord | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof document !== "object" || document === null) return undefined;
  const { keys, owner } = document as { readonly keys?: unknown; readonly owner?: unknown };
  if (typeof owner !== "string" || owner === "" || !Array.isArray(keys)) return undefined;
  const names = keys.filter((key): key is string => typeof key === "string");
  return names.length === 0 || names.length < keys.length ? undefined : { keys: names, owner };
}

function textIn(path: string): string {
  try {
    const text = readFileSync(path, "utf8");
    const { mode } = statSync(path);
    if ((mode & 0o170000) === 0o100000 && (mode & OTHERS) !== 0) {
      note(`other users of this machine can read the owner in ${path}: chmod 600 ${path}`);
    }
    return text;
  } catch (error) {
    if (systemCodeOf(error) === "") throw error;
    throw new Failure(EXIT.usage, fileFailure("read", path, error).message, { cause: error });
  }
}

function usage(message: string): Failure {
  return new Failure(EXIT.usage, message);
}
