/**
 * By which names this port may be asked for. A page that a browser shows can reach a private port
 * by a host name of its own that resolves there (DNS rebinding), and the browser then takes the
 * port's answers for the page's. Its requests name that host: so only names that nobody else can
 * hold are answered to, which are IP addresses, `localhost` and what the operator says.
 *
 * Never looks a name up: what it resolves to is what an attacker decides.
 */
import { isIP, isIPv6 } from "node:net";

export class KnownHosts {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map((name) => withoutDot(name.toLowerCase())));
  }

  /**
   * Whether the port answers to the `Host` of a request. One without, as HTTP/1.0 allows and health
   * checks send, comes from no browser.
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

/** A dot at the end of a name only says that it is complete. */
function withoutDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
