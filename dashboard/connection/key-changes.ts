/**
 * Calls back when a key changes, at most a few times a second, however often it does: what is shown
 * is read again then, so one call stands for all changes before it.
 */
import { useEffect, useRef } from "preact/hooks";
import { isPaused } from "../state/preferences.js";
import { useCluster } from "./context.js";

const PAUSE_MS = 250;

export function useKeyChanges(key: string, onChange: () => void): void {
  const { admin } = useCluster();
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const notice = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!isPaused.value && !document.hidden) latest.current();
      }, PAUSE_MS);
    };
    const follow = async (): Promise<void> => {
      for await (const _ of admin.watch(key, { signal: ending.signal })) notice();
    };
    // Whatever ends the watch, the same key is read once a second, and that says what is wrong.
    follow().catch(() => undefined);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [admin, key]);
}
