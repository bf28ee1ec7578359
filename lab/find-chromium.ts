/**
 * The Chromium of this machine, which is never downloaded, and how it has to be launched. What it is
 * launched for is up to the caller.
 */
import { findCommand } from "./find-command.js";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of its program; `undefined` if there is none. */
export function findChromium(): string | undefined {
  return NAMES.map((name) => findCommand(name)).find((path) => path !== undefined);
}

/** Its sandbox refuses to be root. */
export function chromiumArguments(): string[] {
  return process.getuid?.() === 0 ? ["--no-sandbox"] : [];
}
