/**
 * The links of one node to all its peers, over `ws` at the path `/peer`.
 *
 * Each node dials each other node and sends only on what it dialed, so every directed link is one
 * connection with one fate, and a fault in one direction shows as what it is. Epochs number the
 * connections this node dialed. They rise across restarts too, because the incarnation is in their
 * upper part: the answer to a request of an earlier life is never taken for one of this life.
 */
import { assert } from "../assert.js";
import type { NodeId } from "../raft/index.js";
import { PeerDirectory } from "./peer-directory.js";
import { PeerFramePool } from "./peer-frame.js";
import { IncomingLinks } from "./peer-incoming.js";
import { PEER_LINKS_DEFAULTS, type PeerLinksOptions, SILENT_TICKS_MAX } from "./peer-options.js";
import { type LinkContext, OutgoingLink } from "./peer-outgoing.js";
import { startTicker, type Ticker } from "./ticker.js";
import type { PeerEvents, PeerLinks, PeerMessage } from "./types.js";

/** Connections that one life of a node can number before the next life's numbers begin. */
const EPOCHS_PER_INCARNATION = 2 ** 20;

/** Creates the links; `start` listens and dials. `port` is the bound one, 0 before. */
export function createPeerLinks(options: PeerLinksOptions): PeerLinks & { readonly port: number } {
  return new PeerNetwork(options);
}

class PeerNetwork implements PeerLinks {
  port = 0;
  readonly #options: PeerLinksOptions;
  readonly #outgoing = new Map<NodeId, OutgoingLink>();
  #incoming: IncomingLinks | undefined;
  #ticker: Ticker | undefined;
  #lastEpoch: number;
  #isClosed = false;

  constructor(options: PeerLinksOptions) {
    const { incarnation, nodeId } = options.identity;
    assert(!options.peers.has(nodeId), () => `node ${nodeId} among its own peers`);
    this.#options = options;
    this.#lastEpoch = incarnation * EPOCHS_PER_INCARNATION;
    assert(Number.isSafeInteger(this.#lastEpoch), () => `incarnation ${incarnation}`);
  }

  async start(events: PeerEvents): Promise<void> {
    assert(this.#incoming === undefined, () => "peer links started twice");
    const { identity, listen, peers } = this.#options;
    const context: LinkContext = {
      directory: new PeerDirectory(identity, peers.keys(), (peer) => events.onPeerIdentity(peer)),
      events,
      tuning: { ...PEER_LINKS_DEFAULTS, ...this.#options },
      pool: new PeerFramePool(),
      nextEpoch: () => {
        this.#lastEpoch += 1;
        return this.#lastEpoch;
      },
    };
    const incoming = new IncomingLinks(context, (peer) => this.#outgoing.get(peer)?.dial());
    this.#incoming = incoming;
    this.port = await incoming.listen(listen);
    if (this.#isClosed) return;
    for (const [peer, address] of peers) {
      this.#outgoing.set(peer, new OutgoingLink(peer, address, context));
    }
    const { silenceTimeoutMs } = context.tuning;
    this.#ticker = startTicker(Math.max(10, silenceTimeoutMs / SILENT_TICKS_MAX), () => {
      for (const link of this.#outgoing.values()) link.tick();
      incoming.tick();
    });
    for (const link of this.#outgoing.values()) link.dial();
  }

  send(peer: NodeId, group: number, message: PeerMessage): void {
    this.#outgoing.get(peer)?.send(group, message);
  }

  flush(): void {
    for (const link of this.#outgoing.values()) link.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ticker?.stop();
    for (const link of this.#outgoing.values()) link.close();
    await this.#incoming?.close();
  }
}
