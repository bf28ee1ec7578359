/** What a Redis reports of its replication. */
import { askRedis } from "../../lab/redis-command.js";
import type { HostPort } from "../cluster/network.js";

/** The fields of `INFO replication`. */
export type Replication = ReadonlyMap<string, string>;

/** `undefined` if it does not answer within `answerMsMax`. */
export async function replicationOf(
  address: HostPort,
  answerMsMax: number,
): Promise<Replication | undefined> {
  const text = await askRedis(address, "INFO replication", answerMsMax);
  if (text === undefined) return undefined;
  const lines = text.split("\r\n").filter((line) => line.includes(":"));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), afterColon(line)]));
}

function afterColon(line: string): string {
  return line.slice(line.indexOf(":") + 1);
}
