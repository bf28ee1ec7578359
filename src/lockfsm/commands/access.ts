/**
 * Commands that change who may do what. Each is a wish for a state, as all orders are: what is so
 * already is ok. None may leave the cluster without anybody who could change it again.
 */
import { ERROR_NUMBERS, unreachable } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  type AccessCommand,
  ANONYMOUS,
  CREDENTIAL_MAX,
  LOCAL,
  OP,
  type PutCredentialCommand,
  type Result,
  type SetGrantCommand,
} from "../../protocol/index.js";
import { isTableFull } from "../holds/quotas.js";
import {
  CREDENTIALS_PER_IDENTITY_MAX,
  Credential,
  GRANTS_PER_IDENTITY_MAX,
  type Grant,
  Identity,
} from "../records/identity.js";
import { bytesOfIdentity, bytesOfName } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { RemovedIdentity, sessionsOf } from "../records/work-queue.js";
import { findRefusal, INVALID_ARGUMENT, OK, QUOTA } from "../results.js";

export const IDENTITIES_MAX = 10_000;
const GRANTS_MAX = 100_000;

const UNKNOWN_IDENTITY = findRefusal(ERROR_NUMBERS.UNKNOWN_IDENTITY) as Result;
const LAST_ADMIN = findRefusal(ERROR_NUMBERS.LAST_ADMIN) as Result;

/**
 * The answer to the command, whose giver may change access; its effect comes with it.
 * @param orderedBy the name of the identity that gives it
 */
export function changeAccess(state: TableState, command: AccessCommand, orderedBy: string): Result {
  if (isInvalid(command)) return INVALID_ARGUMENT;
  switch (command.op) {
    case OP.putIdentity:
      return putIdentity(state, command.name);
    case OP.removeIdentity:
      return removeIdentity(state, command.name, orderedBy);
    case OP.putCredential:
      return putCredential(state, command);
    case OP.removeCredential:
      return removeCredential(state, command.name, command.label);
    case OP.setGrant:
      return setGrant(state, command);
    default:
      return unreachable(command);
  }
}

function putIdentity(state: TableState, name: string): Result {
  const { access } = state;
  if (access.find(name) !== undefined) return OK;
  if (access.size >= IDENTITIES_MAX || isTableFull(state)) return QUOTA;
  access.add(new Identity(access.nextIdentity, name));
  access.nextIdentity += 1;
  return changed(state, bytesOfName(name));
}

function removeIdentity(state: TableState, name: string, orderedBy: string): Result {
  const { access } = state;
  const identity = access.find(name);
  if (identity === undefined) return OK;
  if (isLastAdmin(state, identity, ACCESS_LEVEL.none, [])) return LAST_ADMIN;
  const bytes = bytesOfIdentity(identity);
  access.remove(identity);
  const sessions = sessionsOf(state.sessions, identity);
  if (sessions.length === 0) access.forget(identity);
  else state.work.addIdentity(new RemovedIdentity(identity, sessions, orderedBy));
  return changed(state, -bytes);
}

function putCredential(state: TableState, command: PutCredentialCommand): Result {
  const { access } = state;
  const { name, label, kind, expiresWallMs } = command;
  const digest = command.digest ?? "";
  const identity = access.find(name);
  if (identity === undefined) return UNKNOWN_IDENTITY;
  const before = identity.findCredential(label);
  if (before?.digest === digest && before.kind === kind) {
    if (before.expiresWallMs === expiresWallMs) return OK;
  }
  const other = digest === "" ? undefined : access.findToken(digest);
  if (other !== undefined && other !== before) return INVALID_ARGUMENT;
  const isNew = before === undefined;
  if (isNew && identity.credentials.length >= CREDENTIALS_PER_IDENTITY_MAX) return QUOTA;
  if (isNew && isTableFull(state)) return QUOTA;
  if (access.nextCredential > CREDENTIAL_MAX) return QUOTA;
  const createdWallMs = state.wallMs;
  const of = { label, kind, digest, expiresWallMs, createdWallMs };
  const credential = new Credential(identity, access.nextCredential, of);
  const others = identity.credentials.filter((kept) => kept !== before);
  if (isLastAdmin(state, identity, identity.everywhere, [...others, credential])) return LAST_ADMIN;
  access.nextCredential += 1;
  if (before !== undefined) access.removeCredential(before);
  access.addCredential(credential);
  return changed(state, isNew ? bytesOfName(label) : 0);
}

function removeCredential(state: TableState, name: string, label: string): Result {
  const identity = state.access.find(name);
  const credential = identity?.findCredential(label);
  if (identity === undefined || credential === undefined) return OK;
  const others = identity.credentials.filter((kept) => kept !== credential);
  if (isLastAdmin(state, identity, identity.everywhere, others)) return LAST_ADMIN;
  state.access.removeCredential(credential);
  return changed(state, -bytesOfName(label));
}

function setGrant(state: TableState, command: SetGrantCommand): Result {
  const { access } = state;
  const { name, key, isPrefix } = command;
  const level = ACCESS_LEVEL[command.level];
  const identity = access.find(name);
  if (identity === undefined) return level === ACCESS_LEVEL.none ? OK : UNKNOWN_IDENTITY;
  const before = identity.findGrant(key, isPrefix);
  if ((before?.level ?? ACCESS_LEVEL.none) === level) return OK;
  const isNew = before === undefined;
  if (isNew && identity.grants.length >= GRANTS_PER_IDENTITY_MAX) return QUOTA;
  if (isNew && (access.grantCount >= GRANTS_MAX || isTableFull(state))) return QUOTA;
  const kept = identity.grants.filter((grant) => grant !== before);
  const grants: readonly Grant[] = level === 0 ? kept : [...kept, { key, isPrefix, level }];
  const everywhere = isPrefix && key === "" ? level : identity.everywhere;
  if (isLastAdmin(state, identity, everywhere, identity.credentials)) return LAST_ADMIN;
  access.setGrants(identity, grants);
  // `anonymous` and what it has are in every table.
  const bytes = identity === access.anonymous ? 0 : bytesOfName(key);
  return changed(state, isNew ? bytes : level === 0 ? -bytes : 0);
}

/**
 * Identities that every table has cannot be changed, except for the grants of `anonymous`; and
 * `admin` is granted for all keys.
 */
function isInvalid(command: AccessCommand): boolean {
  const { op, name } = command;
  if (name === LOCAL || (name === ANONYMOUS && op !== OP.setGrant)) return true;
  return (
    op === OP.setGrant && command.level === "admin" && !(command.isPrefix && command.key === "")
  );
}

/** Whether it can be an admin for good, could not with this, and is the only one. */
function isLastAdmin(
  { access }: TableState,
  identity: Identity,
  everywhere: number,
  credentials: readonly Credential[],
): boolean {
  if (!access.isAdminForGood(identity, identity.everywhere, identity.credentials)) return false;
  if (access.isAdminForGood(identity, everywhere, credentials)) return false;
  for (const other of access.identities()) {
    if (other === identity) continue;
    if (access.isAdminForGood(other, other.everywhere, other.credentials)) return false;
  }
  return true;
}

/** @param bytes more than before, in the table */
function changed(state: TableState, bytes: number): Result {
  state.access.revision = state.index;
  state.otherBytes += bytes;
  return OK;
}
