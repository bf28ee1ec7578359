/**
 * Ends everything that one identity has or left: its leases, what it has handed over, what its ended
 * holds keep closed, and its sessions with their holds and waits. Each is ended by its own number or token, so
 * nothing of another identity is touched, and a command that is repeated does no harm. What the holds
 * that end here leave closed stays closed: it protects what their holders may still write.
 */
import { HoldfastError } from "../../src/errors/index.js";
import type { Admin } from "../../src/index.js";
import type { Force } from "../config/force-options.js";

/** Orders under way at once. */
const ORDERS_MAX = 64;

export interface EndedOfIdentity {
  readonly sessions: number;
  /** Leases, and holds that were handed over. */
  readonly holds: number;
  /** Cooldowns that were ended. */
  readonly opened: number;
}

export async function endAllOf(
  admin: Admin,
  identity: string,
  force: Force,
): Promise<EndedOfIdentity> {
  const [held, closed, sessions] = [new Set<number>(), new Set<number>(), new Set<number>()];
  for await (const { holds, cooldowns } of admin.query()) {
    for (const hold of holds) {
      if (hold.session === 0 && hold.identity === identity) held.add(hold.token);
    }
    for (const cooldown of cooldowns)
      if (cooldown.identity === identity) closed.add(cooldown.token);
  }
  for await (const view of admin.sessions()) {
    if (view.identity === identity) sessions.add(view.session);
  }
  return {
    holds: await each(held, (token) => admin.revoke({ token }, force)),
    opened: await each(closed, (token) => admin.revoke({ token }, force)),
    sessions: await each(sessions, (session) => admin.endSession(session, force)),
  };
}

/** How many were still there. */
async function each(
  numbers: ReadonlySet<number>,
  end: (number: number) => Promise<unknown>,
): Promise<number> {
  const left = [...numbers];
  let ended = 0;
  const work = async (): Promise<void> => {
    for (let number = left.shift(); number !== undefined; number = left.shift()) {
      if (await isEnded(end(number))) ended += 1;
    }
  };
  await Promise.all(Array.from({ length: ORDERS_MAX }, work));
  return ended;
}

/** It may have ended by itself meanwhile. */
async function isEnded(ending: Promise<unknown>): Promise<boolean> {
  try {
    await ending;
    return true;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "NOT_HELD") return false;
    throw error;
  }
}
