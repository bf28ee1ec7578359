/**
 * One command to one Redis and its answer, on a connection of its own: what a watcher asks, which
 * must not be delayed by what it asked before. Answers are a line (`+OK`, `-ERR …`, `:1`) or one
 * string with its length in front (`$12`); nothing else is asked for here.
 */
import { connect } from "node:net";
import type { HostPort } from "../cluster/network.js";

/** `undefined`: no answer within that time, or an error for an answer. */
export function askRedis(
  { host, port }: HostPort,
  command: string,
  answerMsMax: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => socket.write(`${command}\r\n`));
    let text = "";
    const timer = setTimeout(() => socket.destroy(), answerMsMax);
    socket.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (answerIn(text) !== undefined) socket.destroy();
    });
    // What went wrong is told by the close that follows.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answerIn(text));
    });
  });
}

/** `undefined` while it is not whole, and for an error. Everything that is asked for is ASCII. */
function answerIn(text: string): string | undefined {
  const end = text.indexOf("\r\n");
  if (end === -1 || text.startsWith("-")) return undefined;
  const first = text.slice(1, end);
  if (!text.startsWith("$")) return first;
  const length = Number(first);
  const body = text.slice(end + 2);
  return body.length >= length + 2 ? body.slice(0, length) : undefined;
}

/** What `INFO replication` says, by field. */
export async function replicationOf(
  address: HostPort,
  answerMsMax: number,
): Promise<ReadonlyMap<string, string> | undefined> {
  const text = await askRedis(address, "INFO replication", answerMsMax);
  if (text === undefined) return undefined;
  const lines = text.split("\r\n").filter((line) => line.includes(":"));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), afterColon(line)]));
}

function afterColon(line: string): string {
  return line.slice(line.indexOf(":") + 1);
}
