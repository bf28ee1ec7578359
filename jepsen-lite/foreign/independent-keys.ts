/**
 * Histories of `jepsen.independent` have the key inside the value, as `[key, value]`: many objects
 * are tested in one history. This converts them to events with a key.
 */
import { BadHistoryError, type HistoryEvent } from "../checker/index.js";

/** @throws BadHistoryError naming the first invocation without a key. */
export function withIndependentKeys(events: readonly HistoryEvent[]): HistoryEvent[] {
  const openKeys = new Map<string, string>();
  return events.map((event) => {
    const pair = Array.isArray(event.value) && event.value.length === 2 ? event.value : undefined;
    if (event.process === "nemesis") return event;
    if (event.type === "invoke") {
      if (pair === undefined) {
        throw new BadHistoryError(
          '"value" is not [key, value], as --independent requires',
          event.line,
        );
      }
      const key = keyText(pair[0]);
      openKeys.set(event.process, key);
      return { ...event, key, value: pair[1] as unknown };
    }
    const key = openKeys.get(event.process);
    openKeys.delete(event.process);
    if (pair === undefined || keyText(pair[0]) !== key) return event;
    return { ...event, key, value: pair[1] as unknown };
  });
}

function keyText(key: unknown): string {
  return typeof key === "string" ? key : JSON.stringify(key);
}
