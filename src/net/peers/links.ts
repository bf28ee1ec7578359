/**
 * The links of one node to all its peers, over TCP or TLS.
 *
 * Each node dials each other node and sends only on links that it dialed. So every directed link is
 * one connection, and a fault in one direction affects only that direction. Epochs number the
 * connections that this node dialed. They rise across restarts too, because the incarnation is in
 * their upper part, so an answer to a request from before a restart is never taken for one from
 * after it.
 */
import { assert } from "../../errors/index.js";
import type { NodeId } from "../../raft/index.js";
import { boundedLog } from "../bounded-log.js";
import { startTicker, type Ticker } from "../ticker.js";
import type { HandshakeCounts } from "../tls/secure-port.js";
import { TrafficMeter } from "../traffic-meter.js";
import type { PeerAddress, PeerEvents, PeerLinks, PeerMessage, Traffic } from "../types.js";
import { PeerFramePool } from "./frame.js";
import { PEER_CLOSE } from "./hello.js";
import { IncomingLinks } from "./incoming.js";
import { PEER_LINKS_DEFAULTS, type PeerLinksOptions, SILENT_TICKS_MAX } from "./options.js";
import { type LinkContext, OutgoingLink } from "./outgoing.js";
import { PeerIdentities } from "./peer-identities.js";

/** The most connections that a node can number before the numbers of its next incarnation begin. */
const EPOCHS_PER_INCARNATION = 2 ** 20;

/** `port` is the bound port, 0 before `start`; `traffic` counts from the start, without hellos. */
export type StartablePeerLinks = PeerLinks & {
  readonly port: number;
  readonly traffic: Traffic;
  /** Counts of the links that other nodes dialed; `undefined` without TLS. */
  readonly handshakes: HandshakeCounts | undefined;
};

/** Creates the links; `start` listens and dials. */
export function createPeerLinks(options: PeerLinksOptions): StartablePeerLinks {
  return new PeerNetwork(options);
}

class PeerNetwork implements StartablePeerLinks {
  port = 0;
  readonly traffic = new TrafficMeter();
  readonly #options: PeerLinksOptions;
  #peers: ReadonlyMap<NodeId, PeerAddress> = new Map();
  /** Set by `start`. */
  #context: LinkContext | undefined;
  #incoming: IncomingLinks | undefined;
  /** One for each of `#peers` while this node listens; empty before and after. */
  readonly #outgoing = new Map<NodeId, OutgoingLink>();
  #isListening = false;
  #ticker: Ticker | undefined;
  #forgetTls: (() => void) | undefined;
  #lastEpoch: number;
  #isClosed = false;

  constructor(options: PeerLinksOptions) {
    const { incarnation } = options.identity;
    this.#options = options;
    this.#lastEpoch = incarnation * EPOCHS_PER_INCARNATION;
    assert(Number.isSafeInteger(this.#lastEpoch), () => `incarnation ${incarnation}`);
    this.setPeers(options.peers);
  }

  async start(events: PeerEvents): Promise<void> {
    assert(this.#context === undefined, () => "peer links started twice");
    const { identity, listen, knownPeers, tls } = this.#options;
    const identities = new PeerIdentities(identity, this.#peers.keys(), knownPeers, (peer) => {
      this.#incoming?.endOther(peer);
      events.onPeerIdentity(peer);
    });
    const context: LinkContext = {
      identities,
      events,
      log: boundedLog((reason) => events.onRefused(reason)),
      tls,
      tuning: { ...PEER_LINKS_DEFAULTS, ...this.#options },
      pool: new PeerFramePool(),
      meter: this.traffic,
      nextEpoch: () => {
        this.#lastEpoch += 1;
        return this.#lastEpoch;
      },
    };
    this.#context = context;
    const incoming = new IncomingLinks(
      context,
      (peer) => this.#outgoing.get(peer)?.dial(),
      (network) => this.#isOfMember(network),
    );
    this.#incoming = incoming;
    this.port = await incoming.listen(listen);
    if (this.#isClosed) return;
    this.#isListening = true;
    const { silenceTimeoutMs } = context.tuning;
    this.#ticker = startTicker(Math.max(10, silenceTimeoutMs / SILENT_TICKS_MAX), () => {
      for (const link of this.#outgoing.values()) link.tick();
      incoming.tick();
    });
    this.#forgetTls = tls?.onReplaced(() => {
      for (const link of this.#outgoing.values()) link.recheck();
    });
    this.#dialNew(context);
  }

  get handshakes(): HandshakeCounts | undefined {
    return this.#incoming?.handshakes;
  }

  setPeers(peers: ReadonlyMap<NodeId, PeerAddress>): void {
    const { nodeId } = this.#options.identity;
    assert(!peers.has(nodeId), () => `node ${nodeId} among its own peers`);
    this.#peers = new Map(peers);
    const context = this.#context;
    if (context === undefined || this.#isClosed) return;
    context.identities.setMembers(peers.keys());
    this.#incoming?.endRemoved();
    this.#endOld();
    if (this.#isListening) this.#dialNew(context);
  }

  send(peer: NodeId, group: number, message: PeerMessage): void {
    this.#outgoing.get(peer)?.send(group, message);
  }

  flush(): void {
    for (const link of this.#outgoing.values()) link.flush();
  }

  bufferedBytes(peer: NodeId): number {
    return this.#outgoing.get(peer)?.bufferedBytes ?? 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ticker?.stop();
    this.#forgetTls?.();
    for (const link of this.#outgoing.values()) link.close(PEER_CLOSE.goingAway, "stopping");
    await this.#incoming?.close();
  }

  /** Ends links to nodes that are no longer peers, or have another address now. */
  #endOld(): void {
    for (const [peer, link] of [...this.#outgoing]) {
      const address = this.#peers.get(peer);
      if (address !== undefined && isSameAddress(address, link.address)) continue;
      this.#outgoing.delete(peer);
      if (address === undefined) link.end(PEER_CLOSE.removed, "no longer a member");
      else link.end(PEER_CLOSE.replaced, "the peer has another address now");
    }
  }

  #isOfMember(network: string): boolean {
    for (const link of this.#outgoing.values()) if (link.network === network) return true;
    return false;
  }

  #dialNew(context: LinkContext): void {
    for (const [peer, address] of this.#peers) {
      if (this.#outgoing.has(peer)) continue;
      const link = new OutgoingLink(peer, address, context);
      this.#outgoing.set(peer, link);
      link.dial();
    }
  }
}

function isSameAddress(left: PeerAddress, right: PeerAddress): boolean {
  return left.host === right.host && left.port === right.port;
}
