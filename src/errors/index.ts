/**
 * How things fail: the one error class with the one table of its codes, and assertions. Every room may
 * import it, so it imports nothing.
 */
export { assert, InvariantError, unreachable } from "./assert.js";
export {
  ERROR_NUMBERS,
  type ErrorCode,
  type ErrorNumber,
  errorCodeOf,
  HoldfastError,
  OptionError,
  optionValueText,
  type SayOption,
} from "./errors.js";
