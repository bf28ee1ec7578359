/**
 * The two most frequent messages of a node, by hand: the reply to an acquire that was granted without
 * slots, and the reply to a release. They have the same bytes in `message-layout.ts`, which writes and
 * reads all other messages and takes half as long again; a test compares the two.
 */
import { MESSAGE, type Reply, type ServerMessage, STATUS } from "../replies.js";
import type { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

const GRANTED_COUNT = 5;
const RELEASED_COUNT = 4;
/** The type byte of an array without values. */
const EMPTY_ARRAY = 0x90;

/** Appends `message` to `writer` if it is such a reply; otherwise returns false. */
export function writePlainReply(writer: Writer, message: ServerMessage): boolean {
  if (message.kind !== MESSAGE.reply) return false;
  const { kind, sequence, stamp, result } = message;
  const isGranted = result.status === STATUS.granted && result.slots === undefined;
  if (!isGranted && result.status !== STATUS.released) return false;
  writer.arrayHeader(isGranted ? GRANTED_COUNT : RELEASED_COUNT);
  writer.uint(kind);
  writer.uint(sequence);
  writer.uint(stamp);
  writer.uint(result.status);
  if (isGranted) writer.uint(result.token);
  return true;
}

/** The next message if it is such a reply; otherwise consumes nothing. */
export function readPlainReply(reader: Reader): Reply | undefined {
  const { bytes, at } = reader;
  const count = (bytes[at] ?? 0) - EMPTY_ARRAY;
  const isCount = count === GRANTED_COUNT || count === RELEASED_COUNT;
  if (!isCount || bytes[at + 1] !== MESSAGE.reply) return undefined;
  reader.at = at + 2;
  const kind = MESSAGE.reply;
  const sequence = reader.uint();
  const stamp = reader.uint();
  const status = reader.uint();
  if (status === STATUS.granted && count === GRANTED_COUNT) {
    return { kind, sequence, stamp, result: { status, token: reader.uint() } };
  }
  if (status === STATUS.released && count === RELEASED_COUNT) {
    return { kind, sequence, stamp, result: { status } };
  }
  reader.at = at;
  return undefined;
}
