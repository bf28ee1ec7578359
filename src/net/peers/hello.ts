/**
 * The first frame of a peer link in each direction: the sender, and the node it expects to reach.
 *
 * hello = version of the model u16, CRC-32 of the rest u32, `peerHello`
 *
 * A hello is not a proof of identity: anyone who reads the traffic can send the
 * same bytes. A refusal never reveals anything about the cluster to the other side.
 */
import { MODEL_VERSION } from "../../protocol/index.js";
import { NODE_ORIGINS, type NodeId } from "../../raft/index.js";
import type { PeerIdentity } from "../types.js";
import { PeerFrame } from "./frame.js";
import { openFrame, PeerFrameError } from "./frame-cursor.js";
import { HELLO_BYTES_MAX } from "./link-frame.js";
import { type PeerFields, type PeerLayout, UNREAD } from "./peer-fields.js";

/** Where the version of the model stands, which is all that comes before the checksum. */
export const HELLO_VERSION_AT = 0;
const PREFIX_BYTES = 2;
/** The most bytes of each address. */
const ADDRESS_BYTES_MAX = 1_024;

/** Close codes of a refused or abandoned link; 1001 and 1002 have their meaning in RFC 6455. */
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

function nodeId(io: PeerFields, of: NodeId): NodeId {
  const id = io.uint32(of);
  io.demand(id !== 0, "node id 0");
  return id;
}

const peerIdentity: PeerLayout<PeerIdentity> = (io, of) => ({
  nodeId: nodeId(io, of.nodeId),
  clusterId: io.hex(of.clusterId, 16),
  birth: io.hex(of.birth, 8),
  origin: io.oneOf(of.origin, NODE_ORIGINS),
  incarnation: io.uint64(of.incarnation),
  advertise: io.ascii(of.advertise, ADDRESS_BYTES_MAX),
  redisAddress: io.ascii(of.redisAddress ?? "", ADDRESS_BYTES_MAX) || undefined,
});
export const peerHello: PeerLayout<PeerHello> = (io, of) => ({
  identity: io.part(of.identity, peerIdentity),
  expectedId: nodeId(io, of.expectedId),
});

export function encodeHello(identity: PeerIdentity, expectedId: NodeId): Uint8Array {
  const frame = new PeerFrame(HELLO_BYTES_MAX);
  peerHello(frame, { identity, expectedId });
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt16BE(MODEL_VERSION, HELLO_VERSION_AT);
  return Buffer.concat([prefix, frame.finish()]);
}

/** Decodes a hello. Returns the hello or a refusal for any input. */
export function decodeHello(data: Uint8Array): PeerHello | HelloRefusal {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < PREFIX_BYTES) {
    return refusal(PEER_CLOSE.badFrame, "malformed peer hello: cut short");
  }
  const version = bytes.readUInt16BE(HELLO_VERSION_AT);
  if (version !== MODEL_VERSION) {
    const reason =
      `the hello has version ${version}, this node speaks ${MODEL_VERSION}: ` +
      "run one version of Holdfast on all nodes";
    return refusal(PEER_CLOSE.version, reason);
  }
  try {
    const body = openFrame(bytes.subarray(PREFIX_BYTES), 0, 0);
    const hello = peerHello(body, UNREAD);
    body.finish();
    return hello;
  } catch (error) {
    if (!(error instanceof PeerFrameError)) throw error;
    const code = error.isDamaged ? PEER_CLOSE.damaged : PEER_CLOSE.badFrame;
    return refusal(code, `malformed peer hello: ${error.message}`);
  }
}

/**
 * Makes a refusal. Without a `detail`, `reason` must contain only facts that the other side has
 * stated itself, because both then get the same text.
 */
export function refusal(code: PeerCloseCode, reason: string, detail = reason): HelloRefusal {
  return { code, reason, detail };
}
