/**
 * What a client and its server said to each other, in a form in which two conversations can be
 * compared: what differs each time is replaced by a name.
 */
import { createHash } from "node:crypto";
import type { Exchange } from "./logging-proxy.js";

export interface Line {
  readonly command: string;
  readonly reply: string;
}

const VALUES = [
  /^[0-9a-f]{32,64}$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:_\d+)?$/,
  // What other libraries make random.
  /^[A-Za-z0-9_-]{20,22}$/,
];
const TIME = /^1[0-9]{12}$/;
/** A number of milliseconds, or of seconds of more than one digit. */
const REMAINING = /:\d{3,}/g;
const SUM = /^[0-9a-f]{40}$/;

/**
 * Scripts are called by their sum, whether a client sent the text or not: a client sends it when the
 * server does not know the script yet, and the door knows it from the start. So exchanges that only
 * find this out are left out.
 */
export function transcriptOf(exchanges: readonly Exchange[]): readonly Line[] {
  const names = new Map<string, string>();
  const lines: Line[] = [];
  for (const { command, reply = "none" } of exchanges) {
    const [name = ""] = command;
    const verb = name.toUpperCase();
    if (verb === "SCRIPT" || reply.startsWith("-NOSCRIPT")) continue;
    const words = command.slice(1);
    const isText = verb === "EVAL";
    if (isText)
      words[0] = createHash("sha1")
        .update(words[0] ?? "", "latin1")
        .digest("hex");
    const shown = words.map((word) => nameOf(word, names));
    lines.push({
      command: [isText ? "EVALSHA" : verb, ...shown].join(" "),
      reply: replyOf(verb, reply, names),
    });
  }
  return lines;
}

function nameOf(word: string, names: Map<string, string>): string {
  if (SUM.test(word)) return word.slice(0, 8);
  if (TIME.test(word)) return "<time>";
  if (!VALUES.some((value) => value.test(word))) return word;
  const [base = "", suffix] = word.includes("_") ? word.split("_") : [word];
  const name = names.get(base) ?? `<value ${names.size + 1}>`;
  names.set(base, name);
  return suffix === undefined ? name : `${name}_${suffix}`;
}

function replyOf(verb: string, reply: string, names: Map<string, string>): string {
  if (verb === "INFO") return fields(reply.split("\r\n"), ["role", "connected_slaves", "loading"]);
  if (verb === "HELLO") {
    const words = reply.slice(1, -1).split(", ");
    const pairs = words.flatMap((word, at) => (at % 2 === 0 ? [`${word}:${words[at + 1]}`] : []));
    return fields(pairs, ["server", "proto", "mode", "role"]);
  }
  let shown = reply.replace(REMAINING, ":<remaining>");
  for (const [value, name] of names) shown = shown.replaceAll(value, name);
  return shown;
}

function fields(lines: readonly string[], names: readonly string[]): string {
  return lines.filter((line) => names.includes(line.split(":")[0] ?? "")).join(" ");
}
