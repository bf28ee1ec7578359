export type { AuditRecord } from "./audit-record.js";
export { type AuditMark, AuditStore } from "./audit-store.js";
export { type DamageReport, damageOf } from "./corruption.js";
export {
  type DataDirectory,
  type DataDirectoryOptions,
  openDataDirectory,
  SEGMENT_BYTES_MIN,
} from "./data-directory.js";
export { isFreshDirectory } from "./directory-layout.js";
export { type FileSystem, isDiskFailure } from "./file-system.js";
export type { KnownPeer } from "./known-peers.js";
export type * from "./log-store.js";
export {
  type FileOperation,
  MemoryFileSystem,
  type MemoryFileSystemOptions,
} from "./memory-file-system.js";
export { MemoryStoreDisk, type StoreAccess } from "./memory-ordered-store.js";
export type { OrderedStore } from "./ordered-store.js";
export {
  demandVacant,
  makeRestoredDirectory,
  type RestoringMeans,
} from "./restored-directory.js";
export { readIdentity, type SetAsideOptions, setDataAside } from "./set-aside.js";
export { SnapshotDigest } from "./snapshot-digest.js";
export {
  type SavedSnapshot,
  SnapshotFileEncoder,
} from "./snapshot-file.js";
export { SnapshotFileReader } from "./snapshot-file-reader.js";
export type * from "./snapshot-store.js";
export type { StoragePorts } from "./storage-ports.js";
export { SNAPSHOT_CHUNK_BYTES_MAX } from "./stored-snapshot-writer.js";
export { openSnapshotStore } from "./stored-snapshots.js";
