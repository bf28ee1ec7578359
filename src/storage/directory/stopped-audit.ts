/**
 * Opens the audit in the data directory of a node that does not run, even if its log or mark is
 * damaged, or of data that were set aside. It takes the lock of the directory and writes nothing
 * that a node has written.
 */
import { HoldfastError } from "../../errors/index.js";
import { AuditStore } from "../audit/audit-store.js";
import { openLevelStore } from "../level-store.js";
import { nodeFileSystem } from "../node-file-system.js";
import { explained, STORE_NAME, stateOf } from "./directory-layout.js";

/**
 * Resolves as `work` does, after the directory was closed again. Fails with `INVALID_ARGUMENT` if
 * this is not a data directory, and with `UNAVAILABLE` if a process uses it, permission is missing,
 * or another version wrote it.
 */
export async function withStoppedAudit<Result>(
  path: string,
  work: (audit: AuditStore) => Promise<Result>,
): Promise<Result> {
  try {
    if ((await stateOf(nodeFileSystem, path)) === "new") {
      throw new HoldfastError("INVALID_ARGUMENT", `${path} is not the data directory of a node`);
    }
    const store = await openLevelStore(`${path}/${STORE_NAME}`, true);
    try {
      const audit = new AuditStore(store);
      await audit.load();
      return await work(audit);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw explained(path, error);
  }
}
