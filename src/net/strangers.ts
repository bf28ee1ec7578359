/**
 * Connections of which nobody knows whose they are: connections to the peer port that have not sent
 * a hello, or are being closed, and connections to the health port. They never keep anyone out: a
 * further one is always accepted, and if there are then too many, the oldest one of the network
 * with the most of them is evicted. A few connections from each network in which a member was
 * reached are spared, so that others cannot push out a peer that is about to send its hello.
 */
import { isIPv4 } from "node:net";

/** This many connections from the network of a member are spared. */
const MEMBER_ROOM = 8;
const MAPPED_IPV4 = "::ffff:";
const IPV6_GROUPS = 8;

export interface Stranger {
  /** In the form of `networkOf`. */
  readonly network: string;
}

export class Strangers<T extends Stranger> {
  /** In order of arrival. */
  readonly #all = new Set<T>();
  readonly #countMax: number;
  readonly #isOfMember: (network: string) => boolean;

  constructor(countMax: number, isOfMember: (network: string) => boolean) {
    this.#countMax = countMax;
    this.#isOfMember = isOfMember;
  }

  /** Adds a connection. Returns the one to evict, if there are too many. */
  add(one: T): T | undefined {
    this.#all.add(one);
    return this.#all.size > this.#countMax ? this.#evicted() : undefined;
  }

  delete(one: T): void {
    this.#all.delete(one);
  }

  #evicted(): T | undefined {
    const counts = new Map<string, number>();
    for (const { network } of this.#all) counts.set(network, (counts.get(network) ?? 0) + 1);
    let crowded: string | undefined;
    let most = 0;
    for (const [network, count] of counts) {
      if (count <= most || (count <= MEMBER_ROOM && this.#isOfMember(network))) continue;
      crowded = network;
      most = count;
    }
    for (const one of this.#all) {
      if (crowded === undefined || one.network === crowded) return one;
    }
    return undefined;
  }
}

/** The network that one sender is taken to own: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return "";
  const plain = address.startsWith(MAPPED_IPV4) ? address.slice(MAPPED_IPV4.length) : address;
  if (isIPv4(plain)) return plain;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - groups.length - tail.split(":").length;
  for (let left = zeros; left > 0; left -= 1) groups.push("0");
  if (tail !== undefined) groups.push(...tail.split(":"));
  return groups.slice(0, IPV6_GROUPS / 2).join(":");
}
