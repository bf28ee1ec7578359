/**
 * Chooses the platform when the program runs, so that one package serves Node and browsers. The
 * file for Node is imported only there; package.json tells bundlers for browsers to leave it out.
 */
import { browserPlatform, readPage } from "./browser-platform.js";
import type { Platform, ReadPage } from "./platform.js";

/** Without naming `process`, which browsers lack. */
function isNode(): boolean {
  const host = globalThis as { process?: { versions?: { node?: unknown } } };
  return typeof host.process?.versions?.node === "string";
}

export async function loadPlatform(): Promise<Platform> {
  if (!isNode()) return browserPlatform();
  const { platform } = await import("./node-platform.js");
  return platform;
}

export async function loadReadPage(): Promise<ReadPage> {
  return isNode() ? (await import("./node-platform.js")).readPage : readPage;
}
