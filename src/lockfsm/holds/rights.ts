/**
 * Whether an identity may do what a command asks, at the position of the command in the log
 * (semantics.md, 12). Giving back is always allowed: release, downgrade, close, keepalive, recall.
 * A refusal says nothing of what stands in the table.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  type AccessLevel,
  type AcquireCommand,
  type AttachCommand,
  isAccessOp,
  isAttachCommand,
  needsAcquire,
  OP,
  type SequencedCommand,
  type TakeCommand,
} from "../../protocol/index.js";
import type { Cooldown } from "../records/cooldown.js";
import type { Hold } from "../records/hold.js";
import type { Identity } from "../records/identity.js";
import type { Place } from "../records/key.js";
import type { Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { ForbiddenCommand } from "../types.js";
import { lookAtHoldOf } from "./tokens.js";

const { acquire, operate, admin } = ACCESS_LEVEL;

/** What each command needs at most, but for a steal; see `levelFor`. */
const LEVEL_BY_OP = new Uint8Array(OP.inspect);
for (const op of [OP.acquire, OP.take, OP.act, OP.upgrade, OP.update, OP.handOver, OP.adopt])
  LEVEL_BY_OP[op] = acquire;
for (const op of [OP.revoke, OP.endSession, OP.setLimit]) LEVEL_BY_OP[op] = operate;
LEVEL_BY_OP[OP.changeSetting] = admin;
for (const op of Object.values(OP)) if (isAccessOp(op)) LEVEL_BY_OP[op] = admin;

/** With this on every key nothing else has to be looked at. */
function levelFor(command: SequencedCommand): number {
  if (command.op === OP.acquire && command.options?.steal === true) return operate;
  return LEVEL_BY_OP[command.op] as number;
}

/**
 * Whether the command may be executed, as far as that can be known before: what a revoke, a steal
 * or a claim would take is judged when it has been found (`mayTake`).
 */
export function mayDo(state: TableState, session: Session, command: SequencedCommand): boolean {
  const { identity } = session.credential;
  return identity.everywhere >= levelFor(command) || mayDoThere(state, session, identity, command);
}

function mayDoThere(
  state: TableState,
  session: Session,
  identity: Identity,
  command: SequencedCommand,
): boolean {
  switch (command.op) {
    case OP.acquire:
    case OP.take:
      return mayAcquire(identity, command, levelFor(command));
    case OP.act:
      return command.steps.every(
        (step) => !needsAcquire(step) || identity.levelOf(step.key) >= acquire,
      );
    case OP.upgrade:
    case OP.adopt:
      return identity.levelOf(command.key) >= acquire;
    case OP.update:
    case OP.handOver: {
      const hold = lookAtHoldOf(state, session, command.target);
      return hold === undefined || covers(identity, hold, acquire);
    }
    default:
      return mayOrder(state, identity, command);
  }
}

/** Whether the order may be executed, whether a session gives it or not. */
export function mayOrder(
  state: TableState,
  identity: Identity,
  command: SequencedCommand,
): boolean {
  if (identity.everywhere >= levelFor(command)) return true;
  switch (command.op) {
    case OP.revoke:
      return command.key === undefined
        ? identity.highest >= operate
        : identity.levelOf(command.key) >= operate;
    case OP.setLimit:
      return identity.levelOf(command.key) >= operate;
    case OP.endSession: {
      // One's own; whether another one exists is not told.
      if (identity === state.access.anonymous) return false;
      return state.sessions.find(command.session)?.credential.identity === identity;
    }
    default:
      return false;
  }
}

function mayAcquire(
  identity: Identity,
  { items }: AcquireCommand | TakeCommand,
  level: number,
): boolean {
  for (const { key } of items) if (identity.levelOf(key) < level) return false;
  return true;
}

/** Whether the identity may end a hold or cooldown, adopt it, be granted it: on every key of it. */
export function mayTake(
  identity: Identity,
  claim: Hold | Request | Cooldown,
  level: "acquire" | "operate",
): boolean {
  return identity.everywhere >= ACCESS_LEVEL[level] || covers(identity, claim, ACCESS_LEVEL[level]);
}

/** Whether a wait may still be granted: its identity may have lost rights, or be another one. */
export function mayStillWait(request: Request): boolean {
  return mayTake(request.session.credential.identity, request, "acquire");
}

function covers(
  identity: Identity,
  { firstPlace }: { readonly firstPlace: Place | undefined },
  level: number,
): boolean {
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    if (identity.levelOf(place.key.name) < level) return false;
  }
  return true;
}

/** Counts a command that was refused, by the level that it needed, and reports it. */
export function noteRefusal(
  state: TableState,
  command: AttachCommand | SequencedCommand,
  { session, identity, status }: Refused,
): void {
  const level = isAttachCommand(command) ? acquire : levelFor(command);
  const verb = LEVEL_NAMES[level] as AccessLevel;
  state.access.refused[verb] += 1;
  const name = identity?.name ?? "";
  const key = keyOf(command);
  state.accessListener?.onRefused({ command, session, identity: name, verb, status, key });
}

/** Notes the refusal of a wait whose session may not be granted what it waits for. */
export function noteRefusedWait(state: TableState, { session, firstPlace }: Request): void {
  state.access.refused.acquire += 1;
  state.accessListener?.onRefused({
    command: undefined,
    session: session.id,
    identity: session.identityName,
    verb: "acquire",
    status: ERROR_NUMBERS.FORBIDDEN,
    key: firstPlace?.key.name ?? "",
  });
}

interface Refused extends Pick<ForbiddenCommand, "session" | "status"> {
  /** `undefined`: the credential is gone. */
  readonly identity: Identity | undefined;
}

/** Who was refused, if a session was. */
export function ofSession(session: Session): Refused {
  const { identity } = session.credential;
  return { session: session.id, identity, status: ERROR_NUMBERS.FORBIDDEN };
}

function keyOf(command: AttachCommand | SequencedCommand): string {
  if ("items" in command) return command.items[0]?.key ?? "";
  if ("keys" in command) return command.keys[0] ?? "";
  if ("steps" in command) return command.steps[0]?.key ?? "";
  return "key" in command ? (command.key ?? "") : "";
}

const LEVEL_NAMES = Object.keys(ACCESS_LEVEL) as readonly AccessLevel[];
