/** All peers, by their names on the command line and in the results. */
import { httpDoor, redisDoor, redlockDoor } from "./door-peer.js";
import { etcd } from "./etcd/etcd-peer.js";
import { hazelcast } from "./hazelcast/hazelcast-peer.js";
import type { PeerKind, PeerName } from "./peer.js";
import { postgresAdvisory, postgresTable } from "./postgres-peer.js";
import { redis, redisAof, redlock, redlockClient } from "./redis/redis-peer.js";
import { zookeeper } from "./zookeeper/zookeeper-peer.js";

export const PEERS: Readonly<Record<PeerName, PeerKind>> = {
  redis,
  "redis-aof": redisAof,
  redlock,
  "redlock-client": redlockClient,
  "redis-door": redisDoor,
  "redlock-door": redlockDoor,
  "http-door": httpDoor,
  etcd,
  zookeeper,
  hazelcast,
  "postgres-advisory": postgresAdvisory,
  "postgres-table": postgresTable,
};
