/**
 * How a hold is taken away from its holder: after a grace period in which the holder may release
 * it, or at once. Shared by the commands that end other clients' holds.
 */
import { type Command, Option } from "commander";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { formatDuration } from "../text/durations.js";
import { durationArgument } from "./command-options.js";

const GRACE_MS_MAX = 3_600_000;

export interface ForceFlags {
  readonly grace?: number;
  readonly now?: boolean;
  readonly reason?: string;
}

/** The options of the SDK's `revoke`. */
export interface Force {
  readonly graceMs: number;
  readonly now: boolean;
  readonly reason: string;
}

export const FORCE_NOTES = `
The holder hears of it at once and can release the lock itself. Its hold ends
when the grace period is over, but not before the end of the lease that the
holder has now, so that it has stopped before another task is granted the lock.
With --now there is no such wait: then only fencing tokens protect the resource.`;

export function addForceOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--grace <duration>",
        "how long the holder has to release the lock, up to 1h",
      ).argParser(durationArgument),
    )
    .addOption(new Option("--now", "at once, even if the holder has not heard of it"))
    .option("--reason <text>", "text for the holder");
}

export function forceOf({ grace, now, reason }: ForceFlags): Force {
  if (grace !== undefined && now === true) {
    throw new Failure(EXIT.usage, "--grace and --now exclude each other");
  }
  if (grace !== undefined && grace > GRACE_MS_MAX) {
    throw new Failure(EXIT.usage, `--grace ${formatDuration(grace)} is longer than 1h`);
  }
  return { graceMs: grace ?? 0, now: now === true, reason: reason ?? "" };
}
