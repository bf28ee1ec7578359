/**
 * How often what is drawn at random or tried in turn is tried: in `npm test` as often as the test itself
 * says, and more often with `HOLDFAST_RUNS=25`, as in `npm run test:release`.
 */
const FACTOR = Number(process.env["HOLDFAST_RUNS"] ?? 1);

/** `usual` runs, or a multiple of them. */
export function runsOf(usual: number): number {
  return Math.ceil(usual * FACTOR);
}

/** The distance of the places that are tried, of which there are too many for `npm test`: `usual`, or less, down to 1. */
export function strideOf(usual: number): number {
  return Math.max(1, Math.round(usual / FACTOR));
}
