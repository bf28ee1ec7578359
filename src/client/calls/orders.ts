/**
 * What operators take away and set, about holds and sessions of others and about settings of the whole
 * table. A session carries out each of these orders once; without one it is a wish for a state that may
 * be said twice.
 */
import { HoldfastError } from "../../errors.js";
import {
  GRACE_MS_MAX,
  isValidReason,
  isValidSettingName,
  OP,
  type OrderCommand,
  type Result,
  STATUS,
} from "../../protocol/index.js";
import { quotedKey } from "../../safe-text.js";
import type { CallOptions } from "../lock-types.js";
import {
  requireBoolean,
  requireInteger,
  requireKnown,
  requireNumber,
  requireObject,
  requireTableKey,
  requireText,
  signalOf,
} from "../options.js";
import type { CommandWish } from "./command-call.js";

/** An order, as it is wished for. */
export type OrderWish = CommandWish<OrderCommand>;

/** Who brings orders to the cluster: the locks of a session, or a connection without one. */
export interface OrderCarrier {
  command(wish: OrderWish): Promise<Result>;
}

/** Everybody who holds the key and all that keeps it closed, or the hold of that token, whosever it is. */
export type RevokeTarget = { readonly key: string } | { readonly token: number };

/** What `revoke` takes. */
export interface RevokeOptions extends CallOptions {
  /**
   * How long the holder may take to release in peace. Force comes no earlier than the end of the
   * lease that it has now, so its signal is aborted before anybody else is granted. 0 – 3,600,000.
   * Default 0.
   */
  graceMs?: number | undefined;
  /**
   * At once, whether or not the holder hears of it in time: only fencing covers that. Default
   * false.
   */
  now?: boolean | undefined;
  /** For the holder; at most 256 bytes. Default "". */
  reason?: string | undefined;
}

/** What a revoke did. */
export interface Revoked {
  /** Holds that were told or, with `now`, ended. */
  readonly revoked: number;
  /** Ended holds that kept the key closed (`minHoldMs`, `lockDelayMs`) and do no more. */
  readonly opened: number;
}

/** What `endSession` takes: an end is a revoke of everything. */
export type EndSessionOptions = RevokeOptions;

interface Force {
  readonly graceMs: number;
  readonly now: boolean;
  readonly reason: string;
}

const FORCE_OPTIONS: ReadonlySet<string> = new Set(["graceMs", "now", "reason", "signal"]);
const TARGET_OPTIONS: ReadonlySet<string> = new Set(["key", "token"]);
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

/**
 * Says it again for as long as there are more than one command deals with, and adds up.
 * `newestOf`: the newest token of a key. With it, a revoke of a key means what is held now, whenever
 * it is carried out, and how often.
 */
export async function revoke(
  carrier: OrderCarrier,
  target: RevokeTarget,
  options: RevokeOptions | undefined,
  newestOf?: (key: string, signal: AbortSignal | undefined) => Promise<number>,
): Promise<Revoked> {
  const { key, token: named } = resolveTarget(target);
  const force = resolveForce(options);
  const signal = signalOf(options, FORCE_OPTIONS);
  const isBounded = key !== undefined && newestOf !== undefined;
  const token = isBounded ? await newestOf(key, signal) : named;
  if (isBounded && token === 0) return { revoked: 0, opened: 0 };
  const what =
    key === undefined ? `the revoke of token ${token}` : `the revoke of ${quotedKey(key)}`;
  let [revoked, opened] = [0, 0];
  for (;;) {
    const result = await carrier.command({
      command: { op: OP.revoke, key, token, ...force },
      what,
      signal,
    });
    if (result.status !== STATUS.revoked) throw unexpected(what);
    revoked += result.count;
    opened += result.opened;
    if (result.remaining === 0) return { revoked, opened };
  }
}

export async function endSession(
  carrier: OrderCarrier,
  session: number,
  options: EndSessionOptions | undefined,
): Promise<void> {
  requireInteger(session, "session", 1, NUMBER_MAX);
  const force = resolveForce(options);
  await carrier.command({
    command: { op: OP.endSession, session, ...force },
    what: `the end of session ${session}`,
    texts: { NOT_HELD: "there is no such session" },
    signal: signalOf(options, FORCE_OPTIONS),
  });
}

export async function changeSetting(
  carrier: OrderCarrier,
  name: string,
  value: number | undefined,
  options: CallOptions | undefined,
): Promise<void> {
  requireText(name, "name", isValidSettingName);
  if (value !== undefined) requireInteger(value, "value", 0, NUMBER_MAX);
  await carrier.command({
    command: { op: OP.changeSetting, name, value },
    what: `setting ${name}`,
    texts: {
      INVALID_ARGUMENT: "no such setting, or a value beyond its bounds (client.settings())",
    },
    signal: signalOf(options),
  });
}

/** As on the wire: without a key, or token 0. */
function resolveTarget(target: RevokeTarget): { key: string | undefined; token: number } {
  requireObject(target, "target");
  requireKnown(target, TARGET_OPTIONS);
  const { key, token } = target as { readonly key?: string; readonly token?: number };
  if ((key === undefined) === (token === undefined)) {
    throw new TypeError("target must have a key or a token: one of them");
  }
  if (token !== undefined) {
    requireInteger(token, "token", 1, NUMBER_MAX);
    return { key: undefined, token };
  }
  requireTableKey(key as string);
  return { key, token: 0 };
}

function resolveForce(options: RevokeOptions | undefined): Force {
  if (options === undefined) return { graceMs: 0, now: false, reason: "" };
  requireObject(options, "options");
  requireKnown(options, FORCE_OPTIONS);
  const { graceMs = 0, now = false, reason = "" } = options;
  requireBoolean(now, "now");
  requireText(reason, "reason", isValidReason);
  return { graceMs: Math.ceil(requireNumber(graceMs, "graceMs", 0, GRACE_MS_MAX)), now, reason };
}

function unexpected(what: string): HoldfastError {
  return new HoldfastError("PROTOCOL", `${what}: the cluster answered something else`);
}
