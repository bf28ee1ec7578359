/**
 * Which web pages may connect, by the origin that their browser states: those that the operator
 * lists, and the pages that nodes serve themselves.
 *
 * That the origin equals the `Host` of the request proves nothing: a page that reaches this port by a
 * host name of its own (DNS rebinding) has both from its own name. So both must be names that an
 * attacker cannot own.
 */
import type { KnownHosts } from "./known-hosts.js";

const ORIGIN = /^https?:\/\/([^/]+)$/;

export class PageOrigins {
  readonly #listed: readonly string[];
  readonly #hosts: KnownHosts;
  readonly #ofMembers: (() => readonly string[]) | undefined;
  readonly #isEncrypted: boolean;

  /** @param isEncrypted whether the port speaks TLS */
  constructor(
    listed: readonly string[],
    hosts: KnownHosts,
    ofMembers: (() => readonly string[]) | undefined,
    isEncrypted: boolean,
  ) {
    this.#listed = listed;
    this.#hosts = hosts;
    this.#ofMembers = ofMembers;
    this.#isEncrypted = isEncrypted;
  }

  /** @param host the `Host` of the request */
  mayConnect(origin: string, host: string | undefined): boolean {
    if (this.#listed.includes(origin)) return true;
    if (this.#ofMembers === undefined) return false;
    return this.#isOwn(origin, host) || this.#ofMembers().includes(origin);
  }

  /**
   * A port in plain text takes both schemes, because a proxy before it may end TLS. A port with TLS
   * has no pages in plain text: those that a browser got so may come from anyone on the way, and it
   * would show the certificate of its user for them.
   */
  #isOwn(origin: string, host: string | undefined): boolean {
    if (this.#isEncrypted && !origin.startsWith("https:")) return false;
    const named = ORIGIN.exec(origin)?.[1];
    if (named === undefined || host === undefined || host === "") return false;
    return named === host.toLowerCase() && this.#hosts.has(named);
  }
}
