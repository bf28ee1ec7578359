/**
 * A register, and one with compare-and-set. Values are any JSON; `null` is the value of a register
 * that nothing was written to, unless `--init` says otherwise.
 */
import type { Action } from "../linearizable/problem.js";
import type { Operation } from "../operations.js";
import { badArgument, canonicalJson, type Model, type ModelOptions, partsByKey } from "./model.js";

/** The value as canonical JSON. */
type RegisterState = string;

export const registerModel: Model = registerLike("register", ["read", "write"]);
export const casRegisterModel: Model = registerLike("cas-register", ["read", "write", "cas"]);

function registerLike(name: string, functions: readonly string[]): Model {
  return {
    name,
    functions,
    parts: (history, options) =>
      partsByKey<RegisterState>(history, {
        initial: canonicalJson(options.init ?? null),
        encode: (state) => state,
        describe: (state) => `value ${state}`,
        actionOf: (operation) => actionOf(operation, options),
      }),
  };
}

function actionOf(operation: Operation, options: ModelOptions): Action<RegisterState> | undefined {
  if (operation.f === "cas") return casAction(operation, options);
  if (operation.outcome === "fail") return undefined;
  return operation.f === "read" ? readAction(operation) : writeAction(operation);
}

function readAction(operation: Operation): Action<RegisterState> | undefined {
  // A read that nobody heard the answer of says nothing.
  if (operation.outcome !== "ok") return undefined;
  const value = canonicalJson(operation.result ?? null);
  return {
    id: `read ${value}`,
    isPure: true,
    apply: (state) => (state === value ? state : undefined),
    text: `read ${value}`,
  };
}

function writeAction(operation: Operation): Action<RegisterState> {
  const argument = operation.argument === undefined ? operation.result : operation.argument;
  if (argument === undefined) throw badArgument(operation, "it has no value to write");
  const value = canonicalJson(argument);
  return { id: `write ${value}`, isPure: false, apply: () => value, text: `write ${value}` };
}

function casAction(operation: Operation, options: ModelOptions): Action<RegisterState> | undefined {
  const argument = operation.argument;
  if (!Array.isArray(argument) || argument.length !== 2) {
    throw badArgument(operation, "expected [from, to] as its value");
  }
  const from = canonicalJson(argument[0]);
  const to = canonicalJson(argument[1]);
  if (operation.outcome === "fail") {
    return options.failedCas === "mismatch" ? mismatch(operation, from, to) : undefined;
  }
  return {
    id: `cas ${from} ${to}`,
    // From a value to itself it only tells what the value was.
    isPure: from === to,
    apply: (state) => (state === from ? to : undefined),
    text: `cas ${from} → ${to}`,
  };
}

/** It took place and found something else; but not if its completion carries an error instead. */
function mismatch(
  operation: Operation,
  from: string,
  to: string,
): Action<RegisterState> | undefined {
  if (canonicalJson(operation.result) !== canonicalJson(operation.argument)) return undefined;
  return {
    id: `cas-mismatch ${from}`,
    isPure: true,
    apply: (state) => (state === from ? undefined : state),
    text: `cas ${from} → ${to}, refused`,
  };
}
