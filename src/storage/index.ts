/**
 * The interface of the storage: what one node keeps on disk. `openDataDirectory` opens all of it.
 *
 * - `directory`: the data directory as a whole: opened, restored, set aside
 * - `log`: the log of consensus, in segments
 * - `mark`: the small file that says how far the log is durable, and what must not be forgotten
 * - `snapshots` and `audit`: snapshots of the table, and who held which lock; both are in the
 *   ordered store (`ordered-store.ts`), a port whose production side is `level-store.ts`
 *
 * The ports to the machine are in `file-system.ts`, `ordered-store.ts` and `storage-ports.ts`, those
 * to the driver in `log-store.ts` and `snapshot-store.ts`.
 */
export type { AuditHead } from "./audit/audit-block.js";
export type { AuditRecord } from "./audit/audit-record.js";
export { type AuditMark, AuditStore, type StoredBlock } from "./audit/audit-store.js";
export {
  type AuditEnd,
  type AuditProblem,
  type AuditReport,
  type ExpectedHead,
  verifyAudit,
} from "./audit/audit-verification.js";
export { type DamageReport, damageOf } from "./corruption.js";
export { AccessFile } from "./directory/access-file.js";
export {
  type DataDirectory,
  type DataDirectoryOptions,
  openDataDirectory,
  SEGMENT_BYTES_MIN,
} from "./directory/data-directory.js";
export { isFreshDirectory } from "./directory/directory-layout.js";
export {
  demandVacant,
  makeRestoredDirectory,
  type RestoringMeans,
} from "./directory/restored-directory.js";
export { readIdentity, type SetAsideOptions, setDataAside } from "./directory/set-aside.js";
export { withStoppedAudit } from "./directory/stopped-audit.js";
export { type FileSystem, isDiskFailure } from "./file-system.js";
export type * from "./log-store.js";
export type { KnownPeer } from "./mark/known-peers.js";
export { isOutOfSpace, type OrderedStore } from "./ordered-store.js";
export { SnapshotDigest } from "./snapshots/digest.js";
export {
  type SavedSnapshot,
  SnapshotFileEncoder,
} from "./snapshots/saved-file.js";
export { SnapshotFileReader } from "./snapshots/saved-file-reader.js";
export type * from "./snapshots/snapshot-store.js";
export { SNAPSHOT_CHUNK_BYTES_MAX } from "./snapshots/stored-snapshot-writer.js";
export { openSnapshotStore } from "./snapshots/stored-snapshots.js";
export type { StoragePorts } from "./storage-ports.js";
