/** Seeds that found a bug of Holdfast itself, which was cured then. */
export interface RememberedSeed {
  readonly seed: number;
  /** What it found. */
  readonly bug: string;
}

export const REMEMBERED_SEEDS: readonly RememberedSeed[] = [
  {
    seed: 84,
    bug: "a data directory whose making was cut short was never made durable by a later start",
  },
  { seed: 28, bug: "cluster time began at 0, the stamp of answers that no entry gave" },
  { seed: 24, bug: "after one write without room the store refused every later one" },
];
