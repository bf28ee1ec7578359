/**
 * Fills the table of a node that starts from the snapshot that its log names, before it serves
 * clients. The table was made once before the log named the snapshot, here or at the node that took
 * it, so bytes that make no table are damage of this disk. It must never leave a part of one.
 */
import { type LockTable, TableRestore } from "../../lockfsm/index.js";
import type { SnapshotManifest, SnapshotStore } from "../../storage/index.js";

/**
 * `pause` lets the loop turn in between, so that the node's pages can be read. Fails with a
 * corruption error if the snapshot is damaged.
 */
export async function restoreAtBoot(
  store: Pick<SnapshotStore, "readChunk">,
  manifest: SnapshotManifest,
  table: Pick<LockTable, "become">,
  pause: () => Promise<void> = async () => {},
): Promise<void> {
  const restore = new TableRestore();
  for (let number = 0; number < manifest.chunkCount; number += 1) {
    restore.add(await store.readChunk(manifest, number));
    await pause();
  }
  const finishing = restore.finish();
  for (;;) {
    const step = finishing.next();
    if (step.done === true) {
      table.become(step.value);
      return;
    }
    await pause();
  }
}
