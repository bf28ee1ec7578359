/**
 * What nodes allocate on their heaps, from what V8 says at each collection (`--trace-gc-nvp`): the
 * bytes that came since the collection before. What came since the last one is not known yet, so
 * collections are made frequent by a small young generation; it does not change what is allocated.
 */
export const TRACE_FLAGS: readonly string[] = ["--trace-gc-nvp", "--max-semi-space-size=1"];

const ALLOCATED = / allocated=(\d+)/;

export class AllocationTrace {
  #bytes = 0;
  #collections = 0;

  /** Of all nodes, up to their last collections. */
  get bytes(): number {
    return this.#bytes;
  }

  get collections(): number {
    return this.#collections;
  }

  /** A line of standard output; those about other things are passed over. */
  take(line: string): void {
    const match = ALLOCATED.exec(line);
    if (match === null) return;
    this.#bytes += Number(match[1]);
    this.#collections += 1;
  }
}
