/** A deadlock that the cluster refused, as a sentence. Pure. */
import { listPhrase, type Phrase, type Someone, whoPhrase } from "../../parts/phrase.js";

/** Waits for `key`, which the next member has before it; the last one waits for the first. */
export interface CycleMember extends Someone {
  readonly session: number;
  readonly owner: number;
  readonly key: string;
  readonly mode: string;
}

/** "a wanted k1 (exclusive), which b had; b waited for k2 (…), which a had. The request of a was refused." */
export function cyclePhrase(cycle: readonly CycleMember[]): Phrase {
  const [first] = cycle;
  if (first === undefined) return ["A deadlock was refused."];
  const steps = cycle.map((member, index): Phrase => {
    const next = cycle[(index + 1) % cycle.length] ?? first;
    const verb = index === 0 ? " asked for " : " waited for ";
    return [
      ...whoPhrase(member),
      verb,
      { key: member.key },
      ` (${member.mode}), which `,
      ...whoPhrase(next),
      " had before",
    ];
  });
  return [...listPhrase(steps), ". So the request of ", ...whoPhrase(first), " was refused."];
}
