/**
 * Brings a log that was read back into use. Records above the mark may never have been synced and
 * only been read from the page cache of a machine whose process died, so they are written once more
 * in place: everything that `boot` shows is then durable. A torn tail is cut off by continuing in a
 * new segment, whose base names the last whole record; the torn bytes stay where they are and are
 * never read again.
 */

import type { FileSystem } from "../file-system.js";
import type { MarkFile } from "../mark/mark-file.js";
import type { StoragePorts } from "../storage-ports.js";
import { FileLog } from "./file-log.js";
import type { LastSegment, LogContents } from "./log-reader.js";
import { RecordEncoder } from "./record-encoder.js";
import { removeSegments, Segment } from "./segment.js";
import { removePrepared, SegmentPreparer } from "./segment-preparer.js";
import type { ChainLink } from "./segment-scan.js";

export interface OpenFileLogOptions {
  readonly fileSystem: FileSystem;
  /** Contains the segments; exists, and no other code writes in it. */
  readonly directory: string;
  readonly segmentBytes: number;
  readonly ports: StoragePorts;
  /** Closed by the log when it closes; still the caller's if this fails. */
  readonly mark: MarkFile;
  /** The result of `readLog`. */
  readonly contents: LogContents;
}

/** Fails as the file system does. */
export async function openFileLog(options: OpenFileLogOptions): Promise<FileLog> {
  const { fileSystem, directory, segmentBytes, ports, mark, contents } = options;
  const { boot, outline, segments, link, last, leftovers } = contents;
  await removePrepared(fileSystem, directory);
  await removeSegments(fileSystem, directory, leftovers, () => false);
  await fileSystem.syncDirectory(directory);
  const segment = last === undefined ? undefined : await reopen(fileSystem, last, link);
  const isSealed = last?.torn !== undefined;
  const preparer = new SegmentPreparer(fileSystem, directory, segmentBytes, ports.timer);
  const encoder = new RecordEncoder();
  const parts = { fileSystem, directory, segmentBytes, ports, mark, preparer, encoder };
  return FileLog.open({ ...parts, boot, outline, segments, link, segment, isSealed });
}

async function reopen(
  fileSystem: FileSystem,
  last: LastSegment,
  link: ChainLink,
): Promise<Segment> {
  const file = await fileSystem.open(last.path, "write");
  const segment = new Segment(file, last.base, last.salt, last.end, link);
  try {
    if (last.tail.length > 0) await segment.rewrite(last.tail, last.tailFrom);
  } catch (error) {
    await segment.close();
    throw error;
  }
  return segment;
}
