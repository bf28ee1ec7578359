/**
 * An answer of the cluster that is asked for again and again, for as long as someone looks: not
 * while the viewer has paused the page, and not in a hidden tab. The last answer stays when a later
 * question fails. Only one question is under way at a time.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Admin } from "../../src/index.js";
import { isPaused } from "../state/preferences.js";
import { useCluster } from "./context.js";

export interface Polled<Answer> {
  /** `undefined` before the first answer. */
  readonly answer: Answer | undefined;
  /** When it came, in wall time; 0 before the first. */
  readonly atMs: number;
  /** Why the last question failed; `undefined` if it did not. */
  readonly error: unknown;
  /** Asks at once, for instance after an act. */
  readonly refresh: () => void;
}

export interface PollOptions {
  readonly intervalMs: number;
  /** Another text is another question: the old answer goes. */
  readonly question: string;
}

export function usePolled<Answer>(
  ask: (admin: Admin, signal: AbortSignal) => Promise<Answer>,
  { intervalMs, question }: PollOptions,
): Polled<Answer> {
  const { admin } = useCluster();
  const [state, setState] = useState<Omit<Polled<Answer>, "refresh"> & { question: string }>({
    answer: undefined,
    atMs: 0,
    error: undefined,
    question,
  });
  const latest = useRef(ask);
  latest.current = ask;
  const refresh = useRef(() => {});
  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    /** What is under way may have been answered before the act after which it is asked again. */
    let isOutdated = false;
    const later = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (isPaused.value || document.hidden) later();
        else void run();
      }, intervalMs);
    };
    const run = async (): Promise<void> => {
      isOutdated = isAsking;
      if (isAsking) return;
      isAsking = true;
      try {
        const answer = await latest.current(admin, ending.signal);
        if (ending.signal.aborted) return;
        setState({ answer, atMs: Date.now(), error: undefined, question });
      } catch (error) {
        if (ending.signal.aborted) return;
        setState((before) => ({
          ...before,
          answer: before.question === question ? before.answer : undefined,
          error,
          question,
        }));
      }
      isAsking = false;
      if (isOutdated) void run();
      else later();
    };
    refresh.current = () => void run();
    void run();
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [admin, question, intervalMs]);
  const isCurrent = state.question === question;
  return {
    answer: isCurrent ? state.answer : undefined,
    atMs: isCurrent ? state.atMs : 0,
    error: isCurrent ? state.error : undefined,
    refresh: () => refresh.current(),
  };
}
