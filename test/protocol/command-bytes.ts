/**
 * The bytes of one command, and of an entry of whole records, as tests write and read them. A node
 * writes them in place into larger buffers, and reads commands with their records.
 */
import {
  BATCH_HEADER_BYTES,
  type Command,
  decodeCommands,
  isAttachCommand,
  RECORD_HEADER_BYTES,
  Writer,
  withOrigin,
  writeBatchHeader,
  writeRecord,
  writeRequest,
} from "../../src/protocol/index.js";

const ORIGIN = { node: 1, address: "192.0.2.7" } as const;

export function encodeCommand(command: Command): Uint8Array {
  const writer = new Writer();
  writeRequest(writer, command);
  return writer.take();
}

/** The command that `bytes` are, as nodes read it from an entry; one that attaches with an origin. */
export function decodeCommand(bytes: Uint8Array): Command | undefined {
  const attaching = inRecord(withOrigin(bytes, ORIGIN));
  return attaching !== undefined && isAttachCommand(attaching) ? attaching : inRecord(bytes);
}

function inRecord(bytes: Uint8Array): Command | undefined {
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length);
  writeRecord(record, new DataView(record.buffer), 0, 1, 1, bytes);
  return decodeCommands(record, 0)[0]?.command;
}

/** Joins a header and chunks of whole records into the bytes of an entry. */
export function encodeBatch(
  stamp: number,
  wallMs: number,
  count: number,
  chunks: readonly Uint8Array[],
): Uint8Array {
  const header = new Uint8Array(BATCH_HEADER_BYTES);
  writeBatchHeader(new DataView(header.buffer), stamp, wallMs, count);
  return new Uint8Array(Buffer.concat([header, ...chunks]));
}
