/**
 * What clients ask the server about itself before they use it. A node says that it is a master only
 * while it can serve, because clients and their sentinels choose by that.
 */
import type { Buffer } from "node:buffer";
import type { ConnectionState } from "../connection-state.js";
import { integerOf } from "../durations.js";
import type { DoorNode } from "../ports.js";
import { RefusedCommand } from "../refusals.js";
import { OK, type RespReply } from "../resp/index.js";
import { namedMaster, namesOf } from "../sentinel.js";
import { type DoorCommand, wordOf } from "./command.js";

/**
 * The version of Redis whose lock commands are answered (SET with IFEQ, DELEX): clients choose their
 * commands by it.
 */
export const REDIS_VERSION = "8.4.0";

export const SERVER_COMMANDS: readonly DoorCommand[] = [
  { name: "INFO", least: 0, run: (connection, sections) => infoText(connection, sections) },
  {
    name: "ROLE",
    least: 0,
    most: 0,
    run: ({ node, rules }) => {
      if (rules.isSentinel) return ["sentinel", namesOf(node)];
      return node.isServing ? ["master", 0, []] : ["slave", "", 0, "connecting", -1];
    },
  },
  { name: "COMMAND", least: 0, run: (_session, args) => commandReply(args) },
  { name: "READONLY", least: 0, most: 0, run: () => OK },
  { name: "READWRITE", least: 0, most: 0, run: () => OK },
  {
    name: "CLUSTER",
    least: 1,
    run() {
      throw new RefusedCommand("This instance has cluster support disabled", "ERR");
    },
  },
  {
    name: "CONFIG",
    least: 1,
    run(_session, [subcommand]) {
      if (wordOf(subcommand) === "GET") return { map: [] };
      throw new RefusedCommand("a node is configured by its own options, not by CONFIG");
    },
  },
  {
    // No other node is a replica in the sense of Redis: what is answered is stored by a majority.
    name: "WAIT",
    least: 2,
    most: 2,
    run(_session, [replicas, timeout]) {
      integerOf(replicas as Buffer);
      integerOf(timeout as Buffer);
      return 0;
    },
  },
  {
    // What is answered is on disk here; for other nodes it is as with WAIT.
    name: "WAITAOF",
    least: 3,
    most: 3,
    run(_session, args) {
      for (const number of args) integerOf(number);
      return [1, 0];
    },
  },
];

function commandReply([subcommand]: readonly Buffer[]): RespReply {
  const word = wordOf(subcommand);
  if (word === "COUNT") return 0;
  if (word === "DOCS") return { map: [] };
  if (word === "" || word === "INFO" || word === "LIST") return [];
  throw new RefusedCommand("COMMAND is answered with COUNT, DOCS, INFO and LIST only");
}

const EVERYTHING: ReadonlySet<string> = new Set(["", "ALL", "DEFAULT", "EVERYTHING"]);

function infoText(connection: ConnectionState, asked: readonly Buffer[]): string {
  const wanted = asked.length === 0 ? [""] : asked.map(wordOf);
  const isAll = wanted.some((name) => EVERYTHING.has(name));
  const sections = Object.entries(infoOf(connection)).filter(
    ([name]) => isAll || wanted.includes(name.toUpperCase()),
  );
  return sections
    .map(([name, fields]) => {
      const lines = Object.entries(fields).map(([field, value]) => `${field}:${value}\r\n`);
      return `# ${name}\r\n${lines.join("")}`;
    })
    .join("\r\n");
}

type InfoFields = Readonly<Record<string, string | number>>;

function infoOf({ node, rules }: ConnectionState): Readonly<Record<string, InfoFields>> {
  const { isServing } = node;
  const server = {
    redis_version: REDIS_VERSION,
    redis_mode: rules.isSentinel ? "sentinel" : "standalone",
    server_name: "holdfast",
    holdfast_version: node.version,
    holdfast_node: node.id,
    process_id: process.pid,
  };
  if (rules.isSentinel) return { Server: server, Sentinel: sentinelInfo(node) };
  return {
    Server: server,
    Persistence: { loading: 0, async_loading: 0 },
    Replication: isServing
      ? { role: "master", connected_slaves: 0, master_failover_state: "no-failover" }
      : { role: "slave", master_link_status: "down", connected_slaves: 0 },
    Cluster: { cluster_enabled: 0 },
  };
}

function sentinelInfo(node: DoorNode): InfoFields {
  const names = namesOf(node);
  const master = namedMaster(node);
  const address = master === undefined ? ":0" : `${master.host}:${master.port}`;
  const told = `status=${master === undefined ? "odown" : "ok"},address=${address},slaves=0`;
  const sentinels = node.sentinelAddresses.size;
  return {
    sentinel_masters: names.length,
    sentinel_tilt: 0,
    ...Object.fromEntries(
      names.map((name, at) => [`master${at}`, `name=${name},${told},sentinels=${sentinels}`]),
    ),
  };
}
