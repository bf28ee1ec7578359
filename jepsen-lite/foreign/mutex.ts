/**
 * One lock that is held or not. It has no holder: any process can release it. `--init true` begins
 * with a lock that is held.
 */
import { type Action, BadHistoryError, type Model, partsByKey } from "../checker/index.js";

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

/** @param init whether it begins held */
export function mutexModel(init: unknown): Model {
  const initial = initialState(init);
  return {
    name: "mutex",
    functions: ["acquire", "release"],
    parts: (history) =>
      partsByKey<MutexState>(history, {
        initial,
        isBounded: true,
        encode: (state) => state,
        describe: (state) => state,
        actionOf: (operation) => {
          if (operation.outcome === "fail") return undefined;
          return operation.f === "acquire" ? ACQUIRE : RELEASE;
        },
      }),
  };
}

function initialState(init: unknown): MutexState {
  if (init === undefined || init === null || init === false || init === "free") return "free";
  if (init === true || init === "held") return "held";
  throw new BadHistoryError(`--init: a mutex begins with true (held) or false, not ${init}`);
}
