/**
 * What `holdfast elect` was asked to do, checked before anything happens. To lead means to hold the
 * exclusive lock of the election's name, with a value by which others know the leader, so a
 * campaign is planned as a run with that lock. Pure.
 */

import { keyText } from "../../src/text/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import type { RunFlags, RunPlan } from "./run-plan.js";
import { requireRunRelations } from "./run-relations.js";

export interface ElectFlags
  extends Pick<
    RunFlags,
    "wait" | "priority" | "ttl" | "maxHold" | "killGrace" | "conflictExitCode" | "quiet"
  > {
  readonly observe?: boolean;
  readonly count?: number;
  readonly json?: boolean;
}

export type ElectPlan =
  | { readonly kind: "observe"; readonly name: string; readonly count: number | undefined }
  /** Leads until it is stopped, without a command. */
  | { readonly kind: "lead"; readonly name: string; readonly value: string; readonly run: RunPlan }
  | { readonly kind: "run"; readonly run: RunPlan };

const USAGE = "holdfast elect NAME VALUE [-- COMMAND…], or holdfast elect NAME --observe";

/**
 * `operands`: all words that are not options, including the command; `typed`: the whole command
 * line, which still contains `--`.
 */
export function planElect(
  operands: readonly string[],
  flags: ElectFlags,
  typed: readonly string[],
): ElectPlan {
  const separator = typed.indexOf("--");
  const commandLength = separator < 0 ? 0 : typed.length - separator - 1;
  const [name, value, further] = operands.slice(0, operands.length - commandLength);
  const argv = operands.slice(operands.length - commandLength);
  if (name === undefined) throw usage(`no election was given: ${USAGE}`);
  if (flags.observe === true) {
    if (value !== undefined || separator >= 0) {
      throw usage("--observe follows an election: it takes neither a value nor a command");
    }
    return { kind: "observe", name, count: flags.count };
  }
  if (flags.count !== undefined) throw usage("--count requires --observe");
  if (value === undefined) {
    throw usage(`no value was given by which others know the leader: ${USAGE}`);
  }
  if (further !== undefined) {
    throw usage(`${JSON.stringify(further)} is one argument too many: put -- before a command`);
  }
  if (separator < 0) return { kind: "lead", name, value, run: runPlan(name, value, [], flags) };
  if (argv.length === 0) throw usage("no command was given after --");
  if (flags.json === true) {
    throw usage("--json and a command exclude each other: standard output is the command's");
  }
  requireRunRelations(flags);
  return { kind: "run", run: runPlan(name, value, argv, flags) };
}

function runPlan(
  name: string,
  value: string,
  argv: readonly string[],
  { wait, priority, ttl, maxHold, killGrace, conflictExitCode, quiet }: ElectFlags,
): RunPlan {
  return {
    name: keyText(name),
    items: [{ key: name, mode: "exclusive" }],
    options: {
      value,
      ...(priority === undefined ? {} : { priority }),
      ...(maxHold === undefined ? {} : { maxHoldMs: maxHold }),
    },
    argv,
    waitMs: wait === false ? 0 : wait === Number.POSITIVE_INFINITY ? undefined : wait,
    ttlMs: ttl,
    killGraceMs: killGrace,
    maxHoldMs: maxHold,
    conflictExitCode,
    isQuiet: quiet === true,
  };
}

function usage(message: string): Failure {
  return new Failure(EXIT.usage, message);
}
