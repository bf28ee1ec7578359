/**
 * How a command ends that cannot do what it was asked: one line for a person, one code for a
 * script. Everything thrown in `bin` becomes a `Failure`. Anything that is neither a `Failure` nor
 * an error reported by the SDK or the system is a bug in Holdfast: code 70, and a stack only on
 * request.
 */
import { HoldfastError } from "../../src/errors/index.js";
import { EXIT, exitCodeOfError } from "./exit-codes.js";

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
    const text = `${firstLine(error.message)}${hintOn(error)} (${code})`;
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

/** Where to read on. Not every credential is a token. */
function hintOn({ code, message }: HoldfastError): string {
  if (code === "UNKNOWN_IDENTITY") return "; see holdfast access ls";
  return code === "UNAUTHENTICATED" && / token/.test(message) ? "; see --token-file" : "";
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}
