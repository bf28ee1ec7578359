/** Sentences for those who hear the page instead of seeing it. One at a time; the last one counts. */
import { Store } from "./store.js";

export const announcement = new Store<string>("");

/** Is spoken when the screen reader has finished its sentence. */
export function announce(text: string): void {
  announcement.set(text);
}
