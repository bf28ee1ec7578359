/**
 * The time that moving things show. It stands still while the viewer has paused the page and while
 * no one sees it. One timer serves all of the page.
 */
import { useEffect, useState } from "preact/hooks";
import { isPaused } from "./preferences.js";

const TICK_MS = 1_000;

const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (isPaused.value || document.hidden) return;
  for (const watcher of [...watchers]) watcher();
}

/** Wall time in milliseconds since 1970, updated about once a second. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const watcher = (): void => setNowMs(Date.now());
    watchers.add(watcher);
    timer ??= setInterval(tick, TICK_MS);
    return () => {
      watchers.delete(watcher);
      if (watchers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return nowMs;
}
