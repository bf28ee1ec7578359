/** A broken promise: the rule it belongs to, and the numbers. */
export class Violation extends Error {
  readonly rule: string;

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}

/** Ends the run. Safe to call from within production code, which must not catch it. */
export type Fail = (rule: string, message: string) => void;
