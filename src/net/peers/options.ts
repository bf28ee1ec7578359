/**
 * The options of the links between nodes: one line per field, one frozen object of defaults.
 */
import type { NodeId } from "../../raft/index.js";
import type { ListenAddress } from "../listen.js";
import type { TransportTls } from "../tls/transport.js";
import type { KnownPeer, PeerAddress, PeerIdentity } from "../types.js";

export interface PeerLinksOptions extends Partial<PeerLinksTuning> {
  readonly identity: PeerIdentity;
  /** Where peers connect. Port 0 picks a free one. */
  readonly listen: ListenAddress;
  /** `undefined`: links are in plain text, and a hello proves nothing. */
  readonly tls?: TransportTls | undefined;
  /** Every other member, with the address at which this node dials it; `setPeers` changes it. */
  readonly peers: ReadonlyMap<NodeId, PeerAddress>;
  /**
   * Every node ever seen, removed ones included: a process with an older incarnation of such a
   * node, or with another directory, is refused even if this node or the other has restarted since.
   */
  readonly knownPeers: ReadonlyMap<NodeId, KnownPeer>;
}

export interface PeerLinksTuning {
  /**
   * A link on which nothing was heard for this long, not even the answer to a ping, is given up.
   */
  readonly silenceTimeoutMs: number;
  /** How long an attempt to connect may take. */
  readonly dialTimeoutMs: number;
  /** Least and longest pause before dialing again; in between it doubles, with jitter. */
  readonly redialMinMs: number;
  readonly redialMaxMs: number;
  /** Pause after a refusal: an operator must act before another attempt can succeed. */
  readonly refusedRedialMs: number;
  /** A link is given up when the messages waiting on it occupy more bytes of memory than this. */
  readonly bufferedBytesMax: number;
  /** Incoming connections that have not sent a hello yet, or are being closed. */
  readonly strangersMax: number;
  /** How long a close handshake may take. */
  readonly closeGraceMs: number;
}

export const PEER_LINKS_DEFAULTS: PeerLinksTuning = Object.freeze({
  silenceTimeoutMs: 3_000,
  dialTimeoutMs: 2_000,
  redialMinMs: 20,
  redialMaxMs: 500,
  refusedRedialMs: 5_000,
  bufferedBytesMax: 64 << 20,
  strangersMax: 64,
  closeGraceMs: 500,
});

/** Ticks of silence after which a link is given up; the interval of a tick follows from it. */
export const SILENT_TICKS_MAX = 4;
