/**
 * What a lock script means. Two scripts that do the same are understood alike, however they are
 * written; a script that does anything a lock service cannot keep is not understood. Total: it returns
 * for every text, after a bounded time, and never runs anything.
 */
import { readScript } from "./lua-tree.js";
import type { Meaning, RecognisedScript } from "./meaning.js";
import { meaningForOneKey } from "./one-key.js";
import { meaningForSemaphore } from "./semaphore.js";
import { meaningForSeveralKeys } from "./several-keys.js";
import { Script } from "./walk.js";

/** `undefined`: it is no lock script that is understood. */
export function recogniseScript(text: string): RecognisedScript | undefined {
  const statements = readScript(text);
  if (statements === undefined) return undefined;
  const script = new Script(statements);
  const forOneKey = meaningForOneKey(script) ?? meaningForSemaphore(script);
  const forSeveralKeys = meaningForSeveralKeys(script);
  if (forOneKey === undefined && forSeveralKeys === undefined) return undefined;
  return { forOneKey, forSeveralKeys };
}

/** `undefined`: the script means nothing for so many keys. */
export function meaningOf(script: RecognisedScript, keyCount: number): Meaning | undefined {
  if (keyCount === 1) return script.forOneKey;
  return keyCount > 1 ? script.forSeveralKeys : undefined;
}
