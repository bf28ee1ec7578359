/**
 * The store of snapshots as the driver sees it; reports the index and the members of each new
 * one.
 */
import type { SnapshotStore } from "../../../../src/storage/index.js";

/** `index`: up to where it holds everything; `configuration`: the members it names, encoded. */
export type OnSnapshot = (index: number, configuration: Uint8Array) => void;

/** Must be called before the driver starts. */
export function watchSnapshots(store: SnapshotStore, onSnapshot: OnSnapshot): void {
  const create = store.create.bind(store);
  store.create = (point) => {
    return create(point).then((writer) => {
      const finish = writer.finish.bind(writer);
      writer.finish = (configuration) => {
        onSnapshot(point.index, configuration);
        return finish(configuration);
      };
      return writer;
    });
  };
}
