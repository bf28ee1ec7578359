/**
 * The locks of an exported session: its holds, its waits, and what was given back and has no answer
 * yet. This file only reads calls and holds: `Locks` gives them up.
 */
import { ACQUIRE_DEFAULTS } from "../../protocol/index.js";
import type { Call } from "../calls/call.js";
import type { CommandWindow } from "../calls/command-window.js";
import type { ExportedSession, ExportedWait, Loose } from "../options/exported-session.js";
import { AcquireCall } from "./acquire-call.js";
import { type Hold, UpgradeCall } from "./hold.js";
import { DetachCall, DowngradeCall, EndCall } from "./hold-calls.js";

/** `held`: the holds that were not given back; `waiting`: what waits in the table, by number. */
export function exportedLocks(
  held: readonly Hold[],
  waiting: ReadonlyMap<number, Call>,
  window: CommandWindow,
): Pick<ExportedSession, "holds" | "waits" | "loose"> {
  const holds = held.map(({ sequence, owner, items, value }) => {
    return { sequence, owner: owner.id, items, value };
  });
  const waits: ExportedWait[] = [];
  const loose: Loose = { ends: [], downgrades: [] };
  for (const call of [...waiting.values(), ...window.sent()]) {
    if (call instanceof UpgradeCall) {
      // Nobody here will learn whether it was granted.
      loose.ends.push(call.sequence);
      if (!call.isUnwanted) loose.downgrades.push({ sequence: call.hold.sequence, key: call.key });
    } else if (call instanceof AcquireCall && waiting.has(call.sequence)) {
      const { owner, items, options } = call.wish;
      const { value, maxHoldMs } = options ?? ACQUIRE_DEFAULTS;
      const { sequence } = call;
      waits.push({ sequence, owner: owner.id, items, value, maxHoldMs });
    } else if (waiting.has(call.sequence)) {
      // A wait for a lease: its caller gives it up, and may not be able to say so.
      loose.ends.push(call.sequence);
    }
  }
  return { holds, waits, loose };
}

/** Adds what was given back and the table may not know of. */
export function addLoose({ ends, downgrades }: Loose, window: CommandWindow): void {
  ends.push(...window.unacknowledged());
  for (const call of [...window.sent(), ...window.queued()]) {
    if (call instanceof EndCall || call instanceof DetachCall) {
      if (call.target.sequence !== 0) ends.push(call.target.sequence);
    } else if (call instanceof DowngradeCall) {
      const { sequence, items } = call.target;
      const keys = items.filter(({ mode }) => mode !== "permits").map(({ key }) => key);
      for (const key of call.key === undefined ? keys : [call.key]) {
        downgrades.push({ sequence, key });
      }
    }
  }
}
