/** One key for people: its holders, its waiters in order, and what keeps it closed. */
import type { KeyView } from "../../src/index.js";
import { keyText } from "../../src/text/index.js";
import {
  cooldownText,
  HOLD_COLUMNS,
  limitText,
  totalText,
  WAITER_COLUMNS,
} from "../../src/views/index.js";
import { styled } from "../output/terminal.js";
import { viewLines } from "./view-table.js";

const HELD = Object.values(HOLD_COLUMNS);
const WAITING = Object.values(WAITER_COLUMNS);
const LEASED = HELD.filter(({ id }) => id !== "session");

export function keyLines(view: KeyView): string[] {
  const { holds, waiters, cooldowns, truncated } = view;
  const key = styled("bold", keyText(view.key), process.stdout);
  if (holds.length + waiters.length + cooldowns.length === 0) {
    return [`${key}: free${view.limit === 0 ? "" : ` (${limitText(view.limit)})`}`];
  }
  const lines = [view.kind === "semaphore" ? `${key}: ${limitText(view.limit)}` : key, ""];
  if (holds.length === 0) lines.push("not held");
  else lines.push(...viewLines(HELD, holds));
  if (cooldowns.length > 0) lines.push("", ...cooldowns.map(cooldownText));
  if (waiters.length > 0) lines.push("", ...viewLines(WAITING, waiters));
  if (truncated !== undefined) lines.push("", totalText(truncated));
  return lines;
}

/** The leases of a key. */
export function leaseLines(key: string, leases: KeyView["holds"]): string[] {
  const name = styled("bold", keyText(key), process.stdout);
  if (leases.length === 0) return [`${name}: no lease`];
  return [name, "", ...viewLines(LEASED, leases)];
}
