/**
 * How often what is drawn at random is tried: in `npm test` the number that the test itself gives,
 * and a multiple of it with `HOLDFAST_RUNS=10`, as in `npm run test:release`.
 */
const FACTOR = Number(process.env["HOLDFAST_RUNS"] ?? 1);

export function runsOf(usual: number): number {
  return Math.ceil(usual * FACTOR);
}
