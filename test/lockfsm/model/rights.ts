/** What grants allow in the naive model (semantics.md, 12): every question is a scan of all of them. */
import {
  ACCESS_LEVEL,
  type AccessLevel,
  OP,
  type SequencedCommand,
} from "../../../src/protocol/index.js";
import type {
  ModelCredential,
  ModelGrant,
  ModelHold,
  ModelIdentity,
  ModelSession,
} from "./records.js";
import type { Model } from "./state.js";

function isCoveredBy({ key, isPrefix }: ModelGrant, asked: string): boolean {
  return isPrefix ? asked.startsWith(key) : asked === key;
}

export function may(identity: ModelIdentity, level: AccessLevel, key: string): boolean {
  return identity.grants.some(
    (grant) => isCoveredBy(grant, key) && ACCESS_LEVEL[grant.level] >= ACCESS_LEVEL[level],
  );
}

export function mayEverywhere({ grants }: ModelIdentity, level: AccessLevel): boolean {
  return grants.some(
    (grant) =>
      grant.isPrefix && grant.key === "" && ACCESS_LEVEL[grant.level] >= ACCESS_LEVEL[level],
  );
}

export function maySomewhere({ grants }: ModelIdentity, level: AccessLevel): boolean {
  return grants.some((grant) => ACCESS_LEVEL[grant.level] >= ACCESS_LEVEL[level]);
}

export function mayOnAll(
  identity: ModelIdentity,
  level: AccessLevel,
  claim: { readonly items: readonly { readonly key: string }[] },
): boolean {
  return claim.items.every(({ key }) => may(identity, level, key));
}

export function credentialOf(model: Model, number: number): ModelCredential | undefined {
  return model.credentials.find((credential) => credential.number === number);
}

/** Whether the session has no attachment any more: its credential is gone. */
export function isCutOff(model: Model, session: ModelSession): boolean {
  return credentialOf(model, session.credential) === undefined;
}

export function noteRefusal(model: Model, level: AccessLevel): void {
  model.refused[level] += 1;
}

/** What the command is counted as when it is refused. */
export function levelOf(command: SequencedCommand): AccessLevel {
  switch (command.op) {
    case OP.acquire:
      return command.options?.steal === true ? "operate" : "acquire";
    case OP.take:
    case OP.act:
    case OP.upgrade:
    case OP.update:
    case OP.handOver:
    case OP.adopt:
      return "acquire";
    case OP.revoke:
    case OP.endSession:
    case OP.setLimit:
      return "operate";
    case OP.end:
    case OP.close:
    case OP.downgrade:
    case OP.extend:
    case OP.giveBack:
      return "none";
    default:
      return "admin";
  }
}

/** For holds that a command would end. */
export function mayEnd(identity: ModelIdentity, holds: Iterable<ModelHold>): boolean {
  return [...holds].every((hold) => mayOnAll(identity, "operate", hold));
}
