/**
 * What people give as the address of a node, completed to a URL: `http://` and `https://` mean the
 * same port as `ws://` and `wss://`, and a bare host means the usual port for clients. It checks
 * nothing: what is no address stays one that no URL can be made of.
 */

/** Where nodes listen for clients by default. */
const CLIENT_PORT = 7411;

export function endpointUrl(text: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text);
  if (scheme !== null) return text.replace(/^http(?=s?:)/i, "ws");
  const [host = ""] = text.split("/", 1);
  const rest = text.slice(host.length);
  // A bare name never means port 80.
  return /:\d+$/.test(host) ? `ws://${text}` : `ws://${host}:${CLIENT_PORT}${rest}`;
}
