/**
 * What `holdfast run` was asked to do, checked before anything happens. Pure: reads only what was
 * typed and configured.
 */
import type { AcquireAllOptions, WantedItem } from "../../src/index.js";
import { keyText, quotedKey } from "../../src/text/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { durationText } from "../text/durations.js";
import { requireRunRelations } from "./run-relations.js";

/** The options of the table, settled. */
export interface RunFlags {
  /** Milliseconds of `-w`, `false` for `-n`; `undefined` or `Infinity`: forever. */
  readonly wait?: number | false | undefined;
  readonly shared?: boolean | undefined;
  readonly permits?: number | undefined;
  readonly limit?: number | undefined;
  readonly priority?: number | undefined;
  readonly value?: string | undefined;
  readonly ttl: number;
  readonly maxHold?: number | undefined;
  readonly minHold?: number | undefined;
  readonly lockDelay?: number | undefined;
  readonly conflictExitCode: number;
  readonly killGrace: number;
  readonly quiet?: boolean | undefined;
  /** `true` for `-c` with the line after `--`. */
  readonly command?: string | true | undefined;
}

/** What one request asks for, whichever command makes it. */
export type RequestFlags = Pick<
  RunFlags,
  | "wait"
  | "shared"
  | "permits"
  | "limit"
  | "priority"
  | "value"
  | "maxHold"
  | "minHold"
  | "lockDelay"
>;

export interface RequestPlan {
  /** The key, or all of them, for messages. */
  readonly name: string;
  /** All in one request. */
  readonly items: readonly WantedItem[];
  readonly options: Pick<
    AcquireAllOptions,
    "priority" | "value" | "maxHoldMs" | "minHoldMs" | "lockDelayMs"
  >;
  /** Undefined: forever. */
  readonly waitMs: number | undefined;
}

export interface RunPlan extends RequestPlan {
  readonly argv: readonly string[];
  readonly ttlMs: number;
  readonly killGraceMs: number;
  /** Undefined: as long as the command runs. */
  readonly maxHoldMs: number | undefined;
  readonly conflictExitCode: number;
  readonly isQuiet: boolean;
}

/** The most keys in one request. */
const KEYS_MAX = 16;
const PERMITS_MAX = 1_024;
const SHELL = "/bin/sh";
const USAGE = "holdfast run KEY… -- COMMAND [ARGUMENT…]";

/**
 * `operands`: all words that are not options, including the command; `typed`: the whole command
 * line, which still contains `--`.
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
  if (keys.length === 0) throw usage(`no key was given: ${USAGE}`);
  if (separator < 0 && line === undefined) {
    throw usage(`put -- between the keys and the command: ${USAGE}`);
  }
  requireKeys(keys);
  requireRunRelations(flags);
  return {
    ...planRequest(keys, flags),
    argv: commandOf(words, line),
    ttlMs: flags.ttl,
    killGraceMs: flags.killGrace,
    maxHoldMs: flags.maxHold,
    conflictExitCode: flags.conflictExitCode,
    isQuiet: flags.quiet === true,
  };
}

export function planRequest(keys: readonly string[], flags: RequestFlags): RequestPlan {
  return {
    name: keys.map(keyText).join(", "),
    items: itemsOf(keys, flags),
    options: holdOptions(flags),
    waitMs: waitOf(flags.wait),
  };
}

export function requireKeys(keys: readonly string[]): void {
  if (keys.length > KEYS_MAX)
    throw usage(`${keys.length} keys: ${KEYS_MAX} at most in one request`);
  const twice = keys.find((key, index) => keys.indexOf(key) < index);
  if (twice !== undefined) throw usage(`the key ${quotedKey(twice)} is given twice`);
}

function itemsOf(keys: readonly string[], flags: RequestFlags): WantedItem[] {
  const { shared, limit } = flags;
  if (flags.permits === undefined && limit === undefined) {
    return keys.map((key) => ({ key, mode: shared === true ? "shared" : "exclusive" }));
  }
  const permits = flags.permits ?? 1;
  if (shared === true) {
    const given = limit === undefined ? `--permits ${permits}` : `--limit ${limit}`;
    throw usage(`--shared and ${given} exclude each other: a key is a lock or a semaphore`);
  }
  if (limit !== undefined && permits > limit) {
    throw usage(`--permits ${permits} is more than --limit ${limit}`);
  }
  const all = permits * keys.length;
  if (all > PERMITS_MAX) {
    throw usage(
      `--permits ${permits} of ${keys.length} keys are ${all}: ` +
        `${PERMITS_MAX} at most in one request`,
    );
  }
  return keys.map((key) => ({ key, permits, ...(limit === undefined ? {} : { limit }) }));
}

function holdOptions(flags: RequestFlags): RequestPlan["options"] {
  const { priority, value, maxHold, minHold, lockDelay } = flags;
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(value === undefined ? {} : { value }),
    ...(maxHold === undefined ? {} : { maxHoldMs: maxHold }),
    ...(minHold === undefined ? {} : { minHoldMs: minHold }),
    ...(lockDelay === undefined ? {} : { lockDelayMs: lockDelay }),
  };
}

function waitOf(wait: number | false | undefined): number | undefined {
  if (wait === false) return 0;
  return wait === Number.POSITIVE_INFINITY ? undefined : wait;
}

function commandOf(words: readonly string[], line: string | true | undefined): readonly string[] {
  if (typeof line === "string") {
    if (words.length > 0) throw usage("-c LINE and a command after -- exclude each other");
    return [SHELL, "-c", line];
  }
  if (words.length === 0) throw usage(`no command was given: ${USAGE}`);
  return line === true ? [SHELL, "-c", words.join(" ")] : words;
}

/** The limit on the hold, in a message. */
export function maxHoldText(plan: RunPlan): string {
  return plan.maxHoldMs === undefined ? "" : `--max-hold ${durationText(plan.maxHoldMs)}`;
}

function usage(message: string): Failure {
  return new Failure(EXIT.usage, message);
}
