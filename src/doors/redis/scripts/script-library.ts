/**
 * The scripts that this node knows by their SHA-1: the scripts of known clients from the start, on
 * every node, so that EVALSHA works wherever a client connects; and texts that it has read since.
 */
import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { knownScript, type ScriptOfClient } from "./known-scripts.js";
import { LockScript } from "./lock-script.js";
import { NotServed } from "./lua-value.js";

/** Texts that differ only in blanks have different sums; a client has a handful. */
const LEARNED_MAX = 1_000;
const REFUSED_MAX = 1_000;
/** Longer than any lock script. */
const SCRIPT_BYTES_MAX = 16 << 10;

export interface LearnedText {
  readonly sum: string;
  /** What it is, or why it is not answered. */
  readonly script: ScriptOfClient | NotServed;
}

export class ScriptLibrary {
  readonly #learned = new Map<string, ScriptOfClient>();
  /** Sums of texts that are not answered: a client that has one sends it again and again. */
  readonly #refused = new Map<string, NotServed>();

  /** `sum`: in lower case. */
  find(sum: string): ScriptOfClient | undefined {
    return knownScript(sum) ?? this.#learned.get(sum);
  }

  learn(text: Buffer): LearnedText {
    const sum = createHash("sha1").update(text).digest("hex");
    const script = this.find(sum) ?? this.#refused.get(sum) ?? readText(text);
    if (script instanceof NotServed) keepNewest(this.#refused.set(sum, script), REFUSED_MAX);
    else if (knownScript(sum) === undefined)
      keepNewest(this.#learned.set(sum, script), LEARNED_MAX);
    return { sum, script };
  }
}

function readText(text: Buffer): ScriptOfClient | NotServed {
  if (text.length > SCRIPT_BYTES_MAX) return new NotServed("it is too long");
  try {
    return { is: LockScript.read(text), isOfRedlock: false };
  } catch (error) {
    if (error instanceof NotServed) return error;
    throw error;
  }
}

function keepNewest(sums: Map<string, unknown>, most: number): void {
  if (sums.size <= most) return;
  for (const oldest of sums.keys()) {
    sums.delete(oldest);
    return;
  }
}
