/**
 * Turns the codes of the wire into the errors that callers see; every text is here. A message says
 * what is in the way and what can be done about it; `details` says it for programs.
 */
import { ERROR_NUMBERS, type ErrorCode, errorCodeOf, HoldfastError } from "../errors/index.js";
import {
  ANONYMOUS,
  BLOCKED_BY,
  type CycleMember,
  END_REASON,
  type EndReason,
  lockNameOf,
  type Result,
} from "../protocol/index.js";
import { quotedKey } from "../text/index.js";

/** Why a lock is no longer held: the table's reasons, and one that only the client knows. */
export type LossReason = keyof typeof END_REASON | "unauthenticated";

/** Anything that has a key, to name it in an error. */
export type Named = readonly { readonly key: string; readonly mode?: string }[];

const LOSS_REASONS = new Map<number, LossReason>(
  (Object.keys(END_REASON) as (keyof typeof END_REASON)[]).map((name) => [END_REASON[name], name]),
);

export function lossReasonOf(reason: EndReason): LossReason {
  return LOSS_REASONS.get(reason) ?? "unknown";
}

const LOSS_TEXTS: Readonly<Record<LossReason, string>> = {
  released: "was released",
  expired: "may have expired: its lease was not renewed in time",
  closed: "ended with its client",
  cancelled: "was cancelled",
  maxHold: "was held for the time that maxHoldMs allows",
  revoked: "was revoked",
  stolen: "was stolen",
  moved: "was handed over",
  unauthenticated: "cannot be kept: the cluster no longer accepts the credential of this client",
  unknown: "is no longer held",
};

/** The reason of `lock.signal`, and of calls that needed the lock. */
export function lockLost(items: Named, token: number, reason: LossReason): HoldfastError {
  const details = { ...keysOf(items), token, reason };
  return new HoldfastError("LOCK_LOST", `${nameOf(items)} ${LOSS_TEXTS[reason]}`, { details });
}

const BLOCKED_BY_NAMES: ReadonlyMap<number, string> = new Map(
  (Object.keys(BLOCKED_BY) as (keyof typeof BLOCKED_BY)[]).map((name) => [BLOCKED_BY[name], name]),
);

type Texts = Readonly<Partial<Record<ErrorCode, string>>>;

const RIGHTS_TEXTS = {
  FORBIDDEN: "no permission of this client's identity allows that",
  UNAUTHENTICATED:
    "the cluster does not know who asks; it needs an access token or a client certificate",
};

const TEXTS: Texts = {
  ...RIGHTS_TEXTS,
  LOCK_HELD: "another task holds it or waits for it",
  QUEUE_FULL: "as many requests wait for it as the setting waitersMax allows; try again later",
  WRONG_KIND:
    "the key is in use for the other kind of lock: locks and semaphores need different keys",
  NOT_HELD: "it is no longer held",
  QUOTA:
    "more than a setting allows one session, one identity, one step or the table (holdsPerSessionMax, " +
    "waitsPerSessionMax, bytesPerSessionMax, claimsPerIdentityMax, bytesPerIdentityMax, " +
    "waitersPerIdentityMax, tableBytesMax, holdsPerStepMax); release something, or raise the setting",
  INVALID_ARGUMENT: "the cluster refuses the arguments",
  UNKNOWN_IDENTITY: "no identity has that name",
  LAST_ADMIN:
    "afterwards no one could change access any more; first give another identity admin on all keys " +
    "and a credential that does not expire",
  SESSION_EXPIRED: "the session expired",
  TOO_MANY_IN_FLIGHT: "the session has too many unanswered commands; try again later",
  CANCELLED: "the request was cancelled",
  TOKENS_EXHAUSTED:
    "the cluster has no fencing tokens left: create a new cluster on machines with correct clocks",
  BUSY: "the cluster is busy; try again later",
  DISK_FULL: "the leader's disk is full; make room there, and try again",
};

const PERMITS_TEXT =
  "more permits than the limit, or no limit given for a semaphore that is not in use";
const TOO_LONG_TEXT =
  "minHoldMs or lockDelayMs is longer than the settings minHoldMsMax and lockDelayMsMax of the cluster allow";

const ENDLESS_TEXT = "a lease without end needs the setting endlessLeases";

/** Why an acquire of `items` failed. */
export function acquireFailure(items: Named, result: Result): HoldfastError {
  const name = nameOf(items);
  if (result.status === ERROR_NUMBERS.INVALID_ARGUMENT) {
    const isOfPermits = items.some(({ mode }) => mode === "permits");
    const text = isOfPermits ? `${PERMITS_TEXT}; or ${TOO_LONG_TEXT}` : TOO_LONG_TEXT;
    return new HoldfastError("INVALID_ARGUMENT", `${name}: ${text}`, { details: keysOf(items) });
  }
  return failure(name, keysOf(items), result);
}

/** What a command on leases asks for, as far as its refusals depend on that. */
export interface LeaseAsked {
  /** 0: without end. */
  readonly ttlMs?: number;
  readonly options?: { readonly minHoldMs: number; readonly lockDelayMs: number } | undefined;
}

/** Why a command on a lease of `items` failed, or one that makes a hold of them one. */
export function leaseFailure(
  items: Named,
  asked: LeaseAsked,
  result: Result,
  name = nameOf(items),
): HoldfastError {
  const details = keysOf(items);
  if (result.status === ERROR_NUMBERS.INVALID_ARGUMENT) {
    const { minHoldMs = 0, lockDelayMs = 0 } = asked.options ?? {};
    const most = "limit" in result ? result.limit : undefined;
    if (most !== undefined) {
      const text =
        `the lease of ${asked.ttlMs} ms is longer than ${most} ms, the setting leaseTtlMsMax of the ` +
        "cluster; ask for less, or let an admin raise it";
      const limit = { ...details, setting: "leaseTtlMsMax", limit: most };
      return new HoldfastError("INVALID_ARGUMENT", `${name}: ${text}`, { details: limit });
    }
    const texts = asked.ttlMs === 0 ? [ENDLESS_TEXT] : [];
    if (items.some(({ mode }) => mode === "permits")) texts.push(PERMITS_TEXT);
    if (minHoldMs + lockDelayMs > 0) texts.push(TOO_LONG_TEXT);
    if (texts.length === 0) texts.push(TEXTS.INVALID_ARGUMENT ?? "");
    return new HoldfastError("INVALID_ARGUMENT", `${name}: ${texts.join("; or ")}`, { details });
  }
  if ("isSameOwner" in result && result.isSameOwner === true) {
    const text = "this owner has it already, or waits for it, by another request";
    const isSameOwner = { ...details, isSameOwner: true };
    return new HoldfastError("LOCK_HELD", `${name}: ${text}`, { details: isSameOwner });
  }
  if ("reason" in result && result.status === ERROR_NUMBERS.NOT_HELD) {
    const reason = lossReasonOf(result.reason ?? END_REASON.unknown);
    const how = reason === "expired" ? "ended: it was not extended in time" : LOSS_TEXTS[reason];
    const text = `${name}: the lease ${how}`;
    return new HoldfastError("NOT_HELD", text, { details: { ...details, reason } });
  }
  if (result.status === ERROR_NUMBERS.CANCELLED) {
    const text = `${name}: a repeat of this request waits in its place, or it was given back`;
    return new HoldfastError("CANCELLED", text, { details });
  }
  return failure(name, details, result);
}

/** A take whose owner has given its lease, or its wait, back by that request. */
export function givenBackFailure(items: Named): HoldfastError {
  const text = `${nameOf(items)}: this request was given back, and a late copy of it takes nothing`;
  const details = { ...keysOf(items), reason: "released" };
  return new HoldfastError("NOT_HELD", text, { details });
}

export function upgradeFailure(key: string, result: Result): HoldfastError {
  const way = "release it, and ask for it exclusively from the start";
  return failure(`the upgrade of lock ${quotedKey(key)}`, { key }, result, way);
}

/** In messages. */
export const adoptionOf = (key: string): string => `the adoption of ${quotedKey(key)}`;

/** Without a reason in its details the hold is still there. */
export function adoptFailure(key: string, result: Result): HoldfastError {
  const { NOT_HELD } = ERROR_NUMBERS;
  if (result.status !== NOT_HELD) return failure(adoptionOf(key), { key }, result);
  const reason = "reason" in result ? result.reason : undefined;
  const text =
    reason === undefined ? "this identity lacks acquire on one of its keys" : wentBy(reason);
  const details = reason === undefined ? { key } : { key, reason: lossReasonOf(reason) };
  return new HoldfastError("NOT_HELD", `${adoptionOf(key)}: ${text}`, { details });
}

function wentBy(reason: EndReason): string {
  if (reason === END_REASON.moved) return "another process has adopted it";
  if (reason === END_REASON.unknown) return "it was not handed over, or that was long ago";
  return `it ${LOSS_TEXTS[lossReasonOf(reason)]}`;
}

/** Why any other command failed. `texts`: what some refusals mean for this command. */
export function commandFailure(what: string, result: Result, texts: Texts = {}): HoldfastError {
  const code = errorCodeOf(result.status);
  const text = code === undefined ? undefined : texts[code];
  if (code === undefined || text === undefined) return failure(what, {}, result);
  return new HoldfastError(code, `${what}: ${text}`);
}

function failure(
  name: string,
  about: Readonly<Record<string, unknown>>,
  result: Result,
  wayOut = "take the locks in one acquireAll, or always in the same order",
): HoldfastError {
  const code = errorCodeOf(result.status);
  if (code === undefined) {
    return new HoldfastError("PROTOCOL", `${name}: unknown status ${result.status}`);
  }
  const details: Record<string, unknown> = { ...about };
  let text: string = TEXTS[code] ?? code;
  if ("blockedBy" in result && result.blockedBy !== undefined) {
    details["blockedBy"] = BLOCKED_BY_NAMES.get(result.blockedBy);
  }
  if ("blockers" in result && result.blockers !== undefined) details["blockers"] = result.blockers;
  if ("cycle" in result && result.cycle !== undefined) details["cycle"] = result.cycle;
  if ("limit" in result && result.limit !== undefined) details["limit"] = result.limit;
  if (code === "DEADLOCK") {
    text = cycleText("cycle" in result ? (result.cycle ?? []) : [], wayOut);
  }
  if (code === "LIMIT_MISMATCH") {
    const limit = "limit" in result ? result.limit : undefined;
    text = `its limit is ${limit ?? "another one"}; give that or none, or change it with setLimit`;
  }
  return new HoldfastError(code, `${name}: ${text}`, { details });
}

/** Who waits for whom, beginning with the task that was refused. */
function cycleText(cycle: readonly CycleMember[], wayOut: string): string {
  if (cycle.length <= 1) {
    return (
      "its own task already holds it or waits for it, and would wait for itself; share it with " +
      "reentrant, upgrade the shared lock, or ask as another task"
    );
  }
  const names = cycle.map(taskText);
  const waits = cycle.map(({ key }, at) => {
    return `${names[at]} waits in ${quotedKey(key)} for ${names[(at + 1) % names.length]}`;
  });
  return `waiting for it would never end: ${waits.join(", ")}; ${wayOut}`;
}

/** One task of a deadlock; the identity of its session is left out while that is everybody's. */
export function taskText({ session, sessionName, identity, task }: CycleMember): string {
  const name = sessionName === "" ? `session ${session}` : JSON.stringify(sessionName);
  const as = identity === "" || identity === ANONYMOUS ? "" : ` as ${identity}`;
  return `${name}${as} task ${task}`;
}

/**
 * `waitMs`: -1 if it is not known. `decidedBy`: "service" if the table decided, "client" if no
 * answer came in time. `indeterminate`: it may have been granted unseen; known in the latter case.
 */
export function lockTimeout(
  items: Named,
  waitMs: number,
  decidedBy: "service" | "client",
  indeterminate?: boolean,
): HoldfastError {
  const known = indeterminate === undefined ? {} : { indeterminate };
  const details = { ...keysOf(items), waitMs, decidedBy, ...known };
  const time = waitMs < 0 ? "the given time" : `${waitMs} ms`;
  const text = `${nameOf(items)}: not granted in ${time}`;
  return new HoldfastError("LOCK_TIMEOUT", text, { details });
}

/** Why nothing is decided when this many of the nodes answer and a majority is needed. */
export function noLeaderText(answering: number, voters: number): string {
  if (voters === 0) return "no leader";
  const node = voters === 1 ? "node" : "nodes";
  const answer = `${answering} of ${voters} ${node} ${answering === 1 ? "answers" : "answer"}`;
  const needed = Math.floor(voters / 2) + 1;
  if (answering >= needed) return `no leader yet: ${answer}`;
  const others = voters === 1 ? "" : "; start the others";
  return `no leader: ${answer}, ${needed} ${needed === 1 ? "is" : "are"} needed${others}`;
}

/** `indeterminate`: the request may have taken effect. */
export function unavailable(what: string, why: string, indeterminate: boolean): HoldfastError {
  return new HoldfastError("UNAVAILABLE", `${what}: ${why}`, { details: { indeterminate } });
}

/** The session of a waiting request is gone, and with it the place in the queue. */
export function sessionExpired(items: Named, reason: LossReason): HoldfastError {
  const text = `${nameOf(items)}: ${expiryText(reason)}; nothing is held`;
  return new HoldfastError("SESSION_EXPIRED", text, { details: { ...keysOf(items), reason } });
}

/**
 * The session of a take that waited is gone. `indeterminate`: what became of it in the last moments
 * of the session is unknown, and a lease outlives the session.
 */
export function takeExpired(
  items: Named,
  reason: LossReason,
  indeterminate: boolean,
): HoldfastError {
  const what = indeterminate
    ? "the lease may have been granted before that; repeat the request to find out"
    : "nothing is held";
  const details = { ...keysOf(items), reason, indeterminate };
  const text = `${nameOf(items)}: ${expiryText(reason)}; ${what}`;
  return new HoldfastError("SESSION_EXPIRED", text, { details });
}

function expiryText(reason: LossReason): string {
  const how = reason === "revoked" ? "was ended by an operator" : "expired";
  return `the session ${how} while waiting`;
}

/** Why the cluster opens or resumes no session for this client. */
export function sessionFailure(code: ErrorCode): HoldfastError {
  const texts: Texts = {
    FORBIDDEN: "no permission of its identity allows it to acquire a lock",
    UNAUTHENTICATED: RIGHTS_TEXTS.UNAUTHENTICATED,
  };
  return new HoldfastError(code, `the cluster refused the session: ${texts[code] ?? code}`);
}

/** Why the cluster does not answer a question. `reason`: in its own words. */
export function readFailure(status: number, reason?: string): HoldfastError {
  const code = errorCodeOf(status) ?? "PROTOCOL";
  return new HoldfastError(code, `the cluster refused to answer: ${reason ?? refusalText(code)}`);
}

/** What a refusal means that comes without a sentence of its own; the code, if that says most. */
export function refusalText(code: ErrorCode): string {
  return code === "FORBIDDEN" || code === "UNAUTHENTICATED" ? RIGHTS_TEXTS[code] : code;
}

export function clientClosed(): HoldfastError {
  return new HoldfastError("CANCELLED", "the client is closed");
}

export function clientHandedOver(): HoldfastError {
  return new HoldfastError("CANCELLED", "the client has handed its locks over");
}

/** The abort of a lock that the application released itself, in the platform's form. */
export function releasedAbort(items: Named, reason: LossReason): Error {
  return new DOMException(`${nameOf(items)} ${LOSS_TEXTS[reason]}`, "AbortError");
}

/** What the Web Locks API rejects with when a lock was stolen. */
export function stolenAbort(loss: HoldfastError): DOMException {
  const error = new DOMException(loss.message, "AbortError");
  // Browsers ignore options in this constructor.
  Object.defineProperty(error, "cause", { value: loss, configurable: true, writable: true });
  return error;
}

export function nameOf(items: Named): string {
  const names = items.map(({ key }) => quotedKey(key)).join(", ");
  if (items.length > 1) return `locks ${names}`;
  const webName = webNameOf(items);
  if (webName !== undefined) return `web lock ${quotedKey(webName)}`;
  return `${items[0]?.mode === "permits" ? "semaphore" : "lock"} ${names}`;
}

/** `key` is the name that tools show and accept. A Web Lock also has `name`, as it was given. */
function keysOf(items: Named): Record<string, unknown> {
  const key = items[0]?.key;
  if (items.length > 1) return { key, keys: items.map((item) => item.key) };
  const name = webNameOf(items);
  return name === undefined ? { key } : { key, name };
}

/**
 * The name that was given to `client.locks`; `undefined` for anything that was asked for by its
 * key.
 */
function webNameOf([first]: Named): string | undefined {
  return first === undefined ? undefined : lockNameOf(first.key);
}
