/** Links of one node on loopback with everything they report on record. */
import { createPeerLinks, type PeerLinksTuning, type PeerMessage } from "../../../src/net/index.js";
import type { TransportTls } from "../../../src/net/tls/transport.js";
import type { KnownPeer, PeerIdentity } from "../../../src/net/types.js";
import { Recorder } from "../recorder.js";

export type Happening =
  | { readonly on: "up"; readonly peer: number; readonly epoch: number }
  | {
      readonly on: "down";
      readonly peer: number;
      readonly epoch: number;
      readonly closed: boolean;
    }
  | {
      readonly on: "message";
      readonly peer: number;
      readonly group: number;
      readonly message: PeerMessage;
    }
  | { readonly on: "identity"; readonly identity: PeerIdentity }
  | { readonly on: "refused"; readonly reason: string };

export const CLUSTER = "00112233445566778899aabbccddeeff";

/** The birth of the directory that a node has unless a test gives it another. */
export function birthOf(id: number): string {
  return `${id}`.padStart(16, "b");
}

export interface PeerNodeOptions {
  readonly id: number;
  readonly port?: number;
  readonly peers: ReadonlyMap<number, { host: string; port: number }>;
  readonly identity?: Partial<PeerIdentity>;
  readonly knownPeers?: ReadonlyMap<number, KnownPeer>;
  readonly tuning?: Partial<PeerLinksTuning>;
  readonly tls?: TransportTls;
}

export class PeerNode {
  readonly links: ReturnType<typeof createPeerLinks>;
  readonly record = new Recorder<Happening>();
  readonly identity: PeerIdentity;

  constructor(options: PeerNodeOptions) {
    const { id } = options;
    const advertise = `ws://127.0.0.1:${7410 + id}`;
    this.identity = {
      nodeId: id,
      clusterId: CLUSTER,
      birth: birthOf(id),
      origin: "initial",
      incarnation: 1,
      advertise,
      ...options.identity,
    };
    this.links = createPeerLinks({
      identity: this.identity,
      listen: { host: "127.0.0.1", port: options.port ?? 0 },
      peers: options.peers,
      knownPeers: options.knownPeers ?? new Map(),
      closeGraceMs: 100,
      tls: options.tls,
      ...options.tuning,
    });
  }

  async start(): Promise<this> {
    const { record } = this;
    await this.links.start({
      onUp: (peer, epoch) => record.push({ on: "up", peer, epoch }),
      onDown: (peer, epoch, closed) => record.push({ on: "down", peer, epoch, closed }),
      onMessage: (peer, group, message) => record.push({ on: "message", peer, group, message }),
      onPeerIdentity: (identity) => record.push({ on: "identity", identity }),
      onRefused: (reason) => record.push({ on: "refused", reason }),
    });
    return this;
  }

  async up(peer: number, from = 0): Promise<number> {
    const found = await this.record.find((event) => event.on === "up" && event.peer === peer, from);
    return found.on === "up" ? found.epoch : 0;
  }

  async down(peer: number): Promise<{ epoch: number; closed: boolean }> {
    const found = await this.record.find((event) => event.on === "down" && event.peer === peer);
    return found as { epoch: number; closed: boolean };
  }

  async refusal(): Promise<string> {
    const found = await this.record.find((event) => event.on === "refused");
    return found.on === "refused" ? found.reason : "";
  }

  /** The first `count` messages that arrived here from `peer`. */
  async messages(peer: number, count: number): Promise<{ group: number; message: PeerMessage }[]> {
    const here = (all: readonly Happening[]): Extract<Happening, { on: "message" }>[] =>
      all.filter((event) => event.on === "message").filter((event) => event.peer === peer);
    await this.record.until((all) => here(all).length >= count);
    return here(this.record.all).map(({ group, message }) => ({ group, message }));
  }
}

export const loopback = (port: number): { host: string; port: number } => ({
  host: "127.0.0.1",
  port,
});
