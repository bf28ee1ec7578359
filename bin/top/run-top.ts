/**
 * Joins the three parts of `holdfast top`: the state, the terminal that shows it, and the rounds that
 * ask the cluster. Ends by a key, by the signal, or when the terminal goes away, and gives the
 * terminal back then.
 */
import type { Admin } from "../../src/index.js";
import type { NodeAccess } from "../config/command-options.js";
import type { Sort } from "./cluster-facts.js";
import { ClusterRounds, type Wish } from "./cluster-rounds.js";
import { FullScreen } from "./full-screen.js";
import { screenLines, scrollMax } from "./top-screen.js";
import { after, firstState, shownLocks, type TopEvent, type TopState } from "./top-state.js";

const TICK_MS = 1_000;

export interface TopOptions {
  readonly admin: Admin;
  readonly access: NodeAccess;
  readonly intervalMs: number;
  readonly prefix: string;
  readonly sort: Sort;
  readonly signal: AbortSignal;
}

export async function runTop(options: TopOptions): Promise<void> {
  const { admin, access, intervalMs, prefix, sort, signal } = options;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const screen = new FullScreen({
    onKey: (key) => dispatch({ type: "key", key }),
    onSize: (size) => dispatch({ type: "resized", size }),
    onGone: () => over.abort(),
    onResumed: () => dispatch({ type: "tick", wallMs: Date.now() }),
  });
  let state = firstState({ size: screen.size, prefix, sort, wallMs: Date.now() });
  const draw = (): void => {
    screen.draw(screenLines(state));
  };
  const rounds = new ClusterRounds({
    admin,
    access,
    intervalMs,
    wish: () => wishOf(state),
    dispatch: (event) => dispatch(event),
  });
  function dispatch(event: TopEvent): void {
    const before = state;
    state = withinLines(after(before, event));
    if (event.type === "key") act(state);
    if (!isSameQuestion(before, state)) rounds.wake();
    draw();
  }
  const act = ({ wish }: TopState): void => {
    if (wish === "quit") over.abort();
    if (wish === "redraw") screen.forget();
    if (wish === "suspend") screen.suspend();
    // The same as the signal, which the terminal does not send in this mode.
    if (wish === "interrupt") process.kill(process.pid, "SIGINT");
  };
  const ticks = setInterval(() => dispatch({ type: "tick", wallMs: Date.now() }), TICK_MS);
  screen.enter();
  try {
    draw();
    await rounds.run(either);
  } finally {
    clearInterval(ticks);
    screen.leave();
  }
}

/** What does not fit into the screen ends at its last line. */
function withinLines(state: TopState): TopState {
  if (state.view === "locks") return state;
  const max = scrollMax(state);
  return state.scroll <= max ? state : { ...state, scroll: max };
}

function wishOf(state: TopState): Wish {
  const { view, prefix, sort, lockKey, pausedAtMs } = state;
  const shownKeys = shownLocks(state).map(({ key }) => key);
  return { view, prefix, sort, lockKey, shownKeys, isPaused: pausedAtMs !== undefined };
}

/** Whether the next round can wait for its time. */
function isSameQuestion(a: TopState, b: TopState): boolean {
  return (
    a.view === b.view &&
    a.prefix === b.prefix &&
    a.sort === b.sort &&
    a.lockKey === b.lockKey &&
    (a.pausedAtMs === undefined) === (b.pausedAtMs === undefined)
  );
}
