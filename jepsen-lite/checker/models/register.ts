/**
 * A register, and one with compare-and-set. Values are any JSON; `null` is the value of a register
 * that was never written, unless `--init` says otherwise.
 */
import type { Action } from "../linearizable/problem.js";
import type { Operation } from "../operations.js";
import { badArgument, canonicalJson, type Model, partsByKey } from "./model.js";

/** The meaning of the `fail` of a `cas`: it did not happen, or it found another value. */
export type FailedCas = "absent" | "mismatch";

/** The value as canonical JSON, after `UNWRITTEN` while it is the one of `--init`. */
type RegisterState = string;

/** No JSON begins like this. */
const UNWRITTEN = "unwritten ";
const NULL = "null";

/** @param init the first value; `undefined` for `null` */
export function registerModel(init?: unknown): Model {
  return registerLike("register", ["read", "write"], new RegisterActions(init, "absent"));
}

/** The same, with compare-and-set. */
export function casRegisterModel(init?: unknown, failedCas: FailedCas = "absent"): Model {
  const functions = ["read", "write", "cas"];
  return registerLike("cas-register", functions, new RegisterActions(init, failedCas));
}

function registerLike(name: string, functions: readonly string[], actions: RegisterActions): Model {
  return {
    name,
    functions,
    parts: (history) =>
      partsByKey<RegisterState>(history, {
        initial: actions.initial,
        isBounded: true,
        encode: (state) => state,
        describe: (state) => `value ${heldValue(state)}`,
        actionOf: (operation) => actions.of(operation),
      }),
  };
}

function heldValue(state: RegisterState): string {
  return state.startsWith(UNWRITTEN) ? state.slice(UNWRITTEN.length) : state;
}

class RegisterActions {
  readonly initial: RegisterState;
  readonly #failedCas: FailedCas;

  constructor(init: unknown, failedCas: FailedCas) {
    const first = canonicalJson(init ?? null);
    this.initial = first === NULL ? first : `${UNWRITTEN}${first}`;
    this.#failedCas = failedCas;
  }

  of(operation: Operation): Action<RegisterState> | undefined {
    if (operation.f === "cas") return this.#cas(operation);
    if (operation.outcome === "fail") return undefined;
    return operation.f === "read" ? this.#read(operation) : writeAction(operation);
  }

  /** The states that have the value. */
  #holding(value: string): RegisterState[] {
    return heldValue(this.initial) === value && this.initial !== value
      ? [value, this.initial]
      : [value];
  }

  #read(operation: Operation): Action<RegisterState> | undefined {
    // A read without an answer says nothing.
    if (operation.outcome !== "ok") return undefined;
    const value = canonicalJson(operation.result ?? null);
    const states = this.#holding(value);
    // A store may answer that nothing was written yet, whatever `--init` says.
    if (value === NULL && this.initial !== NULL) states.push(this.initial);
    return {
      id: `read ${value}`,
      isPure: true,
      apply: (state) => (states.includes(state) ? state : undefined),
      needs: states,
      text: `read ${value}`,
    };
  }

  #cas(operation: Operation): Action<RegisterState> | undefined {
    const argument = operation.argument;
    if (!Array.isArray(argument) || argument.length !== 2) {
      throw badArgument(operation, "expected [from, to] as its value");
    }
    const from = canonicalJson(argument[0]);
    const to = canonicalJson(argument[1]);
    if (operation.outcome === "fail") {
      return this.#failedCas === "mismatch" ? mismatch(operation, from, to) : undefined;
    }
    const states = this.#holding(from);
    const text = `cas ${from} → ${to}`;
    // From a value to itself it only shows what the value was.
    if (from === to) {
      const apply = (state: RegisterState) => (states.includes(state) ? state : undefined);
      return { id: text, isPure: true, apply, needs: states, text };
    }
    const apply = (state: RegisterState) => (states.includes(state) ? to : undefined);
    return { id: text, isPure: false, apply, needs: states, leadsTo: to, text };
  }
}

function writeAction(operation: Operation): Action<RegisterState> {
  const argument = operation.argument === undefined ? operation.result : operation.argument;
  if (argument === undefined) throw badArgument(operation, "it has no value to write");
  const value = canonicalJson(argument);
  const text = `write ${value}`;
  return { id: text, isPure: false, apply: () => value, isTotal: true, leadsTo: value, text };
}

/** It took place and found another value; but not if its completion has an error instead. */
function mismatch(
  operation: Operation,
  from: string,
  to: string,
): Action<RegisterState> | undefined {
  if (canonicalJson(operation.result) !== canonicalJson(operation.argument)) return undefined;
  return {
    id: `cas-mismatch ${from}`,
    isPure: true,
    apply: (state) => (heldValue(state) === from ? undefined : state),
    text: `cas ${from} → ${to}, refused`,
  };
}
