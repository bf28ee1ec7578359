/**
 * A seeded bug: a patch of one place in the sources, so that production code carries no switches.
 * `find` must occur exactly once in `file`; else the catalogue is out of date and the run says so.
 */
export interface Mutant {
  readonly name: string;
  /** The rule it breaks, in the words of `docs/internals/raft-rules.md` where it has one. */
  readonly rule: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Seeds that found it before; they are tried first. */
  readonly seeds: readonly number[];
}
