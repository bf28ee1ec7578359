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
/** Longer than any lock script. */
const SCRIPT_BYTES_MAX = 16 << 10;

export class ScriptLibrary {
  readonly #learned = new Map<string, RecognisedScript>();

  /** `sum`: in lower case. */
  find(sum: string): RecognisedScript | undefined {
    return knownScript(sum) ?? this.#learned.get(sum);
  }

  /** Recognises a text; `script` is `undefined` if it is no lock script that is known. */
  learn(text: Buffer): { readonly sum: string; readonly script: RecognisedScript | undefined } {
    const sum = createHash("sha1").update(text).digest("hex");
    const known = this.find(sum);
    if (known !== undefined || text.length > SCRIPT_BYTES_MAX) return { sum, script: known };
    const script = recogniseScript(text.toString("utf8"));
    if (script !== undefined) this.#keep(sum, script);
    return { sum, script };
  }

  #keep(sum: string, script: RecognisedScript): void {
    this.#learned.set(sum, script);
    if (this.#learned.size <= LEARNED_MAX) return;
    for (const oldest of this.#learned.keys()) {
      this.#learned.delete(oldest);
      return;
    }
  }
}
