/**
 * What EXPIRE and PEXPIRE ask for: a time to live, and under which of their conditions it counts.
 * The conditions and their errors are as in Redis 7.
 */
import type { Buffer } from "node:buffer";
import { integerOf } from "../durations.js";
import { RefusedCommand } from "../refusals.js";
import { wordOf } from "./command.js";

export const EXPIRE_UNITS_MS: ReadonlyMap<string, number> = new Map([
  ["EXPIRE", 1_000],
  ["PEXPIRE", 1],
]);

export interface ExpireTerms {
  /** 0 and less: the key ends now. */
  readonly ttlMs: number;
  readonly isConditional: boolean;
  /** Whether it counts for a key with this much time left; `undefined`: it has no end. */
  allows(remainingMs: number | undefined): boolean;
}

const CONDITIONS: ReadonlySet<string> = new Set(["NX", "XX", "GT", "LT"]);

/** The arguments after the key. Throws the errors of Redis. */
export function expireTermsOf(name: string, [time, ...words]: readonly Buffer[]): ExpireTerms {
  const conditions = new Set(words.map(wordOf));
  const unknown = words.find((word) => !CONDITIONS.has(wordOf(word)));
  if (unknown !== undefined) {
    const shown = unknown.toString("latin1").slice(0, 64);
    throw new RefusedCommand(`Unsupported option ${shown}`, "ERR");
  }
  const [isNx, isXx, isGt, isLt] = [...CONDITIONS].map((one) => conditions.has(one));
  if (isNx && conditions.size > 1) {
    throw new RefusedCommand(
      "NX and XX, GT or LT options at the same time are not compatible",
      "ERR",
    );
  }
  if (isGt && isLt) {
    throw new RefusedCommand("GT and LT options at the same time are not compatible", "ERR");
  }
  const ttlMs = integerOf(time as Buffer) * (EXPIRE_UNITS_MS.get(name) as number);
  return {
    ttlMs,
    isConditional: conditions.size > 0,
    allows(remainingMs = Number.POSITIVE_INFINITY) {
      const isEndless = remainingMs === Number.POSITIVE_INFINITY;
      if ((isNx && !isEndless) || (isXx && isEndless)) return false;
      return !(isGt && ttlMs <= remainingMs) && !(isLt && ttlMs >= remainingMs);
    },
  };
}
