/**
 * One lock that is held or not. It has no holder: any process can release it. `--init true` begins
 * with a lock that is held.
 */
import { BadHistoryError } from "../input/history-event.js";
import type { Action } from "../linearizable/problem.js";
import { type Model, partsByKey } from "./model.js";

type MutexState = "free" | "held";

const ACQUIRE: Action<MutexState> = {
  id: "acquire",
  isPure: false,
  apply: (state) => (state === "free" ? "held" : undefined),
  needs: ["free"],
  leadsTo: "held",
  text: "acquire",
};

const RELEASE: Action<MutexState> = {
  id: "release",
  isPure: false,
  apply: (state) => (state === "held" ? "free" : undefined),
  needs: ["held"],
  leadsTo: "free",
  text: "release",
};

export const mutexModel: Model = {
  name: "mutex",
  functions: ["acquire", "release"],
  parts: (history, options) =>
    partsByKey<MutexState>(history, {
      initial: initialState(options.init),
      isBounded: true,
      encode: (state) => state,
      describe: (state) => state,
      actionOf: (operation) => {
        if (operation.outcome === "fail") return undefined;
        return operation.f === "acquire" ? ACQUIRE : RELEASE;
      },
    }),
};

function initialState(init: unknown): MutexState {
  if (init === undefined || init === null || init === false || init === "free") return "free";
  if (init === true || init === "held") return "held";
  throw new BadHistoryError(`--init: a mutex begins with true (held) or false, not ${init}`);
}
