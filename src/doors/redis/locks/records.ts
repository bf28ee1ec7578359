/**
 * Records: hashes, and texts that a script sets next to one, as leases of the door's own owner in each
 * database. What a record contains is the value of its lease, so it is stored by a majority, survives
 * the node, and is changed only by a step that names the old value (semantics.md, 8.10).
 *
 * No value that a client sets looks like a record: after `~` an escaped one has hex digits.
 */
import { Buffer } from "node:buffer";
import { escapeName, unescapeName, VALUE_BYTES_MAX } from "../../../protocol/index.js";
import type { RecordContent } from "../record-content.js";
import { RefusedCommand } from "../refusals.js";

const HASH = "~hash ";
const NOTE = "~note ";

/** Who has the records of a database. */
export function recordOwnerOf(database: number): string {
  return `redis-records/${database}`;
}

/** Throws `RefusedCommand` if it is too long. */
export function recordValueOf(content: RecordContent): string {
  const value =
    content.kind === "hash"
      ? `${HASH}${escapeName(JSON.stringify([...content.fields]))}`
      : `${NOTE}${escapeName(content.value)}`;
  if (Buffer.byteLength(value) <= VALUE_BYTES_MAX) return value;
  throw new RefusedCommand(
    `a hash is too large: ${VALUE_BYTES_MAX} bytes at most, which is some twenty holders`,
  );
}

/** `undefined`: the value of a lease is not a record. */
export function recordOf(value: string): RecordContent | undefined {
  if (value.startsWith(NOTE)) return noteOf(unescapeName(value.slice(NOTE.length)));
  if (!value.startsWith(HASH)) return undefined;
  const pairs = pairsOf(unescapeName(value.slice(HASH.length)) ?? "");
  return pairs && { kind: "hash", fields: new Map(pairs) };
}

function noteOf(value: string | undefined): RecordContent | undefined {
  return value === undefined ? undefined : { kind: "note", value };
}

/** Anyone who may acquire a key by another client of Holdfast can give it any value. */
function pairsOf(json: string): readonly (readonly [string, string])[] | undefined {
  try {
    const pairs: unknown = JSON.parse(json);
    const isPair = (pair: unknown): pair is [string, string] =>
      Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === "string");
    return Array.isArray(pairs) && pairs.every(isPair) ? pairs : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
