/**
 * How a command ends that cannot do what it was asked: one line for a person, one code for a
 * script. Everything thrown in `bin` becomes a `Failure`. Anything that is neither a `Failure` nor
 * an error reported by the SDK or the system is a bug in Holdfast: code 70, and a stack only on
 * request.
 */
import { type ErrorCode, HoldfastError } from "../../src/errors.js";
import { EXIT, exitCodeOfError } from "./exit-codes.js";

/** Where to read on, after errors of access. */
const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNAUTHENTICATED: "--token-file",
  UNKNOWN_IDENTITY: "holdfast access ls",
};

/** An expected end with its exit code. The message is one line without a full stop. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Whether the environment asks for stack traces. */
export function isDebugging(): boolean {
  const value = process.env["HOLDFAST_DEBUG"];
  return value !== undefined && value !== "" && value !== "0";
}

/** Makes a `Failure` of anything thrown. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof HoldfastError) {
    const { code } = error;
    const hint = HINTS[code];
    const text = `${firstLine(error.message)}${hint === undefined ? "" : `; see ${hint}`} (${code})`;
    return new Failure(exitCodeOfError(code), text, { cause: error });
  }
  const message = error instanceof Error ? firstLine(error.message) : String(error);
  return new Failure(EXIT.internal, `internal error: ${message}`, { cause: error });
}

/** The code of an error of the operating system, otherwise "". */
export function systemCodeOf(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}
