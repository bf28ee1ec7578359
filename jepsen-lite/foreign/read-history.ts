/**
 * Opens a history file, detects its notation by its first characters, and reads it. Anything else
 * is refused with one line that says where and why.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { BadHistoryError, type HistoryEvent, readJsonLines } from "../checker/index.js";
import { isJepsenLogLine, readEdnHistory, readJepsenLog } from "./edn-history.js";
import { readJsonArray } from "./json-array.js";

/** JSON lines, a JSON array, EDN maps, or the console log of Jepsen. */
export type HistoryNotation = "json-lines" | "json-array" | "edn" | "jepsen-log";

export interface ReadHistory {
  readonly notation: HistoryNotation;
  readonly events: readonly HistoryEvent[];
}

/** Larger files would not leave room for the search itself. */
const FILE_BYTES_MAX = 512 * 1024 * 1024;
/** Notations other than JSON lines are read as one string. */
const TEXT_BYTES_MAX = 256 * 1024 * 1024;

/** @throws BadHistoryError, or the error of the file system. */
export function readHistoryFile(path: string): ReadHistory {
  return readHistory(readBytes(path));
}

/** @throws BadHistoryError naming the line. */
export function readHistory(content: Buffer | string): ReadHistory {
  const bytes = withoutByteOrderMark(Buffer.from(content));
  const head = bytes.toString("utf8", 0, Math.min(bytes.length, 64 * 1024));
  const notation = notationOf(head);
  if (notation === "json-lines") return { notation, events: readJsonLines(bytes) };
  if (bytes.length > TEXT_BYTES_MAX) {
    throw new BadHistoryError(
      `the file has ${bytes.length} bytes; above ${TEXT_BYTES_MAX} only JSON lines can be read`,
    );
  }
  const text = bytes.toString("utf8");
  if (notation === "json-array") return { notation, events: readJsonArray(text) };
  if (notation === "edn") return { notation, events: readEdnHistory(text) };
  return { notation, events: readJepsenLog(text) };
}

function notationOf(head: string): HistoryNotation {
  const lines = head.split(/\r?\n/);
  if (lines.some(isJepsenLogLine) && !/^\s*[[({]/.test(head)) return "jepsen-log";
  const first = lines.findIndex((line) => line.trim() !== "" && !line.trim().startsWith(";"));
  if (first === -1) throw new BadHistoryError("the file is empty");
  const text = lines.slice(first).join("\n").trimStart();
  if (/^(#[\w.]*\{|\(|\[?\s*(;[^\n]*\s*)*(#[\w.]+\s*)?\{\s*:)/.test(text)) return "edn";
  if (text.startsWith("[")) return "json-array";
  if (text.startsWith("{")) return "json-lines";
  throw new BadHistoryError(
    "neither JSON nor EDN nor a Jepsen log: a history begins with { or [",
    first + 1,
  );
}

function withoutByteOrderMark(bytes: Buffer): Buffer {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return hasMark ? bytes.subarray(3) : bytes;
}

function readBytes(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const status = fstatSync(file);
    if (status.isDirectory()) throw new BadHistoryError("it is a directory, expected a file");
    if (status.size > FILE_BYTES_MAX) {
      throw new BadHistoryError(`the file has ${status.size} bytes, at most ${FILE_BYTES_MAX}`);
    }
    const chunks: Buffer[] = [];
    let total = 0;
    // Read to the end rather than up to the size: a pipe has none.
    for (;;) {
      const chunk = Buffer.allocUnsafe(Math.max(64 * 1024, status.size - total));
      const length = readSync(file, chunk, 0, chunk.length, null);
      if (length === 0) return Buffer.concat(chunks, total);
      chunks.push(chunk.subarray(0, length));
      total += length;
      if (total > FILE_BYTES_MAX) {
        throw new BadHistoryError(`the input has more than ${FILE_BYTES_MAX} bytes`);
      }
    }
  } finally {
    closeSync(file);
  }
}
