/** A finding: an input that ended in neither of the two documented ways, made as small as it goes. */
import type { FuzzTarget } from "./target.js";

export interface Finding {
  readonly target: string;
  /** Equal for the same fault, whatever the numbers in its message are. */
  readonly signature: string;
  readonly message: string;
  readonly input: Uint8Array;
}

/** The finding of an input that ended the process or went on forever: nobody saw it throw. */
export function findingOf(target: string, input: Uint8Array, error: unknown): Finding {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const frame = /\n\s+at .*?((?:src|bin|test)\/[\w/.-]+\.ts)/.exec(stack ?? "")?.[1] ?? "";
  const told = message.replaceAll(/[0-9a-f]{8,}|\d+|"[^"]*"/g, "#").slice(0, 120);
  const signature = `${name} ${frame} ${told}`;
  return { target, signature, message: stack ?? `${name}: ${message}`, input };
}

/** A smaller input with the same signature. Each try is one execution; at most `triesMax`. */
export async function minimised(
  target: FuzzTarget,
  finding: Finding,
  triesMax: number,
): Promise<Finding> {
  let best = finding;
  let tries = 0;
  const attempt = async (input: Uint8Array): Promise<boolean> => {
    tries += 1;
    const repaired = target.repair?.(input) ?? input;
    if (repaired.length > best.input.length) return false;
    try {
      await target.run(repaired);
      return false;
    } catch (error) {
      const found = findingOf(target.name, repaired, error);
      if (found.signature !== finding.signature) return false;
      best = found;
      return true;
    }
  };
  for (let size = best.input.length >> 1; size > 0 && tries < triesMax; size >>= 1) {
    for (let at = 0; at < best.input.length && tries < triesMax; ) {
      const { input } = best;
      const rest = Buffer.concat([input.subarray(0, at), input.subarray(at + size)]);
      if (!(await attempt(Uint8Array.from(rest)))) at += size;
    }
  }
  for (let at = 0; at < best.input.length && tries < triesMax; at += 1) {
    if (best.input[at] !== 0) await attempt(best.input.with(at, 0));
  }
  return best;
}
