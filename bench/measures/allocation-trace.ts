/**
 * What nodes allocate on their heaps, from the trace of V8's collections (`--trace-gc-nvp`): the
 * bytes allocated since the previous collection. Bytes allocated since the last one are not known
 * yet, so a small young generation makes collections frequent; it does not change how much is
 * allocated.
 */
export const TRACE_FLAGS: readonly string[] = ["--trace-gc-nvp", "--max-semi-space-size=1"];

const ALLOCATED = / allocated=(\d+)/;

export class AllocationTrace {
  #bytes = 0;
  #collections = 0;

  /** Bytes allocated by all nodes, up to their last collections. */
  get bytes(): number {
    return this.#bytes;
  }

  get collections(): number {
    return this.#collections;
  }

  /** A line of standard output; other lines are ignored. */
  take(line: string): void {
    const match = ALLOCATED.exec(line);
    if (match === null) return;
    this.#bytes += Number(match[1]);
    this.#collections += 1;
  }
}
