/**
 * Which times of `holdfast run` fit together: a command must have its grace period before another
 * task can get the lock, even right before a renewal of the lease and before `--max-hold` ends the
 * hold.
 */

import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { durationText } from "../text/durations.js";
import { capRoom, hasRoomForGrace, leaseRoom } from "./kill-schedule.js";

export interface RunTimes {
  readonly ttl: number;
  readonly killGrace: number;
  readonly maxHold?: number | undefined;
}

/** Fails with exit code 2 and all the numbers. */
export function requireRunRelations({ ttl, killGrace, maxHold }: RunTimes): void {
  const lease = leaseRoom(ttl, killGrace);
  if (!hasRoomForGrace(lease)) {
    throw new Failure(
      EXIT.usage,
      `--ttl ${durationText(ttl)} is too short for --kill-grace ${durationText(killGrace)}: it ` +
        `must be larger than the grace + safety margin ${durationText(lease.marginMs)} + ` +
        `keepalive interval ${durationText(lease.keepaliveMs)} = ${durationText(lease.neededMs)}`,
    );
  }
  if (maxHold === undefined) return;
  const cap = capRoom(maxHold, killGrace);
  if (maxHold > cap.neededMs) return;
  throw new Failure(
    EXIT.usage,
    `--max-hold ${durationText(maxHold)} is too short for --kill-grace ` +
      `${durationText(killGrace)}: it must be larger than the grace + safety margin ` +
      `${durationText(cap.marginMs)} = ${durationText(cap.neededMs)}`,
  );
}
