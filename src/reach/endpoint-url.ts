/**
 * What people give as the address of a node, completed to a URL: `http://` and `https://` mean the
 * same port as `ws://` and `wss://`, and a bare host means the usual port for clients. What is
 * neither stays as it is, so that a mistyped address with a secret in it is refused and not dialed.
 */

/** Where nodes listen for clients by default. */
const CLIENT_PORT = 7411;
/** A name or an address, and perhaps a port: a bare name never means port 80. */
const BARE_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(:\d+)?\/?$/i;

export function endpointUrl(text: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text);
  if (scheme !== null) return text.replace(/^http(?=s?:)/i, "ws");
  const bare = BARE_HOST.exec(text);
  if (bare === null) return text;
  return `ws://${text.replace(/\/$/, "")}${bare[1] === undefined ? `:${CLIENT_PORT}` : ""}`;
}
