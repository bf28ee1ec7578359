/**
 * Which commands are allowed in the naive model, and how who may do what is changed (semantics.md, 12).
 * A credential is a line in a list.
 */
import {
  type AccessCommand,
  type AccessView,
  ANONYMOUS,
  LOCAL,
  OP,
  type PutCredentialCommand,
  type Result,
  type SequencedCommand,
  type SetGrantCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { holdOf } from "./claims.js";
import { error, type ModelIdentity, type ModelSession } from "./records.js";
import { levelOf, may, mayEverywhere, mayOnAll, maySomewhere } from "./rights.js";
import { bytesOfAll, usageOf } from "./sizes.js";
import type { Model } from "./state.js";

const IDENTITIES_MAX = 10_000;
const CREDENTIALS_MAX = 16;
const GRANTS_MAX = 256;
const ALL_GRANTS_MAX = 100_000;

/** Whether the identity may do it, as far as that does not hang on what it would take. */
export function mayDo(
  model: Model,
  identity: ModelIdentity,
  session: ModelSession,
  command: SequencedCommand,
): boolean {
  switch (command.op) {
    case OP.end:
    case OP.close:
    case OP.downgrade:
    case OP.extend:
    case OP.giveBack:
      return true;
    case OP.act:
      return command.steps.every(
        ({ key, before, after }) =>
          (before !== undefined && (after === undefined || after === before)) ||
          may(identity, "acquire", key),
      );
    case OP.acquire:
    case OP.take:
      return mayOnAll(identity, levelOf(command), command);
    case OP.upgrade:
    case OP.adopt:
      return may(identity, "acquire", command.key);
    case OP.update:
    case OP.handOver: {
      const hold = holdOf(model, session, command.target);
      return hold === undefined || mayOnAll(identity, "acquire", hold);
    }
    case OP.revoke:
      return command.key === undefined
        ? maySomewhere(identity, "operate")
        : may(identity, "operate", command.key);
    case OP.endSession: {
      const target = model.sessions.find(({ id }) => id === command.session);
      const isOwn = target?.identity === identity && identity.name !== ANONYMOUS;
      return isOwn || mayEverywhere(identity, "operate");
    }
    case OP.setLimit:
      return may(identity, "operate", command.key);
    default:
      return mayEverywhere(identity, "admin");
  }
}

// --- changes -------------------------------------------------------------------------------

const OK: Result = { status: STATUS.ok };

export function changeAccess(model: Model, command: AccessCommand): Result {
  const { name } = command;
  const isReserved = name === LOCAL || (name === ANONYMOUS && command.op !== OP.setGrant);
  if (isReserved) return error("INVALID_ARGUMENT");
  const identity = model.identities.find((other) => other.name === name);
  const before = { identities: model.identities, credentials: model.credentials };
  const grants = identity?.grants;
  const hadAdmin = hasAdmin(model);
  const result = change(model, identity, command);
  if (hadAdmin && !hasAdmin(model)) {
    Object.assign(model, before);
    if (identity !== undefined) Object.assign(identity, { grants, isRemoved: false });
    return error("LAST_ADMIN");
  }
  if (result !== undefined) return result;
  if (command.op === OP.removeIdentity && identity !== undefined) {
    const isBusy = model.sessions.some((session) => session.identity === identity);
    if (isBusy) model.addWork(identity);
  }
  if (command.op === OP.putCredential) model.nextCredential += 1;
  model.accessRevision = model.index;
  return OK;
}

/** Somebody who can come anonymously, or with a credential that does not expire. */
function hasAdmin({ identities, credentials }: Model): boolean {
  return identities.some((identity) => {
    if (identity.name === LOCAL || !mayEverywhere(identity, "admin")) return false;
    const own = credentials.filter((credential) => credential.identity === identity);
    return identity.name === ANONYMOUS || own.some(({ expiresWallMs }) => expiresWallMs === 0);
  });
}

/** Returns the answer if nothing is changed. */
function change(
  model: Model,
  identity: ModelIdentity | undefined,
  command: AccessCommand,
): Result | undefined {
  switch (command.op) {
    case OP.putIdentity:
      if (identity !== undefined) return OK;
      if (model.identities.length - 2 >= IDENTITIES_MAX || isFull(model)) return error("QUOTA");
      model.identities = [
        ...model.identities,
        { name: command.name, grants: [], isRemoved: false },
      ];
      return undefined;
    case OP.removeIdentity:
      if (identity === undefined) return OK;
      model.identities = model.identities.filter((other) => other !== identity);
      model.credentials = model.credentials.filter((other) => other.identity !== identity);
      identity.grants = [];
      identity.isRemoved = true;
      return undefined;
    case OP.putCredential:
      return identity === undefined ? error("UNKNOWN_IDENTITY") : put(model, identity, command);
    case OP.removeCredential: {
      const known = find(model, identity, command.label);
      if (known === undefined) return OK;
      model.credentials = model.credentials.filter((other) => other !== known);
      return undefined;
    }
    case OP.setGrant:
      return setGrant(model, identity, command);
  }
}

function find(model: Model, identity: ModelIdentity | undefined, label: string) {
  return model.credentials.find((one) => one.identity === identity && one.label === label);
}

function put(
  model: Model,
  identity: ModelIdentity,
  { label, kind, digest, expiresWallMs }: PutCredentialCommand,
): Result | undefined {
  const known = find(model, identity, label);
  const isSame =
    known?.kind === kind && known.digest === digest && known.expiresWallMs === expiresWallMs;
  if (isSame) return OK;
  const isTaken =
    digest !== undefined &&
    model.credentials.some((other) => other !== known && other.digest === digest);
  if (isTaken) return error("INVALID_ARGUMENT");
  const own = model.credentials.filter((other) => other.identity === identity);
  if (known === undefined && (own.length >= CREDENTIALS_MAX || isFull(model))) {
    return error("QUOTA");
  }
  const { nextCredential: number, wallMs: createdWallMs } = model;
  model.credentials = [
    ...model.credentials.filter((other) => other !== known),
    { number, identity, label, kind, digest, expiresWallMs, createdWallMs },
  ];
  return undefined;
}

function setGrant(
  model: Model,
  identity: ModelIdentity | undefined,
  { key, isPrefix, level }: SetGrantCommand,
): Result | undefined {
  if (level === "admin" && !(isPrefix && key === "")) return error("INVALID_ARGUMENT");
  if (identity === undefined) return level === "none" ? OK : error("UNKNOWN_IDENTITY");
  const known = identity.grants.find((grant) => grant.key === key && grant.isPrefix === isPrefix);
  if ((known?.level ?? "none") === level) return OK;
  const granted = model.identities.filter(({ name }) => name !== LOCAL);
  const all = granted.flatMap(({ grants }) => grants).length;
  const isTooMuch = identity.grants.length >= GRANTS_MAX || all >= ALL_GRANTS_MAX || isFull(model);
  if (known === undefined && isTooMuch) return error("QUOTA");
  identity.grants = identity.grants.filter((grant) => grant !== known);
  if (level !== "none") identity.grants.push({ key, isPrefix, level });
  return undefined;
}

function isFull(model: Model): boolean {
  return bytesOfAll(model) >= model.settings.tableBytesMax;
}

// --- what is shown -------------------------------------------------------------------------

export function accessOf(model: Model): AccessView {
  const { identities, credentials } = model;
  const shown = identities.map((identity) => {
    const own = credentials.filter((one) => one.identity === identity && one.label !== "");
    own.sort((left, right) => (left.label < right.label ? -1 : 1));
    return {
      name: identity.name,
      usage: usageOf(model, identity),
      grants: identity.grants,
      credentials: own.map(({ label, kind, expiresWallMs, createdWallMs }) => {
        return { label, kind, expiresWallMs, createdWallMs };
      }),
    };
  });
  shown.sort((left, right) => (left.name < right.name ? -1 : 1));
  return { identities: shown, next: null };
}
