/**
 * Says beforehand what a node would do with a script: by the same reading and running as at the port,
 * with arguments of which some are values and the others times. Which are which a text does not say, so
 * every choice is tried, and the one with which the script does most is shown.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { KeyEffect, KnownKey } from "./imagined-keys.js";
import { KNOWN_SCRIPTS, knownScript } from "./known-scripts.js";
import { LockScript } from "./lock-script.js";
import { NotServed, OtherDatabase } from "./lua-value.js";

export interface ScriptCheck {
  readonly sha1: string;
  /** Clients whose script this is. */
  readonly clients: readonly string[];
  readonly isServed: boolean;
  /** Why it is not served. */
  readonly reason: string | undefined;
  /** What it does when its keys are in a state; empty if it is not read at all. */
  readonly states: readonly CheckedState[];
}

export interface CheckedState {
  readonly state: "free" | "held by the caller" | "held by another";
  readonly does: "takes" | "extends" | "releases" | "changes nothing" | "is refused";
  readonly reason: string | undefined;
}

const ARGUMENTS_MAX = 6;
const KEYS_MAX = 16;
const TIME = "30000";
const REMAINING_MS = 20_000;
const FREE: KnownKey = { kind: "free" };
const DOES = { take: "takes", extend: "extends", release: "releases" } as const;

function doneBy(change: KeyEffect): CheckedState["does"] {
  if (change.kind === "same") return "changes nothing";
  if (change.kind !== "record") return DOES[change.kind];
  if (change.before === undefined) return DOES.take;
  return change.after === undefined ? DOES.release : DOES.extend;
}

export function checkScript(text: Buffer): ScriptCheck {
  const sha1 = createHash("sha1").update(text).digest("hex");
  const clients = KNOWN_SCRIPTS.filter((each) => each.sha1 === sha1).map(({ client }) => client);
  const common = { sha1, clients };
  const known = knownScript(sha1)?.is;
  if (known !== undefined && !(known instanceof LockScript)) {
    return { ...common, isServed: true, reason: undefined, states: [] };
  }
  try {
    const states = statesOf(LockScript.read(text), text.toString("latin1"));
    const reason = states.find((each) => each.reason !== undefined)?.reason;
    return { ...common, isServed: reason === undefined, reason, states };
  } catch (error) {
    if (!(error instanceof NotServed)) throw error;
    return { ...common, isServed: false, reason: error.message, states: [] };
  }
}

/** The highest number by which the text names an element. */
function highest(text: string, list: "KEYS" | "ARGV", least: number, most: number): number {
  const numbers = [...text.matchAll(new RegExp(`\\b${list}\\s*\\[\\s*(\\d+)`, "g"))];
  return Math.min(most, Math.max(least, ...numbers.map(([, number]) => Number(number))));
}

function statesOf(script: LockScript, text: string): readonly CheckedState[] {
  const keys = Array.from({ length: highest(text, "KEYS", 1, KEYS_MAX) }, (_, at) => `k${at + 1}`);
  const count = highest(text, "ARGV", 2, ARGUMENTS_MAX);
  let best: readonly CheckedState[] = [];
  for (let choice = 0; choice < 2 ** count; choice++) {
    const args = Array.from({ length: count }, (_, at) =>
      (choice >> at) % 2 === 0 ? `value ${at + 1}` : TIME,
    );
    for (const holder of args.filter((arg) => arg !== TIME)) {
      const states = statesWith(script, keys, args, holder);
      if (worthOf(states) > worthOf(best)) best = states;
    }
  }
  return best;
}

/** To be refused nowhere counts most, then what it does. */
function worthOf(states: readonly CheckedState[]): number {
  const count = (isSo: (state: CheckedState) => boolean): number => states.filter(isSo).length;
  return (
    10 * count(({ reason }) => reason === undefined) +
    count(({ does }) => does !== "changes nothing" && does !== "is refused")
  );
}

function statesWith(
  script: LockScript,
  keys: readonly string[],
  args: readonly string[],
  holder: string,
): readonly CheckedState[] {
  const held = (value: string): KnownKey =>
    script.usesHashes
      ? { kind: "hash", fields: new Map([[value, "1"]]), remainingMs: REMAINING_MS }
      : { kind: "lock", value, remainingMs: REMAINING_MS };
  const stateOf = (state: CheckedState["state"], key: KnownKey): CheckedState => {
    const known = new Map(
      keys.map((name, at) => [name, script.usesHashes && at > 0 ? FREE : key] as const),
    );
    const input = { keys: keys.map(bytesOf), args: args.map(bytesOf), known, isGuess: true };
    try {
      const { effects } = script.meaningOf({ ...input, database: 0, allowsUnproven: false });
      const change = effects.find(({ kind }) => kind !== "same");
      return {
        state,
        does: change === undefined ? "changes nothing" : doneBy(change),
        reason: undefined,
      };
    } catch (error) {
      if (error instanceof OtherDatabase)
        return { state, does: "changes nothing", reason: undefined };
      if (!(error instanceof NotServed)) throw error;
      return { state, does: "is refused", reason: error.message };
    }
  };
  return [
    stateOf("free", FREE),
    stateOf("held by the caller", held(holder)),
    stateOf("held by another", held("somebody else")),
  ];
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
