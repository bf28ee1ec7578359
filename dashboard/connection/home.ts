/** The node that the page came from, by the page's own address; works below any path. */

/** `ws(s)://host:port/path`: where the SDK adds `/v1`. */
export function homeEndpoint({
  protocol,
  host,
  pathname,
}: Pick<Location, "protocol" | "host" | "pathname">): string {
  const scheme = protocol === "https:" ? "wss:" : "ws:";
  const directory = pathname.replace(/[^/]*$/, "").replace(/\/$/, "");
  return `${scheme}//${host}${directory}`;
}
