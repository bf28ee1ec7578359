/**
 * Chooses the platform when the program runs, so that one package serves Node and browsers. The
 * file for Node is imported only there; package.json tells bundlers for browsers to leave it out.
 */
import { browserPlatform, readPage } from "./browser-platform.js";
import type { Platform, ReadPage, TlsSettings } from "./platform.js";

/** Without naming `process`, which browsers lack. */
function isNode(): boolean {
  const host = globalThis as { process?: { versions?: { node?: unknown } } };
  return typeof host.process?.versions?.node === "string";
}

/** Rejects with a `TypeError` in a browser, to which a program cannot give certificates. */
export async function loadPlatform(tls: TlsSettings): Promise<Platform> {
  if (isNode()) return (await import("./node-platform.js")).platformWith(tls);
  demandNone(tls);
  return browserPlatform();
}

/** Rejects like `loadPlatform`. */
export async function loadReadPage(tls: TlsSettings): Promise<ReadPage> {
  if (isNode()) return (await import("./node-platform.js")).readPageWith(tls);
  demandNone(tls);
  return readPage;
}

function demandNone({ ca, cert, key }: TlsSettings): void {
  if (ca === undefined && cert === undefined && key === undefined) return;
  throw new TypeError(
    "ca, cert and key need Node.js: a browser has CAs of its own, and asks its user for a certificate",
  );
}
