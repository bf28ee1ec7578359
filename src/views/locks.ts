/** A line of a list of locks: what one line says about a key, for every list of them. Pure. */
import type { CooldownView, HoldView, KeyView } from "../protocol/index.js";
import type { Columns } from "./column.js";
import { formatDuration } from "./durations.js";
import { leaseText, modeText } from "./one-key.js";
import { countText, NOTHING, numberText, type Shown } from "./phrase.js";
import { whoPhrase } from "./who.js";

/** A lock in use. */
export interface LockRow {
  readonly key: string;
  readonly kind: KeyView["kind"];
  /** Permits of a semaphore in use. */
  readonly limit: number;
  /** Permits that are held; `undefined` if the list of holds was cut short. */
  readonly permitsHeld: number | undefined;
  /** The first holder; `undefined`: nobody holds it. */
  readonly first: HoldView | undefined;
  /** What keeps it closed although nobody holds it. */
  readonly cooldown: CooldownView | undefined;
  readonly holds: number;
  readonly waiters: number;
}

export function lockRow({
  key,
  kind,
  limit,
  holds,
  waiters,
  cooldowns,
  truncated,
}: KeyView): LockRow {
  const [first] = holds;
  const isCut = truncated !== undefined && truncated.holds > holds.length;
  return {
    key,
    kind,
    limit,
    permitsHeld: isCut ? undefined : holds.reduce((sum, { permits }) => sum + permits, 0),
    first,
    cooldown: first === undefined ? cooldowns[0] : undefined,
    holds: truncated?.holds ?? holds.length,
    waiters: truncated?.waiters ?? waiters.length,
  };
}

export const LOCK_COLUMNS = {
  key: { id: "key", title: "Key", cell: ({ key }) => [{ key }] },
  mode: { id: "mode", title: "Mode", cell: lockModeText },
  holder: { id: "holder", title: "Held by", cell: holderPhrase },
  since: {
    id: "since",
    title: "For",
    isNumeric: true,
    cell: ({ first }) => (first === undefined ? NOTHING : formatDuration(first.heldMs)),
  },
  lease: {
    id: "lease",
    // Shorter than elsewhere: the widest list must fit a terminal of 80 columns.
    title: "Lease",
    isNumeric: true,
    cell: ({ first }) => (first === undefined ? NOTHING : leaseText(first)),
  },
  token: {
    id: "token",
    title: "Token",
    isNumeric: true,
    cell: ({ first, cooldown }) => String((first ?? cooldown)?.token ?? NOTHING),
  },
  waiters: {
    id: "waiters",
    title: "Waiting",
    isNumeric: true,
    cell: ({ waiters }) => numberText(waiters),
  },
} satisfies Columns<LockRow>;

/** `exclusive`, `3 of 5 permits`. Nothing for a key with waiters only. */
function lockModeText({ kind, limit, permitsHeld, first, cooldown }: LockRow): string {
  if (kind === "semaphore") {
    return permitsHeld === undefined
      ? countText(limit, "permit")
      : `${permitsHeld} of ${countText(limit, "permit")}`;
  }
  const item = first ?? cooldown;
  return item === undefined ? NOTHING : modeText(item);
}

function holderPhrase({ first, cooldown, holds }: LockRow): Shown {
  if (first === undefined) {
    return cooldown === undefined
      ? NOTHING
      : `cooling down for ${formatDuration(cooldown.endsInMs)} more`;
  }
  const others = holds > 1 ? ` and ${countText(holds - 1, "other")}` : "";
  return [...whoPhrase(first), others, first.isRevoked ? ", being revoked" : ""];
}
