/** The keys of a workload: `mutex/0`, `mutex/1` … Every client uses the same ones. */
export function keysOf(workload: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${workload}/${index}`);
}
