/**
 * The reports of the links to peers, taken in between two turns of the loop: messages are queued,
 * connections are noted. The core is not stepped and nothing is answered here.
 */
import type { PeerEvents, PeerIdentity, PeerMessage } from "../../net/index.js";
import type { NodeEndpoint } from "../../protocol/index.js";
import type { Input, NodeId } from "../../raft/index.js";
import type { NodeLogger } from "../ports.js";
import type { NodeTimes } from "../vitals/node-times.js";
import type { DriverOptions } from "./driver-ports.js";
import type { LeaderView } from "./leader-view.js";

/** Messages between drivers, unlike those between their cores. */
export type DriverMessage = Exclude<PeerMessage, { readonly type: "raft" }>;

export interface PeerInput {
  readonly peer: NodeId;
  readonly message: DriverMessage;
}

export class PeerSide implements PeerEvents {
  readonly #group: number;
  readonly #times: NodeTimes;
  readonly #leaderView: LeaderView;
  readonly #logger: NodeLogger;
  readonly #wake: () => void;
  readonly #notePeer: (peer: PeerIdentity) => void;
  /** Endpoints of the peers that this process has had connections with. */
  readonly #endpoints = new Map<NodeId, NodeEndpoint>();
  /** Where the same peers serve Redis clients. */
  readonly #redisAddresses = new Map<NodeId, string>();
  /** Incarnations of all peers that ever connected. */
  readonly #incarnations = new Map<NodeId, number>();
  #hasNewEndpoints = false;
  #inputs: Input[] = [];
  #driverInputs: PeerInput[] = [];

  constructor(
    { group, knownPeers }: Pick<DriverOptions, "group" | "knownPeers">,
    leaderView: LeaderView,
    logger: NodeLogger,
    wake: () => void,
    notePeer: (peer: PeerIdentity) => void,
    times: NodeTimes,
  ) {
    this.#times = times;
    this.#group = group;
    for (const [id, { incarnation }] of knownPeers) this.#incarnations.set(id, incarnation);
    this.#leaderView = leaderView;
    this.#logger = logger;
    this.#wake = wake;
    this.#notePeer = notePeer;
  }

  /** The endpoints that the peers seen so far give to clients. */
  get endpoints(): NodeEndpoint[] {
    return [...this.#endpoints.values()];
  }

  /** Where clients reach that peer; "" before it has connected. */
  endpointOf(peer: NodeId): string {
    return this.#endpoints.get(peer)?.endpoint ?? "";
  }

  /** Where that peer serves Redis clients; `undefined` if it does not, or has not connected yet. */
  redisAddressOf(peer: NodeId): string | undefined {
    return this.#redisAddresses.get(peer);
  }

  /** The highest known incarnation of each peer. */
  get incarnations(): ReadonlyMap<NodeId, number> {
    return this.#incarnations;
  }

  /** An input for the core, in order of arrival. The log adds `persisted`. */
  push(input: Input): void {
    this.#inputs.push(input);
    this.#wake();
  }

  takeInputs(): readonly Input[] {
    const inputs = this.#inputs;
    if (inputs.length > 0) this.#inputs = [];
    return inputs;
  }

  takeDriverInputs(): readonly PeerInput[] {
    const inputs = this.#driverInputs;
    if (inputs.length > 0) this.#driverInputs = [];
    return inputs;
  }

  onUp(peer: NodeId, epoch: number): void {
    this.#logger("info", "peer link up", { peer });
    this.#times.onHeard(peer);
    this.#leaderView.onLinkUp(peer, epoch);
    this.push({ type: "peerUp", peer, epoch });
  }

  onDown(peer: NodeId, epoch: number, closed: boolean): void {
    this.#logger("info", "peer link down", { peer, closed });
    if (closed) this.#times.onHeard(peer);
    this.#leaderView.onLinkDown(peer, epoch);
    this.push({ type: "peerDown", peer, epoch, closed });
  }

  onRoundTrip(peer: NodeId, tookMs: number): void {
    this.#times.onRoundTrip(peer, tookMs);
  }

  onMessage(peer: NodeId, group: number, message: PeerMessage): void {
    if (group !== this.#group) return;
    if (message.type === "raft") {
      this.push({ type: "message", message: message.message });
      return;
    }
    this.#driverInputs.push({ peer, message });
    this.#wake();
  }

  onPeerIdentity(identity: PeerIdentity): void {
    const { nodeId, advertise, incarnation, redisAddress } = identity;
    this.#notePeer(identity);
    if (redisAddress === undefined) this.#redisAddresses.delete(nodeId);
    else this.#redisAddresses.set(nodeId, redisAddress);
    const before = this.#endpoints.get(nodeId);
    this.#endpoints.set(nodeId, { id: nodeId, endpoint: advertise });
    this.#incarnations.set(nodeId, incarnation);
    if (before?.endpoint === advertise) return;
    this.#hasNewEndpoints = true;
    this.#wake();
  }

  /** Whether clients should hear of a new endpoint that came since the last call. */
  takeNewEndpoints(): boolean {
    const hasNew = this.#hasNewEndpoints;
    this.#hasNewEndpoints = false;
    return hasNew;
  }

  onRefused(reason: string): void {
    this.#logger("warn", "peer link refused", { reason });
  }
}
