/**
 * One command to one Redis and its answer, on a connection of its own: the question of a watcher,
 * which must not be delayed by its earlier questions. Answers are a line (`+OK`, `-ERR …`, `:1`) or
 * one string after its length (`$12`); no other form is needed here.
 */
import { connect } from "node:net";
import type { HostPort } from "../cluster/network.js";

/** `undefined`: no answer within that time, or an error as the answer. */
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
    // The close that follows reports the error.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answerIn(text));
    });
  });
}

/** `undefined` while it is incomplete, and for an error. All requested values are ASCII. */
function answerIn(text: string): string | undefined {
  const end = text.indexOf("\r\n");
  if (end === -1 || text.startsWith("-")) return undefined;
  const first = text.slice(1, end);
  if (!text.startsWith("$")) return first;
  const length = Number(first);
  const body = text.slice(end + 2);
  return body.length >= length + 2 ? body.slice(0, length) : undefined;
}

/** The fields of `INFO replication`. */
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
