/**
 * The models by name: the checker's own, and others that Jepsen's and Porcupine's histories have.
 */
import {
  BadHistoryError,
  casRegisterModel,
  type FailedCas,
  lockModel,
  type Model,
  registerModel,
} from "../checker/index.js";
import { kvModel } from "./kv.js";
import { mutexModel } from "./mutex.js";

export interface ModelOptions {
  /** The first value of a register, of every key of `kv`, or whether a mutex begins held. */
  readonly init?: unknown;
  /** What a failed `cas` means; "absent" by default, as for every other operation. */
  readonly failedCas?: FailedCas;
}

const MODELS: Readonly<Record<string, (options: ModelOptions) => Model>> = {
  lock: ({ init }) => {
    if (init === undefined) return lockModel;
    throw new BadHistoryError("--init: the lock model always begins with an empty table");
  },
  register: ({ init }) => registerModel(init),
  "cas-register": ({ init, failedCas }) => casRegisterModel(init, failedCas),
  mutex: ({ init }) => mutexModel(init),
  kv: ({ init }) => kvModel(init),
};

export const MODEL_NAMES: readonly string[] = Object.keys(MODELS);

/**
 * @throws RangeError that lists the models.
 * @throws BadHistoryError for a first value that the model cannot have.
 */
export function modelNamed(name: string, options: ModelOptions = {}): Model {
  const model = Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
  if (model === undefined) {
    throw new RangeError(`unknown model ${JSON.stringify(name)}: ${MODEL_NAMES.join(", ")}`);
  }
  return model(options);
}
