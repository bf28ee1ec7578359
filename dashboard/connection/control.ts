/**
 * The process of `holdfast cluster`, which offers the tour: where it listens and the secret that it
 * asks for come with the address that it prints. They are kept in memory and removed from the address
 * at once, so that no bookmark, history or copied address holds them.
 */
import { hrefOf, place } from "../state/router.js";

const KEY = /^(\d{1,5})\.([A-Za-z0-9_-]{32})$/;
const ANSWER_MS_MAX = 8_000;

export type TourAct = "begin" | "end" | "mend" | "killLeader" | "pauseHolder" | "stopNode";

export interface TourWorker {
  readonly name: string;
  readonly state: "starts" | "waits" | "holds" | "lost" | "paused";
  /** 0: it had none yet. */
  readonly token: number;
  readonly accepted: number;
  readonly refused: number;
}

export interface TourOutcome {
  readonly act: string;
  readonly state: "measuring" | "done" | "failed";
  readonly text: string;
}

/** As the process reports it. */
export interface TourState {
  readonly isRunning: boolean;
  readonly isActing: boolean;
  readonly key: string;
  readonly leaseMs: number;
  readonly newestToken: number;
  readonly workers: readonly TourWorker[];
  readonly nodes: readonly { readonly id: number; readonly state: "runs" | "killed" | "stopped" }[];
  readonly outcomes: readonly TourOutcome[];
}

let origin: string | undefined;
let secret = "";

/** Call once, before anything is drawn. */
export function takeControl(): void {
  const { route, query } = place.value;
  const [, port, given = ""] = KEY.exec(query.get("control") ?? "") ?? [];
  if (route !== "tour" || port === undefined) return;
  origin = `http://127.0.0.1:${port}`;
  secret = given;
  history.replaceState(null, "", hrefOf("tour"));
  place.set({ route: "tour", argument: "", query: new URLSearchParams() });
}

/** Whether the page was opened by an address with the secret. */
export function hasControl(): boolean {
  return origin !== undefined;
}

export async function tourState(signal: AbortSignal): Promise<TourState> {
  const response = await request("/state", { signal });
  if (!response.ok) throw new Error(`it answered HTTP status ${response.status}`);
  return (await response.json()) as TourState;
}

/** Resolves to why it is not done; `undefined`: it is under way. */
export async function actOnTour(act: TourAct): Promise<string | undefined> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const response = await request("/act", { method: "POST", body: act, signal });
  if (response.status !== 202 && response.status !== 409) {
    return `it answered HTTP status ${response.status}`;
  }
  const { problem } = (await response.json()) as { problem: string | null };
  return problem ?? undefined;
}

function request(path: string, options: RequestInit): Promise<Response> {
  if (origin === undefined) throw new Error("this page was not opened for the tour");
  const headers = { authorization: `Bearer ${secret}` };
  return fetch(`${origin}${path}`, { ...options, headers, cache: "no-store" });
}
