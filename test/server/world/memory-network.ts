/**
 * Links between the nodes of a world: directed, in order, with an epoch per connection. A connection
 * that ends loses what is under way; a cut swallows everything and is noticed only by silence.
 */
import type { ProcessLife } from "../../../lab/simulated/process-life.js";
import type { PeerEvents, PeerLinks, PeerMessage } from "../../../src/net/index.js";
import type { WorldTime } from "./world-time.js";

/** After so long without an answer a cut link is given up. */
const SILENCE_MS = 3_000;
const REDIAL_MS = 20;

interface Link {
  readonly from: number;
  readonly to: number;
  /** 0 while down. */
  epoch: number;
  isCut: boolean;
  outbox: { readonly group: number; readonly message: PeerMessage }[];
}

/** What a network needs to know of the world it is in. */
interface Surroundings extends WorldTime {
  /** The process of a node that runs now, or that ran last. */
  lifeOf(id: number): ProcessLife;
}

export class MemoryNetwork {
  readonly #world: Surroundings;
  readonly #links: Link[] = [];
  readonly #events = new Map<number, PeerEvents>();
  readonly #advertise = new Map<number, string>();
  #lastEpoch = 0;
  /** Looks at every message that would be delivered; false drops it. */
  filter: (from: number, to: number, message: PeerMessage) => boolean = () => true;

  constructor(world: Surroundings, ids: readonly number[]) {
    this.#world = world;
    for (const from of ids) {
      for (const to of ids) {
        if (from !== to) this.#links.push({ from, to, epoch: 0, isCut: false, outbox: [] });
      }
    }
  }

  linksOf(id: number): Pick<PeerLinks, "send" | "flush" | "bufferedBytes"> {
    return {
      bufferedBytes: () => 0,
      send: (peer, group, message) => {
        // A member that a lie added has no link here, as a host that does not exist has none.
        const link = this.#find(id, peer);
        if (link !== undefined && link.epoch !== 0) link.outbox.push({ group, message });
      },
      flush: () => {
        for (const link of this.#links) if (link.from === id) this.#flush(link);
      },
    };
  }

  join(id: number, events: PeerEvents, advertise: string): void {
    this.#events.set(id, events);
    this.#advertise.set(id, advertise);
    for (const link of this.#links) if (link.from === id || link.to === id) this.#dial(link);
  }

  /** The process of `id` ended: the others' connections to it are closed by its system. */
  leave(id: number): void {
    this.#events.delete(id);
    for (const link of this.#links) {
      if (link.from === id) this.#drop(link, true);
      else if (link.to === id && !link.isCut) this.#drop(link, true);
      else if (link.to === id) this.#dropLater(link);
    }
  }

  /** Swallows everything between the two sides from now on, in both directions. */
  cut(some: readonly number[], others: readonly number[]): void {
    for (const link of this.#links) {
      const crosses =
        (some.includes(link.from) && others.includes(link.to)) ||
        (others.includes(link.from) && some.includes(link.to));
      if (!crosses || link.isCut) continue;
      link.isCut = true;
      this.#dropLater(link);
    }
  }

  heal(): void {
    for (const link of this.#links) {
      if (!link.isCut) continue;
      link.isCut = false;
      this.#drop(link, false);
      this.#dial(link);
    }
  }

  /** Ends one connection and makes a new one. */
  reconnect(from: number, to: number): void {
    const link = this.#link(from, to);
    this.#drop(link, false);
    this.#dial(link);
  }

  /** The epoch of the connection that `from` dialed; 0 while there is none. */
  epochOf(from: number, to: number): number {
    return this.#find(from, to)?.epoch ?? 0;
  }

  #find(from: number, to: number): Link | undefined {
    return this.#links.find((candidate) => candidate.from === from && candidate.to === to);
  }

  #link(from: number, to: number): Link {
    const link = this.#find(from, to);
    if (link === undefined) throw new Error(`no link from ${from} to ${to}`);
    return link;
  }

  #dial(link: Link): void {
    this.#world.after(REDIAL_MS + this.#world.options.latencyMs, () => {
      if (link.epoch !== 0 || link.isCut) return;
      if (!this.#events.has(link.from) || !this.#events.has(link.to)) return;
      this.#lastEpoch += 1;
      link.epoch = this.#lastEpoch;
      const { epoch } = link;
      this.#world.lifeOf(link.from).deliver(() => {
        const events = this.#events.get(link.from);
        events?.onPeerIdentity({
          nodeId: link.to,
          clusterId: "c".repeat(32),
          birth: "b".repeat(16),
          origin: "initial",
          incarnation: 1,
          advertise: this.#advertise.get(link.to) ?? "",
        });
        events?.onUp(link.to, epoch);
      });
    });
  }

  #drop(link: Link, closed: boolean): void {
    const { epoch } = link;
    link.outbox = [];
    if (epoch === 0) return;
    link.epoch = 0;
    const life = this.#world.lifeOf(link.from);
    this.#world.after(this.#world.options.latencyMs, () => {
      life.deliver(() => this.#events.get(link.from)?.onDown(link.to, epoch, closed));
    });
  }

  #dropLater(link: Link): void {
    const { epoch } = link;
    this.#world.after(SILENCE_MS, () => {
      if (link.epoch === epoch) this.#drop(link, false);
    });
  }

  #flush(link: Link): void {
    if (link.outbox.length === 0) return;
    const { epoch, outbox } = link;
    link.outbox = [];
    const receiver = this.#world.lifeOf(link.to);
    this.#world.after(this.#world.options.latencyMs, () => {
      if (link.epoch !== epoch || link.isCut) return;
      receiver.deliver(() => {
        for (const { group, message } of outbox) {
          if (!this.filter(link.from, link.to, message)) continue;
          this.#events.get(link.to)?.onMessage(link.from, group, message);
        }
      });
    });
  }
}
