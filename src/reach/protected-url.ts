/**
 * Whether a secret may be sent to a URL: through TLS, or to this machine, so that no other machine can
 * read it on the way. Code that sends an access token must ask this first. Pure but for `URL`, and
 * for browsers too.
 */
export function isProtected(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol === "wss:" || protocol === "https:" || protocol === "unix:") return true;
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}
