/**
 * Orders, which users know as admin commands: they end holds and sessions of others, and change
 * settings of the whole table. A session carries out each order once. Without a session it may be
 * repeated: a revoke or the end of a session does no harm then, and of the others the table executes
 * one copy only, and none after a later order.
 */
import { HoldfastError } from "../../errors/index.js";
import {
  isValidSettingName,
  OP,
  type OrderCommand,
  type Result,
  STATUS,
  TOKEN_MIN,
} from "../../protocol/index.js";
import { quotedKey } from "../../text/index.js";
import {
  type CallOptions,
  requireInteger,
  requireKey,
  requireText,
  signalOf,
} from "../options/checks.js";
import { requireLimit } from "../options/lock-options.js";
import {
  type EndSessionOptions,
  FORCE_OPTIONS,
  type RevokeOptions,
  type RevokeTarget,
  resolveForce,
  resolveTarget,
} from "../options/operator-options.js";
import type { CommandWish } from "./command-call.js";
import { withFate } from "./unanswered.js";

/** No hold has this token, because tokens begin at `TOKEN_MIN`. */
const OLDER_THAN_ALL = TOKEN_MIN - 1;

/** An order without its number. */
export type OrderWish = CommandWish<OrderCommand>;

/** Carries orders to the cluster: the locks of a session, or a connection without one. */
export interface CommandCarrier {
  command(wish: OrderWish): Promise<Result>;
}

/**
 * The admin commands of a `Client` and an `Admin`, if they have the permission. "In time" is
 * defined as for `Views`.
 */
export interface Orders {
  /**
   * Ends a hold, or all holds of a key, and opens a key at once that an ended hold keeps closed.
   * `NOT_HELD` for an unknown token; `FORBIDDEN`; `UNAVAILABLE` without an answer in time.
   */
  revoke(target: RevokeTarget, options?: RevokeOptions): Promise<Revoked>;
  /**
   * Ends a session with all its holds and waits, as if each were revoked. `NOT_HELD` if there is no
   * such session; `FORBIDDEN`; `UNAVAILABLE` without an answer in time.
   */
  endSession(session: number, options?: EndSessionOptions): Promise<void>;
  /** Like `semaphore(key).setLimit`. `WRONG_KIND` if the key is a lock's. */
  setLimit(key: string, limit: number | undefined, options?: CallOptions): Promise<void>;
  /**
   * Changes a replicated setting for all clients at once; `undefined` restores its default.
   * `INVALID_ARGUMENT` for an unknown name or a value beyond its limits.
   */
  changeSetting(name: string, value: number | undefined, options?: CallOptions): Promise<void>;
}

/** The result of a revoke. */
export interface Revoked {
  /** Holds that were asked to end or, with `now`, ended. */
  readonly revoked: number;
  /** Ended holds that kept the key closed (`minHoldMs`, `lockDelayMs`) and no longer do. */
  readonly opened: number;
  /**
   * In how many milliseconds the last of the holds ends at the latest, those included that were
   * revoked before; 0: none is left.
   */
  readonly endsInMs: number;
  /** How many of the holds that are left are leases, or handed over: nobody hears of their end. */
  readonly leasesLeft: number;
}

/**
 * Repeats the revoke until nothing is left, because one command ends a limited number of holds, and
 * adds up the results. If a repetition fails, the error says that the revoke may have been executed.
 * `newestOf` reads the newest token of a key. With it, a revoke of a key ends only what is held now,
 * whenever and however often it is carried out.
 */
export async function revoke(
  carrier: CommandCarrier,
  target: RevokeTarget,
  options: RevokeOptions | undefined,
  newestOf?: (key: string, signal: AbortSignal | undefined) => Promise<number>,
): Promise<Revoked> {
  const { key, token: named } = resolveTarget(target);
  const force = resolveForce(options);
  const signal = signalOf(options, FORCE_OPTIONS);
  const isBounded = key !== undefined && newestOf !== undefined;
  // A key that is not held is revoked too: only the table knows whether that is allowed.
  const token = isBounded ? Math.max(await newestOf(key, signal), OLDER_THAN_ALL) : named;
  const what =
    key === undefined ? `the revoke of token ${token}` : `the revoke of ${quotedKey(key)}`;
  const wish = { command: { op: OP.revoke, key, token, ...force }, what, signal };
  let [revoked, opened] = [0, 0];
  for (let isBegun = false; ; isBegun = true) {
    const result = await carrier.command(wish).catch((error: unknown) => {
      throw isBegun ? withFate(error, { mayBeExecuted: true }) : error;
    });
    if (result.status !== STATUS.revoked) throw unexpected(what);
    revoked += result.count;
    opened += result.opened;
    const { endsInMs, leasesLeft } = result;
    if (result.remaining === 0) return { revoked, opened, endsInMs, leasesLeft };
  }
}

export async function endSession(
  carrier: CommandCarrier,
  session: number,
  options: EndSessionOptions | undefined,
): Promise<void> {
  requireInteger(session, "session", 1, Number.MAX_SAFE_INTEGER);
  const force = resolveForce(options);
  await carrier.command({
    command: { op: OP.endSession, session, ...force },
    what: `the end of session ${session}`,
    texts: { NOT_HELD: "there is no such session" },
    signal: signalOf(options, FORCE_OPTIONS),
  });
}

export async function changeSetting(
  carrier: CommandCarrier,
  name: string,
  value: number | undefined,
  options: CallOptions | undefined,
): Promise<void> {
  requireText(name, "name", isValidSettingName);
  if (value !== undefined) requireInteger(value, "value", 0, Number.MAX_SAFE_INTEGER);
  await carrier.command({
    command: { op: OP.changeSetting, name, value },
    what: `setting ${name}`,
    texts: {
      INVALID_ARGUMENT: "no such setting, or a value beyond its bounds (client.settings())",
    },
    signal: signalOf(options),
  });
}

export async function setLimit(
  carrier: CommandCarrier,
  key: string,
  limit: number | undefined,
  options: CallOptions | undefined,
): Promise<void> {
  requireKey(key);
  requireLimit(limit);
  await carrier.command({
    command: { op: OP.setLimit, key, limit },
    what: `the limit of semaphore ${quotedKey(key)}`,
    signal: signalOf(options),
  });
}

function unexpected(what: string): HoldfastError {
  return new HoldfastError("PROTOCOL", `${what}: the cluster's answer is of another kind`);
}
