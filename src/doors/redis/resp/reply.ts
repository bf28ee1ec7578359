/**
 * Replies as data, and their bytes in RESP2 and RESP3. The bytes are a string in latin1, one character
 * for each: replies of one turn are joined and written at once.
 */
import { Buffer } from "node:buffer";

export type Protocol = 2 | 3;

/**
 * A number is an integer, `null` is nil, a string is a bulk string in UTF-8, a `Buffer` one of any
 * bytes.
 */
export type RespReply =
  | number
  | null
  | string
  | Buffer
  | readonly RespReply[]
  | StatusReply
  | ErrorReply
  | MapReply
  | NullArrayReply
  | PushReply
  | SeveralReplies;

/** One line that is not an error. */
export interface StatusReply {
  readonly status: string;
}

export interface ErrorReply {
  /** The first word. */
  readonly code: string;
  readonly message: string;
}

/** In RESP2 an array of names and values in turn. */
export interface MapReply {
  readonly map: readonly (readonly [RespReply, RespReply])[];
}

/** What EXEC answers if a watched key has changed. */
export interface NullArrayReply {
  readonly nullArray: true;
}

/** A message that answers no command; in RESP2 an array. */
export interface PushReply {
  readonly push: readonly RespReply[];
}

/** What SUBSCRIBE answers: one after the other. */
export interface SeveralReplies {
  readonly several: readonly RespReply[];
}

export const OK: StatusReply = Object.freeze({ status: "OK" });
export const QUEUED: StatusReply = Object.freeze({ status: "QUEUED" });
export const NULL_ARRAY: NullArrayReply = Object.freeze({ nullArray: true });

const LINE_BREAK = /[\r\n]+/g;
const OK_BYTES = "+OK\r\n";

export function encodeReply(reply: RespReply, protocol: Protocol): string {
  if (reply === OK) return OK_BYTES;
  if (reply === null) return protocol === 3 ? "_\r\n" : "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return bulk(Buffer.from(reply, "utf8"));
  if (Buffer.isBuffer(reply)) return bulk(reply);
  if (isArray(reply)) return aggregate("*", reply, protocol);
  if ("status" in reply) return `+${reply.status}\r\n`;
  if ("code" in reply) return errorLine(reply);
  if ("push" in reply) return aggregate(protocol === 3 ? ">" : "*", reply.push, protocol);
  if ("several" in reply) return reply.several.map((one) => encodeReply(one, protocol)).join("");
  if ("nullArray" in reply) return protocol === 3 ? "_\r\n" : "*-1\r\n";
  if (protocol === 2) return aggregate("*", reply.map.flat(), protocol);
  const parts = reply.map.map(
    ([name, value]) => encodeReply(name, protocol) + encodeReply(value, protocol),
  );
  return `%${reply.map.length}\r\n${parts.join("")}`;
}

function isArray(reply: Exclude<RespReply, null>): reply is readonly RespReply[] {
  return Array.isArray(reply);
}

function bulk(bytes: Buffer): string {
  return `$${bytes.length}\r\n${bytes.toString("latin1")}\r\n`;
}

function aggregate(mark: string, elements: readonly RespReply[], protocol: Protocol): string {
  let text = `${mark}${elements.length}\r\n`;
  for (const element of elements) text += encodeReply(element, protocol);
  return text;
}

/** A message may quote what a client sent, and must stay one line. */
function errorLine({ code, message }: ErrorReply): string {
  const line = message.replace(LINE_BREAK, " ");
  return `-${code} ${Buffer.from(line, "utf8").toString("latin1")}\r\n`;
}
