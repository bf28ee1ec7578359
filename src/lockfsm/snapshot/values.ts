/**
 * Writes values inside the records of a snapshot that have a form of their own: results and
 * options.
 */
import { assert } from "../../errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  ACQUIRE_OPTION,
  type AcquireOptions,
  type Blocker,
  CLAIM_MODES,
  type CycleMember,
  type Result,
  STATUS,
  type Writer,
} from "../../protocol/index.js";
import { REFUSALS_FROM } from "./format.js";

/** In the order of their numbers on the wire. */
export const OPTION_NAMES = Object.keys(ACQUIRE_OPTION) as readonly (keyof AcquireOptions)[];

export function writeOptions(body: Writer, options: AcquireOptions | undefined): void {
  body.uint(options === undefined ? 0 : 1);
  if (options === undefined) return;
  for (const name of OPTION_NAMES) {
    const value = options[name];
    assert(typeof value === typeof ACQUIRE_DEFAULTS[name], () => `${name} is ${typeof value}`);
    if (typeof value === "string") body.string(value);
    else body.uint(Number(value));
  }
}

export function writeResult(body: Writer, result: Result, nextToken: number): void {
  body.uint(result.status);
  switch (result.status) {
    case STATUS.ok:
    case STATUS.released:
      return;
    case STATUS.upgraded:
      body.uint(nextToken - result.token);
      return;
    case STATUS.notReleased:
      body.uint(result.reason);
      return;
    case STATUS.leased:
      body.arrayHeader(result.tokens.length);
      for (const token of result.tokens) body.uint(nextToken - token);
      body.uint(result.endsAt);
      body.arrayHeader(result.slots.length);
      for (const slots of result.slots) {
        body.arrayHeader(slots.length);
        for (const slot of slots) body.uint(slot);
      }
      return;
    case STATUS.extended:
      body.arrayHeader(result.leases.length);
      for (const { token, endsAt } of result.leases) {
        body.uint(nextToken - token);
        body.uint(endsAt);
      }
      return;
    case STATUS.givenBack:
      body.uint(result.count);
      body.uint(result.waits);
      body.uint(result.reason);
      return;
    case STATUS.revoked:
      body.uint(result.count);
      body.uint(result.remaining);
      body.uint(result.opened);
      return;
    default:
      assert(isRefusal(result), () => `status ${JSON.stringify(result)}`);
      writeDetails(body, result, nextToken);
  }
}

type Refusal = Extract<Result, { blockers?: unknown }>;

function isRefusal(result: Result): result is Refusal {
  return result.status >= REFUSALS_FROM;
}

/** The details that follow the number of an error. */
export const DETAIL = {
  none: 0,
  blockers: 1,
  cycle: 2,
  limit: 3,
  sameOwner: 4,
  reason: 5,
} as const;

function writeDetails(body: Writer, result: Refusal, nextToken: number): void {
  const { blockedBy, blockers, cycle, limit, isSameOwner, reason } = result;
  if (blockers !== undefined && blockedBy !== undefined) {
    body.uint(DETAIL.blockers);
    body.uint(blockedBy);
    writeBlockers(body, blockers, nextToken);
  } else if (cycle !== undefined) {
    body.uint(DETAIL.cycle);
    writeCycle(body, cycle);
  } else if (limit !== undefined) {
    body.uint(DETAIL.limit);
    body.uint(limit);
  } else if (isSameOwner === true) body.uint(DETAIL.sameOwner);
  else if (reason !== undefined) {
    body.uint(DETAIL.reason);
    body.uint(reason);
  } else body.uint(DETAIL.none);
}

function writeBlockers(body: Writer, blockers: readonly Blocker[], nextToken: number): void {
  body.arrayHeader(blockers.length);
  for (const { sessionName, key, mode, token, identity } of blockers) {
    body.string(sessionName);
    body.string(key);
    body.uint(CLAIM_MODES.indexOf(mode));
    body.uint(token === 0 ? 0 : nextToken - token);
    body.string(identity);
  }
}

function writeCycle(body: Writer, cycle: readonly CycleMember[]): void {
  body.arrayHeader(cycle.length);
  for (const { session, sessionName, owner, key, mode, identity } of cycle) {
    body.uint(session);
    body.string(sessionName);
    body.uint(owner);
    body.string(key);
    body.uint(CLAIM_MODES.indexOf(mode));
    body.string(identity);
  }
}
