/**
 * How something is taken away from its holder: after a grace in which it may release in peace, or at
 * once. Shared by the commands that end other people's holds.
 */
import { type Command, Option } from "commander";
import { formatDuration } from "../output/durations.js";
import { EXIT } from "../output/exit-codes.js";
import { Failure } from "../output/failure.js";
import { durationArgument } from "./command-options.js";

const GRACE_MS_MAX = 3_600_000;

export interface ForceFlags {
  readonly grace?: number;
  readonly now?: boolean;
  readonly reason?: string;
}

/** As the SDK takes it. */
export interface Force {
  readonly graceMs: number;
  readonly now: boolean;
  readonly reason: string;
}

export const FORCE_NOTES = `
The holder is told at once and may release in peace. Force comes when the grace
is over, and no earlier than the end of the lease that the holder has now, so
that it has stopped before anybody else is granted the lock. With --now that is
not waited for: then only fencing tokens protect what the lock protects.`;

export function addForceOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--grace <duration>",
        "how long the holder may take to release, up to 1h",
      ).argParser(durationArgument),
    )
    .addOption(new Option("--now", "at once, whether or not the holder has heard of it"))
    .option("--reason <text>", "told to the holder");
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
