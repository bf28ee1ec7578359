/**
 * Asks the process of the tour again and again how it is. Asking also says that somebody looks, so it
 * goes on while the page is paused or hidden, when only drawing stops.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { type TourState, tourState } from "../../connection/control.js";
import { isPaused } from "../../state/preferences.js";

const INTERVAL_MS = 400;
const ANSWER_MS_MAX = 5_000;

export interface TourPolling {
  /** `undefined` before the first answer. */
  readonly state: TourState | undefined;
  /** Why the last question failed. */
  readonly problem: string | undefined;
}

export function useTour(): TourPolling {
  const [polling, setPolling] = useState<TourPolling>({ state: undefined, problem: undefined });
  const last = useRef(polling);
  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      const either = AbortSignal.any([ending.signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
      try {
        last.current = { state: await tourState(either), problem: undefined };
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        last.current = { ...last.current, problem: text };
      }
      if (ending.signal.aborted) return;
      if (!isPaused.value || last.current.state === undefined) setPolling(last.current);
      timer = setTimeout(() => void ask(), INTERVAL_MS);
    };
    void ask();
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, []);
  return polling;
}
