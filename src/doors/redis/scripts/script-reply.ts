/** What a script returns, as the reply that Redis makes of it. */
import type { ScriptReply } from "./meaning.js";
import { isSame, KEY_COUNT, NotUnderstood, type Value } from "./walk.js";

/** Of a list, and of a text in it; no lock script answers more. */
const ITEMS_MAX = 64;
const TEXT_LENGTH_MAX = 1_000;
const LINE_BREAK = /[\r\n]/g;

export interface ReplyParts {
  /** Whether the value is that of the hold. */
  isHeldValue(value: Value): boolean;
  readonly keyCount: ScriptReply;
  /** What the position of a key, or a key, stands for. */
  ofKey(at: number, isPosition: boolean): ScriptReply;
}

export function replyOf(value: Value, parts: ReplyParts): ScriptReply {
  if (parts.isHeldValue(value)) return { kind: "value" };
  switch (value.kind) {
    case "constant":
      return replyOfConstant(value.value);
    case "table":
      return replyOfTable(value, parts);
    case "key":
    case "position":
      return parts.ofKey(value.at, value.kind === "position");
    case "symbol":
      if (isSame(value, KEY_COUNT)) return parts.keyCount;
      if (value.name === "remaining") {
        const [unit] = value.parts;
        const isSeconds = unit?.kind === "constant" && unit.value === "s";
        return { kind: "remaining", unit: isSeconds ? "s" : "ms" };
      }
      throw new NotUnderstood();
    case "argument":
    case "function":
      throw new NotUnderstood();
  }
}

function replyOfConstant(value: string | number | boolean | null): ScriptReply {
  if (value === null || value === false) return { kind: "nil" };
  if (value === true) return { kind: "integer", integer: 1 };
  if (typeof value === "string") return { kind: "bulk", text: bounded(value) };
  return { kind: "integer", integer: Math.trunc(value) };
}

function replyOfTable(value: Value & { kind: "table" }, parts: ReplyParts): ScriptReply {
  const ok = textOf(value.fields.get("ok"));
  // A status is one line, and so is an error.
  if (ok !== undefined) return { kind: "status", text: bounded(ok).replace(LINE_BREAK, " ") };
  const error = textOf(value.fields.get("err"));
  if (error !== undefined) return { kind: "error", text: bounded(error).replace(LINE_BREAK, " ") };
  if (value.fields.size > 0) throw new NotUnderstood();
  // The list that Redis makes ends before the first nil; a false in it is nil.
  const end = value.items.findIndex((item) => item.kind === "constant" && item.value === null);
  const items = end < 0 ? value.items : value.items.slice(0, end);
  // A list in a list could contain itself.
  const hasList = items.some(({ kind }) => kind === "table");
  if (hasList || items.length > ITEMS_MAX) throw new NotUnderstood();
  return { kind: "list", items: items.map((item) => replyOf(item, parts)) };
}

function bounded(text: string): string {
  if (text.length > TEXT_LENGTH_MAX) throw new NotUnderstood();
  return text;
}

function textOf(value: Value | undefined): string | undefined {
  return value?.kind === "constant" && typeof value.value === "string" ? value.value : undefined;
}
