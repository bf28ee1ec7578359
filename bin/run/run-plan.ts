/**
 * What `holdfast run` was asked to do, checked before anything happens. Pure: looks at nothing but
 * what was typed.
 */
import { formatDuration } from "../durations.js";
import { EXIT } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { hasRoomForGrace, leaseRoom } from "./kill-schedule.js";

export interface RunFlags {
  /** Milliseconds of `-w`, `false` for `-n`, whichever came last. */
  readonly wait?: number | false;
  readonly shared?: boolean;
  readonly ttl: number;
  readonly conflictExitCode: number;
  readonly killGrace: number;
  readonly quiet?: boolean;
  /** `true` for `-c` with the line behind `--`. */
  readonly command?: string | true;
}

export interface RunPlan {
  readonly key: string;
  readonly argv: readonly string[];
  readonly mode: "exclusive" | "shared";
  /** Undefined: for ever. */
  readonly waitMs: number | undefined;
  readonly ttlMs: number;
  readonly killGraceMs: number;
  readonly conflictExitCode: number;
  readonly isQuiet: boolean;
}

/** What the cluster grants as a lease. */
const TTL_MS_MIN = 1_000;
const TTL_MS_MAX = 600_000;
const SHELL = "/bin/sh";
const USAGE = "holdfast run KEY -- COMMAND [ARGUMENT…]";

/**
 * `operands`: everything that is no option, the command included; `typed`: the whole command line,
 * in which `--` still stands.
 */
export function planRun(
  operands: readonly string[],
  flags: RunFlags,
  typed: readonly string[],
): RunPlan {
  const separator = typed.indexOf("--");
  const commandLength = separator < 0 ? 0 : typed.length - separator - 1;
  const keys = operands.slice(0, operands.length - commandLength);
  const words = operands.slice(operands.length - commandLength);
  let line = flags.command;
  if (typeof line === "string" && keys.length === 0 && words.length > 0) {
    // `-c KEY -- LINE`: the option took the key for its value.
    keys.push(line);
    line = true;
  }
  const key = onlyKey(keys, separator >= 0 || line !== undefined);
  requireRoomForGrace(flags);
  return {
    key,
    argv: commandOf(words, line),
    mode: flags.shared === true ? "shared" : "exclusive",
    waitMs: flags.wait === false ? 0 : flags.wait,
    ttlMs: flags.ttl,
    killGraceMs: flags.killGrace,
    conflictExitCode: flags.conflictExitCode,
    isQuiet: flags.quiet === true,
  };
}

function onlyKey(keys: readonly string[], hasCommand: boolean): string {
  const [key, second] = keys;
  if (key === undefined) throw usage(`no key is given: ${USAGE}`);
  if (!hasCommand) throw usage(`-- must stand between the key and the command: ${USAGE}`);
  if (second !== undefined) throw usage(`more than one key: "${key}", "${second}"`);
  return key;
}

function commandOf(words: readonly string[], line: string | true | undefined): readonly string[] {
  if (typeof line === "string") {
    if (words.length > 0) throw usage("-c LINE and a command behind -- exclude each other");
    return [SHELL, "-c", line];
  }
  if (words.length === 0) throw usage(`no command is given: ${USAGE}`);
  return line === true ? [SHELL, "-c", words.join(" ")] : words;
}

function requireRoomForGrace(flags: RunFlags): void {
  if (flags.ttl < TTL_MS_MIN || flags.ttl > TTL_MS_MAX) {
    const [given, least, most] = [flags.ttl, TTL_MS_MIN, TTL_MS_MAX].map(formatDuration);
    throw usage(`--ttl ${given} is not between ${least} and ${most}`);
  }
  const room = leaseRoom(flags.ttl, flags.killGrace);
  if (hasRoomForGrace(room)) return;
  const [ttl, grace, margin, keepalive, needed] = [
    room.ttlMs,
    room.killGraceMs,
    room.marginMs,
    room.keepaliveMs,
    room.neededMs,
  ].map(formatDuration);
  throw usage(
    `--ttl ${ttl} is too short for --kill-grace ${grace}: it must be larger than the grace + ` +
      `safety margin ${margin} + keepalive interval ${keepalive} = ${needed}`,
  );
}

function usage(message: string): Failure {
  return new Failure(EXIT.usage, message);
}
