/**
 * One lock as cells of a table, for the screen and for `--once`. Names come from others, so they are
 * made safe to show here. Pure.
 */
import { keyText } from "../../src/text/index.js";
import { formatDuration } from "../text/durations.js";
import { holderText } from "../text/session-names.js";
import type { LockRow } from "./cluster-facts.js";

export function holderCell(row: LockRow): string {
  if (row.isClosed) return "(closed)";
  if (row.holds === 0) return "-";
  const who = holderText(row);
  return row.holds > 1 ? `${who} and ${row.holds - 1} more` : who;
}

export function modeCell({ mode, permits }: LockRow): string {
  if (mode === "permits") return permits === 1 ? "1 permit" : `${permits} permits`;
  return mode ?? "-";
}

export function keyCell({ key }: LockRow): string {
  return keyText(key);
}

export function heldCell({ holds, heldMs }: LockRow): string {
  return holds === 0 ? "-" : formatDuration(heldMs);
}

export function leaseCell({ leaseMs, leaseOwner }: LockRow): string {
  if (leaseMs === null) return leaseOwner === "" ? "-" : "no end";
  return formatDuration(leaseMs);
}

export function tokenCell({ token }: LockRow): string {
  return token === 0 ? "-" : String(token);
}

export function waitersCell({ waiters }: LockRow): string {
  return String(waiters);
}
