/**
 * What can be fuzzed: a door or a format of Holdfast, with the inputs to begin from and a judge. A
 * target must give the same verdict for the same input, and leave nothing behind that changes the
 * verdict of the next one; else a finding could not be repeated.
 */
import type { Mutator } from "./mutators.js";

/** What became of an input. Whatever else happens is a finding: `run` throws it. */
export type Verdict = "taken" | "refused";

export interface FuzzTarget {
  readonly name: string;
  /** One line, for the help. */
  readonly about: string;
  /** What the writers of the format itself make: always in the current version. */
  corpus(): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /** Changes that know the format. The general ones (`mutators.ts`) come on top. */
  readonly mutators: readonly Mutator[];
  /** Sets checksums right, without which nothing that was changed gets beyond them. */
  readonly repair?: (input: Uint8Array) => Uint8Array;
  /** Longer inputs are cut. */
  readonly bytesMax: number;
  /**
   * Basic blocks of the sources that may be run for one input: a fixed number, and a number for
   * each of its bytes. More than that is a finding, where coverage is counted.
   */
  readonly steps: { readonly fixed: number; readonly perByte: number };
  /** Executions in the short tests, where the usual number takes too long. */
  readonly shortRuns?: number;
  /** Throws for anything but one of the two documented ends. */
  run(input: Uint8Array): Verdict | Promise<Verdict>;
  /** Gives back sockets and the like. It can be run again after it. */
  close?(): Promise<void>;
}

/** What an oracle found, as against what the sources threw. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Throws unless `holds`. */
export function demand(holds: boolean, message: () => string): asserts holds {
  if (!holds) throw new Violation(message());
}

/** Two texts or numbers that must be the same. */
export function demandEqual<T>(found: T, expected: T, what: string): void {
  demand(found === expected, () => `${what}: ${String(found)} instead of ${String(expected)}`);
}

export function demandSameBytes(found: Uint8Array, expected: Uint8Array, what: string): void {
  demand(Buffer.compare(found, expected) === 0, () => {
    const [one, other] = [found, expected].map((bytes) => Buffer.from(bytes).toString("hex"));
    return `${what}: ${one} instead of ${other}`;
  });
}
