/**
 * The scripts that this node knows by their SHA-1: those of known clients from the start, on every
 * node, so that EVALSHA works wherever a client connects; and texts that were recognised by their shape
 * since. A script is never run: it is recognised, and what it means is done.
 */
import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { knownScript } from "./known-scripts.js";
import type { RecognisedScript } from "./meaning.js";
import { recogniseScript } from "./recognise.js";

/** Texts that differ only in blanks have different sums; a client has a handful. */
const LEARNED_MAX = 1_000;
const REFUSED_MAX = 1_000;
/** Longer than any lock script. */
const SCRIPT_BYTES_MAX = 16 << 10;

export class ScriptLibrary {
  readonly #learned = new Map<string, RecognisedScript>();
  /** Sums of texts that are no lock scripts: a client that has one sends it again and again. */
  readonly #refused = new Set<string>();

  /** `sum`: in lower case. */
  find(sum: string): RecognisedScript | undefined {
    return knownScript(sum) ?? this.#learned.get(sum);
  }

  /** Recognises a text; `script` is `undefined` if it is no lock script that is known. */
  learn(text: Buffer): { readonly sum: string; readonly script: RecognisedScript | undefined } {
    const sum = createHash("sha1").update(text).digest("hex");
    const known = this.find(sum);
    const isRefused = text.length > SCRIPT_BYTES_MAX || this.#refused.has(sum);
    if (known !== undefined || isRefused) return { sum, script: known };
    const script = recogniseScript(text.toString("utf8"));
    if (script === undefined) keepNewest(this.#refused.add(sum), REFUSED_MAX);
    else keepNewest(this.#learned.set(sum, script), LEARNED_MAX);
    return { sum, script };
  }
}

function keepNewest(sums: Map<string, unknown> | Set<string>, most: number): void {
  if (sums.size <= most) return;
  for (const oldest of sums.keys()) {
    sums.delete(oldest);
    return;
  }
}
