/** What a script returns, as the reply that Redis makes of it. */
import { Buffer } from "node:buffer";
import { FencingToken, LuaTable, type LuaValue, NotServed, Unknown } from "./lua-value.js";

export type ScriptReply =
  | number
  | null
  | Buffer
  | { readonly status: string }
  /** `code`: the first word of an error. */
  | { readonly code: string; readonly message: string }
  /** The token of the lock that the call takes or has. */
  | { readonly isToken: true }
  | readonly ScriptReply[];

/** The limit on a list, and on lists in one another; no lock script answers more. */
const ITEMS_MAX = 64;
const DEPTH_MAX = 4;
const LINE_BREAK = /[\r\n]/g;
/** Fields by which Redis makes a reply of another kind. */
const KINDS = ["double", "map", "set", "big_number", "verbatim_string"];

export function replyOf(value: LuaValue, depth = 0): ScriptReply {
  if (value instanceof FencingToken) return { isToken: true };
  if (value instanceof Unknown) return value.use();
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === "string") return Buffer.from(value, "latin1");
  if (typeof value === "number") return integerReply(value);
  if (value instanceof LuaTable) return tableReply(value, depth);
  throw new NotServed("it returns what is not a reply");
}

function integerReply(value: number): number {
  const integer = Math.trunc(value);
  if (Number.isSafeInteger(integer)) return integer;
  throw new NotServed("it returns a number that is too large");
}

function tableReply({ fields, items }: LuaTable, depth: number): ScriptReply {
  const error = fields.get("err");
  if (typeof error === "string") {
    const [code = "", ...words] = oneLine(error).split(" ");
    return { code, message: words.join(" ") };
  }
  const ok = fields.get("ok");
  if (typeof ok === "string") return { status: oneLine(ok) };
  if (KINDS.some((kind) => fields.has(kind))) throw new NotServed("it returns a reply of RESP3");
  // The list that Redis makes ends before the first nil; a false in it is nil.
  const end = items.indexOf(undefined);
  const listed = end < 0 ? items : items.slice(0, end);
  if (listed.length > ITEMS_MAX || depth > DEPTH_MAX) throw new NotServed("it returns much");
  return listed.map((item) => replyOf(item, depth + 1));
}

/** A status is one line, and so is an error. */
function oneLine(text: string): string {
  return text.replace(LINE_BREAK, " ");
}
