/**
 * How often what is drawn at random is tried: as often as stands beside it in `npm test`, a multiple of
 * that with `HOLDFAST_RUNS=10`, as `npm run test:release` does.
 */
const FACTOR = Number(process.env["HOLDFAST_RUNS"] ?? 1);

export function runsOf(usual: number): number {
  return Math.ceil(usual * FACTOR);
}
