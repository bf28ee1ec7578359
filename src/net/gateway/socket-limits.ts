/**
 * How many sockets the client port may have, in total and from one address. A process that has used
 * up its descriptors can neither write its log nor accept a peer, and ends. So the sockets of
 * clients leave enough descriptors for everything else, and further sockets are refused.
 */
import { isIPv4 } from "node:net";

/** Descriptors for the log, peers, snapshots and the runtime itself. */
const RESERVED = 256;
/** The ordered store keeps this many files open, or fewer if the limit is low. */
const STORE_FILES_MAX = 1_024;
const STORE_SHARE = 1 / 4;
/** The least, however low the limit is: enough to inspect a node. */
const SOCKETS_MIN = 16;
/**
 * Sockets in addition to the sockets of connected clients: for pages, and for upgrades that are
 * refused with a reason.
 */
const SPARE_SOCKETS_MAX = 256;
const SPARE_SHARE = 1 / 8;
/** Many honest clients can share one address; the rest of the places is for other addresses. */
const ADDRESS_SHARE = 3 / 4;

export interface SocketShare {
  /** Sockets of any kind; the next one is closed as soon as it is accepted. */
  readonly socketsMax: number;
  /** Clients, that is, sockets that have upgraded to WebSocket. */
  readonly connectionsMax: number;
}

export interface SocketLimits extends SocketShare {
  readonly ofAddress: SocketShare;
  /** A proxy on this machine carries the clients of many addresses. */
  readonly ofOwnMachine: SocketShare;
}

/** The limits of one group of addresses. */
export function limitsFor(limits: SocketLimits, group: string): SocketShare {
  return isOwnMachine(group) ? limits.ofOwnMachine : limits.ofAddress;
}

/**
 * @param wantedMax the limit on clients if descriptors were unlimited
 * @param addressMax the limit on clients of one address; `undefined`: a share of all
 */
export function socketLimitsOf(
  wantedMax: number,
  descriptorsMax: number,
  addressMax?: number,
): SocketLimits {
  const store = Math.min(STORE_FILES_MAX, Math.floor(descriptorsMax * STORE_SHARE));
  const affordable = Math.max(SOCKETS_MIN, descriptorsMax - RESERVED - store);
  const socketsMax = Math.min(wantedMax + SPARE_SOCKETS_MAX, affordable);
  const spare = Math.min(SPARE_SOCKETS_MAX, Math.ceil(socketsMax * SPARE_SHARE));
  const connectionsMax = Math.min(wantedMax, socketsMax - spare);
  const share = Math.ceil(connectionsMax * ADDRESS_SHARE);
  const ofAddress = Math.min(connectionsMax, addressMax ?? share);
  const withSockets = (max: number): SocketShare => {
    return { socketsMax: max + spare, connectionsMax: max };
  };
  return {
    ...{ socketsMax, connectionsMax },
    ofAddress: withSockets(ofAddress),
    ofOwnMachine: withSockets(Math.max(share, ofAddress)),
  };
}

/** Counts things by the address that they come from. */
export class AddressTally {
  readonly #counts = new Map<string, number>();

  count(address: string): number {
    return this.#counts.get(address) ?? 0;
  }

  add(address: string): void {
    this.#counts.set(address, this.count(address) + 1);
  }

  remove(address: string): void {
    const count = this.count(address) - 1;
    if (count > 0) this.#counts.set(address, count);
    else this.#counts.delete(address);
  }
}

/** `::1`, as `addressGroup` has it. */
const LOOPBACK_IPV6 = "0:0:0:0::/64";

/** Whether a group of addresses belongs to this machine, as far as that can be known. */
export function isOwnMachine(group: string): boolean {
  return group === "" || group === LOOPBACK_IPV6 || group.startsWith("127.");
}

/**
 * What counts as one address. For IPv6 it is the network of 64 bits, which one machine usually has
 * to itself.
 */
export function addressGroup(remoteAddress: string | undefined): string {
  if (remoteAddress === undefined) return "";
  const mapped = remoteAddress.replace(/^::ffff:/i, "");
  if (isIPv4(mapped)) return mapped;
  const [head = "", tail] = remoteAddress.replace(/%.*$/, "").split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const gap = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...new Array<string>(gap).fill("0"), ...back];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
