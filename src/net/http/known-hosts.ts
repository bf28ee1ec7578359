/**
 * The host names that this port answers to. A page in a browser can reach a private port by a host
 * name of its own that resolves to it (DNS rebinding), and the browser then treats the port's
 * answers as the page's own. Its requests contain that host name. So the port answers only to names
 * that an attacker cannot own: IP addresses, `localhost` and the names that the operator lists.
 *
 * Never resolves a name, because an attacker decides what it resolves to.
 */
import { isIP, isIPv6 } from "node:net";

export class KnownHosts {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map((name) => withoutDot(name.toLowerCase())));
  }

  /**
   * Whether the port answers to the `Host` of a request. A request without one, which HTTP/1.0
   * allows and health checks send, does not come from a browser.
   */
  has(header: string | undefined): boolean {
    if (header === undefined || header === "") return true;
    const host = hostOf(header);
    if (host.startsWith("[")) return host.endsWith("]") && isIPv6(host.slice(1, -1));
    const name = withoutDot(host.toLowerCase());
    return (
      isIP(name) !== 0 ||
      name === "localhost" ||
      name.endsWith(".localhost") ||
      this.#names.has(name)
    );
  }
}

/** The host of `host:port`, with brackets around IPv6. */
export function hostOf(header: string): string {
  return header.replace(/:\d*$/, "");
}

/** A dot at the end of a name only marks it as complete. */
function withoutDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
