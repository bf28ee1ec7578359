/**
 * SENTINEL, answered by every node, so that clients find the cluster by several addresses. All nodes
 * name the same one as the master: the leader, or none while nobody leads. The cluster is known under
 * its own name, and under the name that the examples of Redis use.
 */
import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { ConnectionState } from "../connection-state.js";
import { notSignedIn, RefusedCommand } from "../refusals.js";
import { type MapReply, NULL_ARRAY, OK, type RespReply } from "../resp/index.js";
import { type NamedAddress, namedMaster, namesOf, splitAddress } from "../sentinel.js";
import { type DoorCommand, wordOf } from "./command.js";

export const SENTINEL_COMMANDS: readonly DoorCommand[] = [
  { name: "SENTINEL", least: 1, run: (connection, args) => sentinel(connection, args) },
];

function sentinel(
  connection: ConnectionState,
  [subcommand, ...args]: readonly Buffer[],
): RespReply {
  if (connection.isStranger) throw notSignedIn();
  const word = wordOf(subcommand);
  if (word === "MYID") return runIdOf(connection.node.id);
  if (word === "MASTERS") {
    const master = namedMaster(connection.node);
    return master === undefined
      ? []
      : namesOf(connection.node).map((name) => state(connection, name, master));
  }
  const name = args[0]?.toString("utf8") ?? "";
  const isKnown = namesOf(connection.node).includes(name);
  switch (word) {
    case "GET-MASTER-ADDR-BY-NAME": {
      const master = isKnown ? namedMaster(connection.node) : undefined;
      return master === undefined ? NULL_ARRAY : [master.host, String(master.port)];
    }
    case "MASTER": {
      const master = namedMaster(connection.node);
      if (!isKnown || master === undefined) throw noSuchMaster();
      return state(connection, name, master);
    }
    case "SENTINELS":
      if (!isKnown) throw noSuchMaster();
      return otherSentinels(connection);
    case "REPLICAS":
    case "SLAVES":
      if (!isKnown) throw noSuchMaster();
      return [];
    case "CKQUORUM":
      if (!isKnown) throw noSuchMaster();
      if (namedMaster(connection.node) === undefined) {
        throw new RefusedCommand("no node leads that a quorum can reach", "NOQUORUM");
      }
      return { status: `OK ${connection.node.redisAddresses.size} usable Sentinels` };
    case "RESET":
    case "FLUSHCONFIG":
      return OK;
    default:
      throw new RefusedCommand(
        `SENTINEL ${word.slice(0, 64)} is not answered: members are changed by holdfast member`,
      );
  }
}

function noSuchMaster(): RefusedCommand {
  return new RefusedCommand("No such master with that name", "ERR");
}

function state(
  { node }: ConnectionState,
  name: string,
  { id, host, port }: NamedAddress,
): MapReply {
  return {
    map: [
      ["name", name],
      ["ip", host],
      ["port", String(port)],
      ["runid", runIdOf(id)],
      ["flags", "master"],
      ["link-pending-commands", "0"],
      ["link-refcount", "1"],
      ["last-ping-sent", "0"],
      ["last-ok-ping-reply", "0"],
      ["last-ping-reply", "0"],
      ["down-after-milliseconds", String(node.electionTimeoutMs)],
      ["info-refresh", "0"],
      ["role-reported", "master"],
      ["role-reported-time", "0"],
      ["config-epoch", "0"],
      ["num-slaves", "0"],
      ["num-other-sentinels", String(node.redisAddresses.size - 1)],
      ["quorum", String(Math.floor(node.redisAddresses.size / 2) + 1)],
      ["failover-timeout", String(node.electionTimeoutMs)],
      ["parallel-syncs", "1"],
    ],
  };
}

/** The sentinels of the same kind of port: each node answers as a sentinel at both. */
function otherSentinels({ node, rules }: ConnectionState): MapReply[] {
  const addresses = rules.isSentinel ? node.sentinelAddresses : node.redisAddresses;
  const others = [...addresses].filter(([id]) => id !== node.id);
  return others.flatMap(([id, address]) => {
    const place = splitAddress(address);
    if (place === undefined) return [];
    return {
      map: [
        ["name", runIdOf(id)],
        ["ip", place.host],
        ["port", String(place.port)],
        ["runid", runIdOf(id)],
        ["flags", "sentinel"],
        ["last-ok-ping-reply", "0"],
        ["last-hello-message", "0"],
        ["voted-leader", "?"],
        ["voted-leader-epoch", "0"],
      ],
    };
  });
}

/** 40 hex digits, the same from every node. */
function runIdOf(id: number): string {
  return createHash("sha1").update(`holdfast node ${id}`).digest("hex");
}
