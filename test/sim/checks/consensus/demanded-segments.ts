/**
 * Everything that is reported durable must be in segments that the mark on the disk names.
 * Otherwise nothing would notice at opening that a segment is lost, with everything acknowledged
 * in it.
 */
import type { NodeDisk } from "../../world/disk/node-disk.js";
import type { Fail } from "../violation.js";

export class DemandedSegments {
  readonly #fail: Fail;
  /** By node: the last segment when it was looked at last. */
  readonly #looked = new Map<number, number>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** A write of node `id` is reported durable, which lies in the last segment there is. */
  onDurable(id: number, disk: NodeDisk): void {
    const { lastSegment } = disk;
    if (this.#looked.get(id) === lastSegment) return;
    this.#looked.set(id, lastSegment);
    const check = (demanded: number): void => {
      if (demanded >= lastSegment) return;
      const text = `node ${id} has durable writes in ${lastSegment}, its mark ends at ${demanded}`;
      this.#fail("the mark demands what is durable", text);
    };
    disk.durableMark().then(
      (mark) => check(mark?.lastSegment ?? 0),
      () => check(0),
    );
  }
}
