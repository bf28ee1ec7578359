export {
  type DataDirectory,
  type DataDirectoryOptions,
  openDataDirectory,
  SEGMENT_BYTES_MIN,
} from "./data-directory.js";
export type { FileSystem } from "./file-system.js";
export type * from "./log-store.js";
export { type FileOperation, MemoryFileSystem } from "./memory-file-system.js";
export { MemoryStoreDisk } from "./memory-ordered-store.js";
export type { OrderedStore } from "./ordered-store.js";
export type { StoragePorts } from "./storage-ports.js";
