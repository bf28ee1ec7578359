/**
 * Times of Redis clients. Cluster time runs by the leader's clock, a client's by its own, and most
 * clients keep no margin for the difference: their leases are made a hundredth longer than they asked
 * for, and told without that. No moment of the day can be one of cluster time.
 */
import { notAnInteger, RefusedCommand } from "./refusals.js";

const MARGIN = 1 / 100;
const INTEGER = /^-?\d{1,15}$/;

/** What a client may count on of a lease that lasts so long. */
export function withoutMargin(ms: number): number {
  return Math.max(0, Math.floor(ms / (1 + MARGIN)));
}

/** A whole number as Redis reads it. Throws the error of Redis. */
export function integerOf(text: Buffer): number {
  const digits = text.toString("latin1");
  if (!INTEGER.test(digits)) throw notAnInteger();
  return Number(digits);
}

/** A time to live in milliseconds, from 1 on. `unitMs`: of what was given. */
export function ttlOf(text: Buffer, unitMs: number, command: string): number {
  const ms = integerOf(text) * unitMs;
  if (ms > 0) return ms;
  throw new RefusedCommand(`invalid expire time in '${command}' command`, "ERR");
}
