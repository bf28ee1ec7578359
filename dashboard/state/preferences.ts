/**
 * What this browser remembers of the viewer's choices: the theme, and whether moving things stand
 * still. Never an access token. If the browser gives pages no storage, a choice lasts as long as
 * the page.
 */
import { Store } from "./store.js";

export type Theme = "system" | "light" | "dark";

const PREFIX = "holdfast.";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

function storage(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    // The browser forbids it: nothing is remembered.
    return undefined;
  }
}

function remember(name: string, value: string): void {
  try {
    storage()?.setItem(PREFIX + name, value);
  } catch {
    // Full or forbidden: the choice still holds on this page.
  }
}

function recalled(name: string): string | null {
  return storage()?.getItem(PREFIX + name) ?? null;
}

export const theme = new Store<Theme>(THEMES.find((one) => one === recalled("theme")) ?? "system");
export const isPaused = new Store<boolean>(recalled("paused") === "yes");

function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

/** Call once, before the page is drawn. */
export function followPreferences(): void {
  applyTheme();
  theme.subscribe(() => {
    applyTheme();
    remember("theme", theme.value);
  });
  isPaused.subscribe(() => remember("paused", isPaused.value ? "yes" : "no"));
}
