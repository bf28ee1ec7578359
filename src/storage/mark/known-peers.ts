/**
 * What is remembered of every peer that ever connected: the directories with which it came, and how
 * often the latest was opened. A peer that comes back with another directory has lost the one it
 * had, and a peer whose directory was opened less often has an old copy: neither may be taken for
 * the peer it was. All of it is in the mark, because a node that forgets it lets a wiped voter vote
 * again.
 *
 * Bytes, little-endian: for each peer, the one noted last at the end, node (4), incarnation (8),
 * number of births (4), births (8 each).
 */

import { readUint53, writeUint53 } from "../disk-bytes.js";
import type { NodeIdentity } from "../log-store.js";

export interface KnownPeer {
  /** The highest incarnation that was seen. */
  readonly incarnation: number;
  /** The births of the directories with which it came, the newest last; never empty. */
  readonly births: readonly string[];
}

/** By node id, in the order in which they were last noted. */
export type KnownPeers = ReadonlyMap<number, KnownPeer>;

/** What a hello says about the sender's directory. */
export type NotedPeer = Pick<NodeIdentity, "nodeId" | "birth" | "incarnation">;

/** Older births are forgotten: an operator has given up each of their directories. */
const BIRTHS_MAX = 64;
/** Room for 30 peers with that many births, or for 666 with one each. */
export const KNOWN_PEERS_BYTES_MAX = 16_000;
const HEADER_BYTES = 4 + 8 + 4;
const BIRTH_BYTES = 8;

/**
 * Adds what a peer came with; returns the same table if this incarnation or a higher one was noted
 * before. If there is no room, the peers noted longest ago are forgotten.
 */
export function withPeer(peers: KnownPeers, { nodeId, birth, incarnation }: NotedPeer): KnownPeers {
  const before = peers.get(nodeId);
  if (before !== undefined && before.incarnation >= incarnation) return peers;
  const former = before?.births ?? [];
  const births = former.at(-1) === birth ? former : [...former, birth].slice(-BIRTHS_MAX);
  const next = new Map(peers);
  next.delete(nodeId);
  next.set(nodeId, { incarnation, births });
  let bytes = 0;
  for (const known of next.values()) bytes += bytesOf(known);
  for (const [oldest, known] of next) {
    if (bytes <= KNOWN_PEERS_BYTES_MAX) break;
    next.delete(oldest);
    bytes -= bytesOf(known);
  }
  return next;
}

export function encodeKnownPeers(peers: KnownPeers): Buffer {
  let size = 0;
  for (const known of peers.values()) size += bytesOf(known);
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (const [nodeId, { incarnation, births }] of peers) {
    at = bytes.writeUInt32LE(nodeId, at);
    at = writeUint53(bytes, incarnation, at);
    at = bytes.writeUInt32LE(births.length, at);
    for (const birth of births) at += bytes.write(birth, at, BIRTH_BYTES, "hex");
  }
  return bytes;
}

/** `undefined` for what `encodeKnownPeers` cannot have made. */
export function decodeKnownPeers(bytes: Buffer): KnownPeers | undefined {
  const peers = new Map<number, KnownPeer>();
  let at = 0;
  while (at < bytes.length) {
    if (at + HEADER_BYTES > bytes.length) return undefined;
    const nodeId = bytes.readUInt32LE(at);
    const incarnation = readUint53(bytes, at + 4);
    const birthCount = bytes.readUInt32LE(at + 12);
    at += HEADER_BYTES;
    const end = at + birthCount * BIRTH_BYTES;
    if (birthCount === 0 || end > bytes.length || !Number.isSafeInteger(incarnation)) {
      return undefined;
    }
    const births: string[] = [];
    for (; at < end; at += BIRTH_BYTES) {
      births.push(bytes.toString("hex", at, at + BIRTH_BYTES));
    }
    peers.set(nodeId, { incarnation, births });
  }
  return peers;
}

function bytesOf({ births }: KnownPeer): number {
  return HEADER_BYTES + births.length * BIRTH_BYTES;
}
