/**
 * The first message of a peer link in each direction: the sender, and the node it expects to reach.
 *
 * hello = magic "HFPL", version of the model u16, clusterId 16 bytes, nodeId u32, expectedId u32,
 *         incarnation u64, birth 8 bytes, origin u8 (0 initial, 1 joined),
 *         lengths of the next two u16 and u16, advertise and Redis address (printable ASCII),
 *         CRC-32 of all that u32   (big endian)
 *
 * Magic and version come first and never move, so that any two releases can at least explain why
 * they do not talk. A hello is not a proof of identity: anyone who reads the traffic can send the
 * same bytes. A refusal never reveals anything about the cluster to the other side.
 */
import { crc32 } from "node:zlib";
import { assert } from "../../errors/index.js";
import { MODEL_VERSION } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import type { PeerIdentity } from "../types.js";

/**
 * The subprotocol that the dialing side offers and must get back. A web page that offers it is
 * refused by its origin.
 */
export const PEER_SUBPROTOCOL = "holdfast-peer.v1";
export const HELLO_BYTES_MAX = 2_048;
const ADVERTISE_BYTES_MAX = 1_024;
const REDIS_BYTES_MAX = 1_024;
const MAGIC = 0x4846504c;
const FIXED_BYTES = 51;
const CHECKSUM_BYTES = 4;
const ORIGINS: readonly PeerIdentity["origin"][] = ["initial", "joined"];
/** Both addresses are passed unchanged into logs and to clients. */
const PRINTABLE = /^[!-~]*$/;

/** Close codes of a refused or abandoned link; 1001 and 1002 keep their RFC 6455 meaning. */
export const PEER_CLOSE = {
  goingAway: 1001,
  badFrame: 1002,
  version: 4001,
  wrongCluster: 4002,
  wrongNode: 4003,
  ownId: 4004,
  notAMember: 4005,
  staleIncarnation: 4006,
  replaced: 4007,
  silent: 4008,
  removed: 4009,
  otherDirectory: 4010,
  damaged: 4011,
  unproven: 4012,
  farIncarnation: 4013,
  certificate: 4014,
} as const;
export type PeerCloseCode = (typeof PEER_CLOSE)[keyof typeof PEER_CLOSE];

export interface PeerHello {
  readonly identity: PeerIdentity;
  /** The node that the sender wants to reach. */
  readonly expectedId: NodeId;
}

/** Why a link is refused. */
export interface HelloRefusal {
  readonly code: PeerCloseCode;
  /** For the other side, which can be anyone: no id, address or number of this cluster. */
  readonly reason: string;
  /** For the log of this node. */
  readonly detail: string;
  /** Set if the claim would be believed once this node has dialed that node. */
  readonly unproven?: NodeId;
}

export function encodeHello(identity: PeerIdentity, expectedId: NodeId): Uint8Array {
  const { redisAddress = "" } = identity;
  assert(PRINTABLE.test(identity.advertise), () => `endpoint ${identity.advertise}`);
  assert(PRINTABLE.test(redisAddress), () => `address ${redisAddress}`);
  const advertise = Buffer.from(identity.advertise, "latin1");
  const redis = Buffer.from(redisAddress, "latin1");
  const cluster = Buffer.from(identity.clusterId, "hex");
  const birth = Buffer.from(identity.birth, "hex");
  assert(cluster.length === 16, () => `cluster id ${identity.clusterId}`);
  assert(birth.length === 8, () => `birth ${identity.birth}`);
  assert(advertise.length <= ADVERTISE_BYTES_MAX, () => `endpoint of ${advertise.length} bytes`);
  assert(redis.length <= REDIS_BYTES_MAX, () => `address of ${redis.length} bytes`);
  const end = FIXED_BYTES + advertise.length + redis.length;
  const bytes = Buffer.alloc(end + CHECKSUM_BYTES);
  bytes.writeUInt32BE(MAGIC, 0);
  bytes.writeUInt16BE(MODEL_VERSION, 4);
  cluster.copy(bytes, 6);
  bytes.writeUInt32BE(identity.nodeId, 22);
  bytes.writeUInt32BE(expectedId, 26);
  bytes.writeBigUInt64BE(BigInt(identity.incarnation), 30);
  birth.copy(bytes, 38);
  bytes.writeUInt8(ORIGINS.indexOf(identity.origin), 46);
  bytes.writeUInt16BE(advertise.length, 47);
  bytes.writeUInt16BE(redis.length, 49);
  advertise.copy(bytes, FIXED_BYTES);
  redis.copy(bytes, FIXED_BYTES + advertise.length);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, end)), end);
  return bytes;
}

/** Decodes a hello. Returns the hello or a refusal for any input. */
export function decodeHello(data: Uint8Array): PeerHello | HelloRefusal {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < 6 || bytes.readUInt32BE(0) !== MAGIC) {
    return refusal(PEER_CLOSE.badFrame, "the first message is not a peer hello");
  }
  const version = bytes.readUInt16BE(4);
  if (version !== MODEL_VERSION) {
    const reason =
      `the hello has version ${version}, this node speaks ${MODEL_VERSION}: ` +
      "run one version of Holdfast on all nodes";
    return refusal(PEER_CLOSE.version, reason);
  }
  const end = bytes.length - CHECKSUM_BYTES;
  if (end < FIXED_BYTES) return malformed(`${bytes.length} bytes`);
  if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(0, end))) {
    return refusal(PEER_CLOSE.damaged, "the checksum of the peer hello is wrong");
  }
  const nodeId = bytes.readUInt32BE(22);
  const expectedId = bytes.readUInt32BE(26);
  const incarnation = Number(bytes.readBigUInt64BE(30));
  const birth = bytes.toString("hex", 38, 46);
  const origin = ORIGINS[bytes.readUInt8(46)];
  const advertiseBytes = bytes.readUInt16BE(47);
  const redisBytes = bytes.readUInt16BE(49);
  if (nodeId === 0 || expectedId === 0) return malformed("node id 0");
  if (!Number.isSafeInteger(incarnation)) return malformed("incarnation beyond 2^53");
  if (origin === undefined) return malformed(`origin ${bytes.readUInt8(46)}`);
  const isTooLong = advertiseBytes > ADVERTISE_BYTES_MAX || redisBytes > REDIS_BYTES_MAX;
  if (isTooLong || end !== FIXED_BYTES + advertiseBytes + redisBytes) {
    return malformed(`addresses of ${advertiseBytes} + ${redisBytes} bytes in ${bytes.length}`);
  }
  const clusterId = bytes.toString("hex", 6, 22);
  const advertise = bytes.toString("latin1", FIXED_BYTES, FIXED_BYTES + advertiseBytes);
  const redisAddress = bytes.toString("latin1", FIXED_BYTES + advertiseBytes, end);
  if (!PRINTABLE.test(advertise)) return malformed("endpoint with unprintable characters");
  if (!PRINTABLE.test(redisAddress)) return malformed("address with unprintable characters");
  const redis = redisAddress === "" ? {} : { redisAddress };
  const identity = { nodeId, clusterId, birth, origin, incarnation, advertise, ...redis };
  return { identity, expectedId };
}

function malformed(what: string): HelloRefusal {
  return refusal(PEER_CLOSE.badFrame, `malformed peer hello: ${what}`);
}

/**
 * Makes a refusal. Without a `detail`, `reason` must contain only facts that the other side has
 * stated itself, because both then get the same text.
 */
export function refusal(code: PeerCloseCode, reason: string, detail = reason): HelloRefusal {
  return { code, reason, detail };
}
