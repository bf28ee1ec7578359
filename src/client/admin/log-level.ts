/**
 * The log level of one node. Only that node can show or change it, so it is asked over a connection
 * to it alone, unless the operator's connection leads to one node anyway. Each request names its
 * node: what a proxy passes on to another one has no effect there.
 */
import { HoldfastError } from "../../errors/index.js";
import { type LogLevel, type LogLevelView, type MembersView, OP } from "../../protocol/index.js";
import { resolveLogLevelOptions, type SetLogLevelOptions } from "../options/operator-options.js";
import type { AdminConnection } from "./admin-connection.js";

export async function askForMembers(
  connection: AdminConnection,
  signal: AbortSignal | undefined,
): Promise<MembersView> {
  const view = await connection.ask({ op: OP.members }, signal);
  if (isMembersView(view)) return view;
  throw new HoldfastError("PROTOCOL", "the cluster's answer is not a list of its members");
}

/** Without a level it is only shown. */
export async function askForLogLevel(
  connection: AdminConnection,
  level: LogLevel | undefined,
  options: SetLogLevelOptions | undefined,
): Promise<LogLevelView> {
  const { node, forMs, signal } = resolveLogLevelOptions(options, level);
  const wish = { op: OP.logLevel, node, level, forMs } as const;
  if (node === 0 || connection.isFixed) {
    return (await connection.ask(wish, signal)) as LogLevelView;
  }
  const { members } = await askForMembers(connection, signal);
  const member = members.find(({ id }) => id === node);
  if (member === undefined || member.endpoint === "") {
    const why = member === undefined ? "is not a member" : "has not told where clients reach it";
    throw new HoldfastError("INVALID_ARGUMENT", `node ${node} ${why}`);
  }
  const direct = connection.to(member.endpoint);
  try {
    await direct.open(signal);
    return (await direct.ask(wish, signal)) as LogLevelView;
  } finally {
    direct.close();
  }
}

function isMembersView(payload: unknown): payload is MembersView {
  if (typeof payload !== "object" || payload === null) return false;
  return "leaderId" in payload && "members" in payload && Array.isArray(payload.members);
}
