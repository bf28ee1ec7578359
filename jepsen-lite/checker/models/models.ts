/**
 * The models by name.
 */
import { lockModel } from "../lock/lock-model.js";
import { kvModel } from "./kv.js";
import type { Model } from "./model.js";
import { mutexModel } from "./mutex.js";
import { casRegisterModel, registerModel } from "./register.js";

const MODELS: readonly Model[] = [lockModel, registerModel, casRegisterModel, mutexModel, kvModel];

export const MODEL_NAMES: readonly string[] = MODELS.map((model) => model.name);

/** @throws RangeError that lists the models. */
export function modelNamed(name: string): Model {
  const model = MODELS.find((candidate) => candidate.name === name);
  if (model === undefined) {
    throw new RangeError(`unknown model ${JSON.stringify(name)}: ${MODEL_NAMES.join(", ")}`);
  }
  return model;
}
