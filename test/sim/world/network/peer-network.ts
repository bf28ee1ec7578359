/**
 * The links between nodes, as `src/net` has them on TCP: each node dials each other and sends only
 * on what it dialed. A link that stands delivers in order. A process that dies has its connections
 * closed by its system, which the others notice at once where the way is open; behind a cut, or of a
 * process that stands still, they notice only the silence. A reset loses what is under way. While
 * `disorder` is above 0, a box in between passes some frames on twice or late.
 */

import type { RandomStream, RandomStreams } from "../../../../lab/random-stream.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { PeerEvents, PeerLinks, PeerMessage } from "../../../../src/net/index.js";
import type { KnownPeers } from "../../../../src/net/peers/known-peers.js";
import type { Simulation } from "../../engine/simulation.js";
import type { CrashKind } from "../disk/node-disk.js";
import { refusalOfHello, type Speaker } from "./hello.js";
import { MiddleBox } from "./middle-box.js";
import type { Paths } from "./paths.js";
import { Wire } from "./wire.js";

const REDIAL_MS = 15;

interface Batch {
  readonly group: number;
  readonly message: PeerMessage;
}

/** A process on the network. */
interface Station extends Speaker {
  readonly life: ProcessLife;
  readonly events: PeerEvents;
  /** On which data each other node ever came. */
  readonly known: KnownPeers;
  /** Whom it dials and lets in. */
  peers: ReadonlySet<number>;
}

interface Link {
  readonly from: number;
  readonly to: number;
  /** For the box in between. */
  readonly random: RandomStream;
  /** 0 while down. */
  epoch: number;
  wire: Wire<readonly Batch[]> | undefined;
  outbox: Batch[];
  isDialing: boolean;
}

export interface PeerNetworkHooks {
  /** A message leaves a node. */
  onSend(from: number, to: number, message: PeerMessage): void;
}

export class PeerNetwork {
  /** The share of the frames between nodes that are passed on twice or late; 0 … 1. */
  disorder = 0;
  readonly #simulation: Simulation;
  readonly #paths: Paths;
  readonly #silenceMs: number;
  readonly #hooks: PeerNetworkHooks;
  readonly #links: Link[] = [];
  /** By the node that dials. */
  readonly #dialed = new Map<number, Map<number, Link>>();
  readonly #stations = new Map<number, Station>();
  #lastEpoch = 0;

  constructor(
    simulation: Simulation,
    streams: RandomStreams,
    paths: Paths,
    ids: readonly number[],
    silenceMs: number,
    hooks: PeerNetworkHooks,
  ) {
    this.#simulation = simulation;
    this.#paths = paths;
    this.#silenceMs = silenceMs;
    this.#hooks = hooks;
    for (const from of ids) {
      for (const to of ids) {
        if (from === to) continue;
        const down = { epoch: 0, wire: undefined, outbox: [], isDialing: false };
        const link = { from, to, random: streams.of(`box ${from} ${to}`), ...down };
        this.#links.push(link);
        this.#linksFrom(from).set(to, link);
      }
    }
    paths.onChange((from, to, isOpen) => this.#onPath(from, to, isOpen));
  }

  /** What a process of node `id` is given. */
  linksOf(id: number, life: ProcessLife): Pick<PeerLinks, "send" | "flush" | "bufferedBytes"> {
    return {
      send: (to, group, message) => {
        const link = this.#link(id, to);
        if (link === undefined || link.epoch === 0 || !life.isAlive) return;
        link.outbox.push({ group, message });
      },
      flush: () => {
        for (const link of this.#linksFrom(id).values()) {
          if (link.outbox.length > 0 && life.mayAct()) this.#flush(link);
        }
      },
      bufferedBytes: (to) => this.#link(id, to)?.wire?.stalledCount ?? 0,
    };
  }

  join(station: Station): void {
    const id = station.identity.nodeId;
    this.#stations.set(id, station);
    for (const link of this.#links) if (link.from === id || link.to === id) this.#dial(link);
  }

  /** From now on a process of `id` dials and lets in exactly these. */
  setPeers(id: number, life: ProcessLife, peers: ReadonlySet<number>): void {
    const station = this.#stations.get(id);
    if (station === undefined || station.life !== life) return;
    station.peers = peers;
    for (const link of this.#links) {
      if (link.from === id && !peers.has(link.to)) this.#drop(link, false);
      else if (link.to === id && !peers.has(link.from)) this.#drop(link, true);
      else if (link.from === id || link.to === id) this.#dial(link);
    }
  }

  /** The process of `id` ended. A killed one's system still sends what it had taken over. */
  leave(id: number, kind: CrashKind): void {
    if (!this.#stations.delete(id)) return;
    for (const link of this.#links) {
      if (link.from === id) this.#forget(link, kind === "power");
      else if (link.to !== id || link.epoch === 0) continue;
      else if (kind === "kill" && this.#paths.isOpen(id, link.from)) this.#drop(link, true);
      else this.#dropAfterSilence(link);
    }
  }

  /** The process of `id` stands still: nobody answers for it. */
  onPaused(id: number): void {
    for (const link of this.#links) if (link.to === id) this.#dropAfterSilence(link);
  }

  /** Ends one connection as a middle box does; a new one is made. */
  reset(from: number, to: number): void {
    const link = this.#link(from, to);
    if (link === undefined || link.epoch === 0) return;
    this.#drop(link, false);
    this.#dial(link);
  }

  #link(from: number, to: number): Link | undefined {
    return this.#linksFrom(from).get(to);
  }

  #linksFrom(from: number): Map<number, Link> {
    let links = this.#dialed.get(from);
    if (links === undefined) {
      links = new Map();
      this.#dialed.set(from, links);
    }
    return links;
  }

  #isAdmitted({ from, to }: Link): boolean {
    const one = this.#stations.get(from);
    const other = this.#stations.get(to);
    if (one === undefined || other === undefined) return false;
    if (!one.peers.has(to) || !other.peers.has(from)) return false;
    if (one.known.refusalOf(other.identity) !== undefined) return false;
    if (other.known.refusalOf(one.identity) !== undefined) return false;
    if (this.#refuse(one, other) || this.#refuse(other, one)) return false;
    return this.#paths.isOpenBothWays(from, to) && !other.life.isPaused;
  }

  #refuse(reader: Station, speaker: Station): boolean {
    const refusal = refusalOfHello(speaker, reader);
    if (refusal === undefined) return false;
    reader.life.deliver(() => reader.events.onRefused(refusal.detail));
    return true;
  }

  /** Tries until the link stands; what stands in the way is waited for. */
  #dial(link: Link): void {
    if (link.isDialing || link.epoch !== 0) return;
    link.isDialing = true;
    const { from, to } = link;
    const latencyMs = this.#paths.latencyMs(from, to) + this.#paths.latencyMs(to, from);
    this.#simulation.after(REDIAL_MS + latencyMs, () => {
      link.isDialing = false;
      if (link.epoch !== 0) return;
      if (this.#isAdmitted(link)) this.#stand(link);
      else if (this.#stations.get(to)?.life.isPaused === true) this.#dial(link);
    });
  }

  #stand(link: Link): void {
    const { from, to } = link;
    const dialer = this.#stations.get(from);
    const answerer = this.#stations.get(to);
    if (dialer === undefined || answerer === undefined) return;
    this.#lastEpoch += 1;
    const epoch = this.#lastEpoch;
    link.epoch = epoch;
    link.outbox = [];
    const arrive = (batch: readonly Batch[]): void => {
      answerer.life.deliver(() => {
        for (const { group, message } of batch) answerer.events.onMessage(from, group, message);
      });
    };
    const box = new MiddleBox(link.random, () => this.disorder, arrive);
    link.wire = new Wire(this.#simulation, this.#paths, link, (batch) => box.take(batch));
    dialer.known.note(answerer.identity);
    answerer.known.note(dialer.identity);
    const { identity } = answerer;
    dialer.life.deliver(() => {
      dialer.events.onPeerIdentity(identity);
      if (link.epoch === epoch) dialer.events.onUp(to, epoch);
    });
    answerer.life.deliver(() => answerer.events.onPeerIdentity(dialer.identity));
  }

  #flush(link: Link): void {
    const { outbox, wire } = link;
    link.outbox = [];
    for (const { message } of outbox) this.#hooks.onSend(link.from, link.to, message);
    wire?.send(outbox);
  }

  /** Its own process is gone. */
  #forget(link: Link, losesWhatIsUnderWay: boolean): void {
    if (losesWhatIsUnderWay) link.wire?.break();
    link.wire = undefined;
    link.epoch = 0;
    link.outbox = [];
  }

  #drop(link: Link, closed: boolean): void {
    const { epoch, to } = link;
    if (epoch === 0) return;
    link.wire?.break();
    this.#forget(link, true);
    const dialer = this.#stations.get(link.from);
    if (dialer === undefined) return;
    this.#simulation.after(this.#paths.latencyMs(to, link.from), () => {
      dialer.life.deliver(() => dialer.events.onDown(to, epoch, closed));
    });
  }

  #dropAfterSilence(link: Link): void {
    const { epoch, from, to } = link;
    if (epoch === 0) return;
    const cuts = this.#cutNumbers(link);
    const partner = this.#stations.get(to)?.life;
    this.#simulation.after(this.#silenceMs, () => {
      if (link.epoch !== epoch) return;
      const isCut = !this.#paths.isOpenBothWays(from, to) && this.#cutNumbers(link) === cuts;
      if (!isCut && partner?.isAlive === true && !partner.isPaused) return;
      this.#drop(link, false);
      this.#dial(link);
    });
  }

  #cutNumbers({ from, to }: Link): number {
    return this.#paths.cutNumber(from, to) + this.#paths.cutNumber(to, from);
  }

  #onPath(from: number, to: number, isOpen: boolean): void {
    for (const link of this.#links) {
      const isThis = link.from === from && link.to === to;
      const isBack = link.from === to && link.to === from;
      if (!isThis && !isBack) continue;
      if (!isOpen) this.#dropAfterSilence(link);
      else if (link.epoch === 0) this.#dial(link);
      else if (isThis) link.wire?.resume();
    }
  }
}
