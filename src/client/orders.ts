/**
 * What operators take away and set: commands of any session with the permission, about holds and
 * sessions of others and about settings of the whole table.
 */
import { HoldfastError } from "../errors.js";
import { GRACE_MS_MAX, isValidReason, isValidSettingName, OP, STATUS } from "../protocol/index.js";
import type { CallOptions } from "./lock-types.js";
import type { Locks } from "./locks.js";
import {
  requireBoolean,
  requireInteger,
  requireKnown,
  requireNumber,
  requireObject,
  requireTableKey,
  requireText,
  signalOf,
} from "./options.js";

/** Everybody who holds the key, or the hold of that token, whosever it is. */
export type RevokeTarget = { readonly key: string } | { readonly token: number };

/** What `revoke` takes. */
export interface RevokeOptions extends CallOptions {
  /**
   * How long the holder may take to release in peace. Force comes no earlier than the end of the
   * lease that it has now, so its signal is aborted before anybody else is granted. 0 – 3,600,000.
   * Default 0.
   */
  graceMs?: number;
  /**
   * At once, whether or not the holder hears of it in time: only fencing covers that. Default
   * false.
   */
  now?: boolean;
  /** For the holder; at most 256 bytes. Default "". */
  reason?: string;
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
 * Says it again for as long as there are more than one command deals with; gives how many holds.
 */
export async function revoke(
  locks: Locks,
  target: RevokeTarget,
  options: RevokeOptions | undefined,
): Promise<number> {
  const { key, token } = resolveTarget(target);
  const force = resolveForce(options);
  const what = key === undefined ? `the revoke of token ${token}` : `the revoke of ${quote(key)}`;
  let total = 0;
  for (;;) {
    const result = await locks.command({
      command: (head) => ({ op: OP.revoke, ...head, key, token, ...force }),
      what,
      signal: signalOf(options, FORCE_OPTIONS),
    });
    if (result.status !== STATUS.revoked) throw unexpected(what);
    total += result.count;
    if (result.remaining === 0) return total;
  }
}

export async function endSession(
  locks: Locks,
  session: number,
  options: EndSessionOptions | undefined,
): Promise<void> {
  requireInteger(session, "session", 1, NUMBER_MAX);
  const force = resolveForce(options);
  await locks.command({
    command: (head) => ({ op: OP.endSession, ...head, session, ...force }),
    what: `the end of session ${session}`,
    texts: { NOT_HELD: "there is no such session" },
    signal: signalOf(options, FORCE_OPTIONS),
  });
}

export async function changeSetting(
  locks: Locks,
  name: string,
  value: number | undefined,
  options: CallOptions | undefined,
): Promise<void> {
  requireText(name, "name", isValidSettingName);
  if (value !== undefined) requireInteger(value, "value", 0, NUMBER_MAX);
  await locks.command({
    command: (head) => ({ op: OP.changeSetting, ...head, name, value }),
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

function quote(key: string): string {
  return JSON.stringify(key);
}
