/**
 * All random decisions of the harness follow from its seed. Each client, fault and schedule draws
 * from a stream of its own name, so that adding a client or leaving out a fault does not change the
 * others.
 */
import { RandomStream } from "../../lab/random-stream.js";

export function seededStream(seed: number, name: string): RandomStream {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const character of name) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  const stream = new RandomStream(hash);
  // The first numbers of neighbouring seeds are similar, the second ones are not.
  stream.next();
  return stream;
}
