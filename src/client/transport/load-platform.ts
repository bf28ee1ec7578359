/**
 * Chooses the platform when the program runs, so that one package serves Node and browsers. The
 * file for Node is imported only there; package.json tells bundlers for browsers to leave it out.
 */
import { browserPlatform, readPage } from "./browser-platform.js";
import { isLocal } from "./endpoints.js";
import type { Platform, ReadPage, TlsSettings } from "./platform.js";
// The platform itself is loaded by the first `connect`, which may be too late.
import "./real-immediate.js";

/** What decides whether a platform can serve a client. */
export interface PlatformSettings extends TlsSettings {
  readonly endpoints?: readonly string[];
}

/** Without naming `process`, which browsers lack. */
function isNode(): boolean {
  const host = globalThis as { process?: { versions?: { node?: unknown } } };
  return typeof host.process?.versions?.node === "string";
}

/**
 * Rejects with a `TypeError` in a browser, to which a program cannot give certificates, and which
 * cannot open the socket in a directory.
 */
export async function loadPlatform(settings: PlatformSettings): Promise<Platform> {
  if (isNode()) return (await import("./node-platform.js")).platformWith(settings);
  demandNone(settings);
  return browserPlatform();
}

/** Rejects like `loadPlatform`. */
export async function loadReadPage(settings: PlatformSettings): Promise<ReadPage> {
  if (isNode()) return (await import("./node-platform.js")).readPageWith(settings);
  demandNone(settings);
  return readPage;
}

function demandNone({ ca, cert, key, endpoints }: PlatformSettings): void {
  if (endpoints?.some(isLocal) === true) throw new TypeError("unix: endpoints need Node.js");
  if (ca === undefined && cert === undefined && key === undefined) return;
  throw new TypeError(
    "ca, cert and key need Node.js: a browser has CAs of its own, and asks its user for a certificate",
  );
}
